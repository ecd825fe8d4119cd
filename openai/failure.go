package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// failure is an error as clients of OpenAI's API know it: a status and the
// envelope {"error": {message, type, param, code}}.
type failure struct {
	status  int
	message string
	kind    string // the envelope's type
	param   string // the field or header at fault, or empty
	code    string // for programs, or empty
	after   int    // seconds for Retry-After, or 0
	started bool   // an agent has worked: asking again would repeat that
}

// The types of errors.
const (
	kindRequest  = "invalid_request_error"
	kindRate     = "rate_limit_error"
	kindServer   = "server_error"
	kindProvider = "provider_error"
	kindTimeout  = "timeout"
	kindAnswer   = "invalid_answer_error"
)

func (f *failure) Error() string { return f.message }

// envelope is a failure on the wire.
type envelope struct {
	Error envelopeError `json:"error"`
}

type envelopeError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// encode returns the envelope as JSON.
func (f *failure) encode() []byte {
	return encode(envelope{envelopeError{
		Message: f.message, Type: f.kind, Param: optional(f.param), Code: optional(f.code),
	}})
}

// write answers with f. The body of the request may be unread.
func (f *failure) write(w http.ResponseWriter, r *http.Request) {
	httpd.Early(w, r, func() { f.send(w) })
}

// send answers with f once the request has been read.
func (f *failure) send(w http.ResponseWriter) {
	h := w.Header()
	if f.after > 0 {
		h.Set("Retry-After", strconv.Itoa(f.after))
	}
	if f.started {
		// SDKs repeat 408, 409, 429 and 5xx by themselves otherwise.
		h.Set("X-Should-Retry", "false")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	writeJSON(w, f.status, f.encode())
}

// fail writes the refusals that the server makes on our behalf.
func fail(w http.ResponseWriter, _ *http.Request, status int, detail string) {
	f := &failure{status: status, message: detail, kind: kindRequest}
	switch {
	case status == http.StatusUnauthorized:
		f.code = "invalid_api_key"
	case status == http.StatusForbidden:
		f.code = "forbidden"
	case status >= http.StatusInternalServerError:
		f.kind, f.code = kindServer, "internal_error"
	}
	f.send(w)
}

// badField is a 400 about one field or header.
func badField(param, format string, args ...any) *failure {
	return &failure{
		status: http.StatusBadRequest, kind: kindRequest, param: param, code: "invalid_value",
		message: param + ": " + fmt.Sprintf(format, args...),
	}
}

func unknownPath(r *http.Request) *failure {
	return &failure{
		status: http.StatusNotFound, kind: kindRequest, code: "unknown_url",
		message: fmt.Sprintf("unknown request URL: %s %s; this endpoint has GET /v1/models, GET /v1/models/{id} and POST /v1/chat/completions",
			r.Method, clip(r.URL.Path, 200)),
	}
}

func wrongMethod(r *http.Request, want string) *failure {
	return &failure{
		status: http.StatusMethodNotAllowed, kind: kindRequest, code: "method_not_allowed",
		message: fmt.Sprintf("%s is not a method of this URL; use %s", r.Method, want),
	}
}

func unknownModel(name string, offered []string) *failure {
	return &failure{
		status: http.StatusNotFound, kind: kindRequest, param: "model", code: "model_not_found",
		message: fmt.Sprintf("the model %q does not exist here; this box offers %s", clip(name, 200), strings.Join(offered, ", ")),
	}
}

// unreadable tells of a body that did not arrive.
func unreadable(err error) *failure {
	if f := failureOf(err); f != nil {
		return f
	}
	return badBody("the request's body could not be read to its end")
}

// failureOf finds the failure for an error of decoding, reading or running, or
// returns nil.
func failureOf(err error) *failure {
	var (
		f         *failure
		large     *httpd.TooLargeError
		refused   *runner.RefusedError
		cancelled *runner.CancelledError
	)
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &large):
		return &failure{status: http.StatusRequestEntityTooLarge, kind: kindRequest, code: "request_too_large", message: large.Error()}
	case errors.Is(err, httpd.ErrStalled):
		return &failure{status: http.StatusRequestTimeout, kind: kindRequest, code: "request_timeout", message: err.Error()}
	case errors.As(err, &refused):
		return refusedFailure(refused)
	case errors.Is(err, runner.ErrBusy), errors.Is(err, runner.ErrQueueFull):
		return &failure{
			status: http.StatusTooManyRequests, kind: kindRate, code: "rate_limit_exceeded", after: 5,
			message: "the box has no room for this request: " + err.Error(),
		}
	case errors.Is(err, aicodebox.ErrDraining):
		return &failure{status: http.StatusServiceUnavailable, kind: kindServer, code: "shutting_down", after: 5, message: err.Error()}
	case errors.As(err, &cancelled):
		return &failure{status: http.StatusConflict, kind: kindRequest, code: "cancelled", message: cancelled.Error()}
	case errors.Is(err, context.Canceled):
		return &failure{status: http.StatusRequestTimeout, kind: kindRequest, code: "cancelled", message: "the request was cancelled"}
	}
	return nil
}

