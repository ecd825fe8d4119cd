package fakebotapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// answer is the envelope of every response.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result,omitempty"`
	ErrorCode   int             `json:"error_code,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  *parameters     `json:"parameters,omitempty"`
}

type parameters struct {
	RetryAfter      int   `json:"retry_after,omitempty"`
	MigrateToChatID int64 `json:"migrate_to_chat_id,omitempty"`
}

func (a answer) status() int {
	if a.OK {
		return http.StatusOK
	}
	return a.ErrorCode
}

func success(v any) answer {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return answer{OK: true, Result: data}
}

func refuse(code int, description string) answer {
	return answer{ErrorCode: code, Description: description}
}

// bad is the answer to a request that Telegram does not take.
func bad(description string) answer {
	return refuse(http.StatusBadRequest, "Bad Request: "+description)
}

func failed(f Failure) answer {
	a := refuse(f.Status, f.Description)
	if f.Status == http.StatusTooManyRequests {
		a.Description = fmt.Sprintf("Too Many Requests: retry after %d", f.RetryAfter)
		a.Parameters = &parameters{RetryAfter: f.RetryAfter}
	}
	return a
}

func reply(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status())
	_ = json.NewEncoder(w).Encode(a)
}

// maxRequest is the largest request that the server takes.
const maxRequest = 60 << 20

// read reads the parameters of a request from its query, form, multipart form
// or JSON object.
func read(r *http.Request) (map[string]string, map[string]Upload, error) {
	params, files := map[string]string{}, map[string]Upload{}
	for name, values := range r.URL.Query() {
		params[name] = values[0]
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "multipart/form-data":
		return params, files, readParts(r, params, files)
	case "application/json":
		return params, files, readJSON(r.Body, params)
	case "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			return nil, nil, err
		}
		for name, values := range r.PostForm {
			params[name] = values[0]
		}
	}
	return params, files, nil
}

func readParts(r *http.Request, params map[string]string, files map[string]Upload) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(p, maxRequest))
		if err != nil {
			return err
		}
		if p.FileName() != "" {
			files[p.FormName()] = Upload{p.FileName(), data}
		} else {
			params[p.FormName()] = string(data)
		}
	}
}

func readJSON(body io.Reader, params map[string]string) error {
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(io.LimitReader(body, maxRequest)).Decode(&fields); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("can't parse JSON object: %w", err)
	}
	for name, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		params[name] = strings.TrimSpace(text)
	}
	return nil
}
