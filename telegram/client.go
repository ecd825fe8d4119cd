package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"
)

// client calls the Bot API. What it returns as an error is always an *apiError
// and never holds the token.
type client struct {
	*bot.Bot
	url   string
	token string
	http  *http.Client
}

// The limits of single calls. A call that sends or fetches a file may take as
// long as a slow line needs for 50 MB.
const (
	callTime = 45 * time.Second
	fileTime = 20 * time.Minute
	maxReply = 8 << 20 // bytes of an answer
)

func newClient(url, token string) (*client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	c := &client{url: url, token: token, http: &http.Client{
		Transport: transport,
		// A redirect would take the token, which is part of the path, elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	b, err := bot.New(token, bot.WithSkipGetMe(), bot.WithServerURL(url),
		bot.WithHTTPClient(time.Minute, trimmer{c.http}), bot.WithErrorsHandler(func(error) {}))
	if err != nil {
		return nil, c.wrong("start", err)
	}
	c.Bot = b
	return c, nil
}

// apiError is what went wrong with a call.
type apiError struct {
	method  string
	code    int           // Telegram's, or 0 when it gave no proper answer
	retry   time.Duration // of code 429
	moved   int64         // the chat's new id, or 0
	ended   bool          // our side gave up
	message string
}

func (e *apiError) Error() string { return "telegram " + e.method + ": " + e.message }

// refused tells whether Telegram said that it does not take the call as it is.
func (e *apiError) refused() bool { return e.code == http.StatusBadRequest && e.moved == 0 }

// passing tells whether the same call may work later.
func (e *apiError) passing() bool {
	return !e.ended && (e.code == 0 || e.code >= 500 || e.code == http.StatusTooManyRequests)
}

// wrong turns an error of the library, or of HTTP, into ours.
func (c *client) wrong(method string, err error) error {
	if err == nil {
		return nil
	}
	e := &apiError{method: method, message: c.scrub(plainError(err))}
	var many *bot.TooManyRequestsError
	var moved *bot.MigrateError
	switch {
	case errors.As(err, &many):
		e.code, e.retry = http.StatusTooManyRequests, time.Duration(many.RetryAfter)*time.Second
	case errors.As(err, &moved):
		e.code, e.moved = http.StatusBadRequest, int64(moved.MigrateToChatID)
	case errors.Is(err, bot.ErrorBadRequest):
		e.code = http.StatusBadRequest
	case errors.Is(err, bot.ErrorUnauthorized):
		e.code = http.StatusUnauthorized
	case errors.Is(err, bot.ErrorForbidden):
		e.code = http.StatusForbidden
	case errors.Is(err, bot.ErrorNotFound):
		e.code = http.StatusNotFound
	case errors.Is(err, bot.ErrorConflict):
		e.code = http.StatusConflict
	case errors.Is(err, context.Canceled):
		e.ended = true
	default:
		e.code = serverFault(e.message)
	}
	return e
}

var faultShape = regexp.MustCompile(`^error response from telegram for method \S+, ([0-9]{3}) `)

// serverFault reads the code of an error that the library has no type for.
func serverFault(message string) int {
	if found := faultShape.FindStringSubmatch(message); found != nil {
		code, _ := strconv.Atoi(found[1])
		return code
	}
	return 0
}

// plainError returns the text of err without the address that HTTP puts in.
func plainError(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

// maxMessage is the longest error text that is passed on.
const maxMessage = 500

// scrub takes the token out of a text, also out of one that a proxy between us
// and Telegram wrote.
func (c *client) scrub(s string) string {
	s = strings.ReplaceAll(s, c.token, "***")
	if _, secret, ok := strings.Cut(c.token, ":"); ok {
		s = strings.ReplaceAll(s, secret, "***")
	}
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}

// getUpdates is the long poll: the updates from offset on, each undecoded.
func (c *client) getUpdates(ctx context.Context, offset int64, wait time.Duration) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+callTime)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"offset": offset, "timeout": int(wait / time.Second), "allowed_updates": []string{"message", "callback_query"},
	})
	if err != nil {
		return nil, c.wrong("getUpdates", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/bot"+c.token+"/getUpdates", bytes.NewReader(body))
	if err != nil {
		return nil, c.wrong("getUpdates", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.wrong("getUpdates", err)
	}
	defer res.Body.Close()
	var answer envelope
	if err := json.NewDecoder(io.LimitReader(res.Body, maxPoll)).Decode(&answer); err != nil {
		return nil, c.wrong("getUpdates", fmt.Errorf("the answer with status %d is none of Telegram's: %w", res.StatusCode, err))
	}
	if !answer.OK {
		return nil, &apiError{
			method: "getUpdates", code: answer.Code, message: c.scrub(answer.Description),
			retry: time.Duration(answer.Parameters.RetryAfter) * time.Second,
		}
	}
	var updates []json.RawMessage
	if err := json.Unmarshal(answer.Result, &updates); err != nil {
		return nil, c.wrong("getUpdates", err)
	}
	return updates, nil
}

// maxPoll is the largest answer to a poll: a hundred updates.
const maxPoll = 64 << 20

// envelope is the frame of every answer.
type envelope struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result,omitempty"`
	Code        int             `json:"error_code,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after,omitempty"`
		MovedTo    int64 `json:"migrate_to_chat_id,omitempty"`
	} `json:"parameters,omitzero"`
}

// download fetches a file's content. The caller closes it.
func (c *client) download(ctx context.Context, path string) (io.ReadCloser, error) {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/file/bot"+c.token+"/"+strings.Join(parts, "/"), nil)
	if err != nil {
		return nil, c.wrong("download", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.wrong("download", err)
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		code := res.StatusCode
		if code < 400 {
			code = 0
		}
		return nil, &apiError{method: "download", code: code, message: "the file server answered " + res.Status}
	}
	return res.Body, nil
}

// trimmer is the library's way to HTTP. It leaves of a sent message only what
// the bot needs: the library refuses whole answers over one field of a kind
// that it does not know, and the message would be sent again.
type trimmer struct{ http *http.Client }

// Do sends a request.
func (t trimmer) Do(req *http.Request) (*http.Response, error) {
	res, err := t.http.Do(req)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(trim(res.StatusCode, data)))
	return res, nil
}

func trim(status int, data []byte) []byte {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		// Something between us and Telegram answered.
		data, _ := json.Marshal(envelope{Code: max(status, 500), Description: fmt.Sprintf("an answer with status %d that is none of Telegram's", status)})
		return data
	}
	if !e.OK {
		return refusal(status, e, data)
	}
	var m struct {
		ID     int `json:"message_id"`
		Date   int `json:"date"`
		Thread int `json:"message_thread_id,omitempty"`
		Chat   struct {
			ID int64 `json:"id"`
		} `json:"chat"`
	}
	if json.Unmarshal(e.Result, &m) != nil || m.ID == 0 {
		return data
	}
	result, err := json.Marshal(m)
	if err != nil {
		return data
	}
	e.Result = result
	if trimmed, err := json.Marshal(e); err == nil {
		return trimmed
	}
	return data
}

// refusal makes refusals that the library does not know, as "413 Request Entity
// Too Large", ordinary ones: else they would pass for failures that another try
// may mend.
func refusal(status int, e envelope, data []byte) []byte {
	if e.Code == 0 {
		e.Code = max(status, http.StatusBadRequest)
	}
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests:
		return data
	}
	if e.Code < 500 {
		e.Code = http.StatusBadRequest
	}
	if changed, err := json.Marshal(e); err == nil {
		return changed
	}
	return data
}