// refusedFailure tells of a request that cannot be run.
func refusedFailure(e *runner.RefusedError) *failure {
	param, ok := refusedParams[e.Field]
	if !ok {
		param = e.Field
	}
	f := &failure{status: http.StatusBadRequest, kind: kindRequest, param: param, code: "invalid_value", message: e.Reason}
	switch {
	case e.TooLarge:
		f.code = "context_length_exceeded"
	case e.Missing:
		f.status, f.code = http.StatusNotFound, "not_found"
		if e.Field == "model" {
			f.code = "model_not_found"
		}
	}
	return f
}

// refusedParams are our words for fields that the runner calls otherwise.
var refusedParams = map[string]string{
	"prompt":             "messages",
	"systemPrompt":       "messages",
	"thinking":           "reasoning_effort",
	"effort":             "reasoning_effort",
	"jsonSchema":         "response_format",
	"schema":             "response_format",
	"workspace":          headerPrefix + "workspace",
	"resume":             headerPrefix + "resume",
	"appendSystemPrompt": headerPrefix + "append-system-prompt",
	"extraArgs":          headerPrefix + "extra-args",
	"timeoutSeconds":     headerPrefix + "timeout-seconds",
}

// maxStderr is how much of an agent's last words a failure repeats.
const maxStderr = 4 << 10

// judge returns the failure of a run that ended, or nil.
func judge(r runner.Result) *failure {
	switch {
	case r.OK():
		return nil
	case r.TimedOut():
		return &failure{status: http.StatusGatewayTimeout, kind: kindTimeout, code: "timeout", message: "the agent did not answer within its time limit"}
	case r.Provider != nil:
		return providerFailure(r.Provider)
	case r.Status == ledger.Failed && r.ExitCode == 127:
		return &failure{status: http.StatusServiceUnavailable, kind: kindServer, code: "agent_missing", message: "the agent could not be started: " + r.Error}
	case r.ExitCode != 0:
		return crashFailure(r)
	case r.ParseError != "":
		return &failure{
			status: http.StatusUnprocessableEntity, kind: kindAnswer, code: "invalid_answer",
			message: fmt.Sprintf("the agent's answer could not be used after %d attempts: %s", len(r.Attempts), r.ParseError),
		}
	}
	return &failure{status: http.StatusInternalServerError, kind: kindServer, code: "agent_failed", message: "the agent's answer could not be read: " + r.Error}
}

// providerFailure passes on what the model provider said, with its status
// where that is known and is one of an error.
func providerFailure(p *runner.ProviderError) *failure {
	f := &failure{status: http.StatusBadRequest, kind: kindProvider, code: "provider_error", message: "the model provider refused: " + p.Message}
	if p.Status >= 400 && p.Status <= 599 {
		f.status = p.Status
	}
	if p.Status == http.StatusTooManyRequests {
		f.kind = kindRate
	}
	return f
}

// crashFailure tells how the agent ended, and its last words.
func crashFailure(r runner.Result) *failure {
	text := fmt.Sprintf("the agent exited with code %d", r.ExitCode)
	if words := strings.TrimSpace(strings.ToValidUTF8(string(r.Stderr), "\uFFFD")); words != "" {
		if len(words) > maxStderr {
			words = "… " + strings.ToValidUTF8(words[len(words)-maxStderr:], "")
		}
		text += ": " + words
	}
	return &failure{status: http.StatusInternalServerError, kind: kindServer, code: "agent_failed", message: text}
}

// internal is a failure of our own making. Its cause goes to the log.
func internal(r *http.Request) *failure {
	return &failure{
		status: http.StatusInternalServerError, kind: kindServer, code: "internal_error",
		message: "the box could not do this; its log has the cause under request id " + httpd.RequestID(r.Context()),
	}
}

// encode writes v as JSON without escaping <, > and &.
func encode(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // of our own types only
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// clip shortens text to about n bytes, at the end of a rune.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
