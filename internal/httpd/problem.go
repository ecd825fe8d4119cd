package httpd

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Problem is an error as RFC 9457 writes it, with the extensions of this API.
type Problem struct {
	Title     string       `json:"title" doc:"The status in words." example:"Conflict"`
	Status    int          `json:"status" doc:"The HTTP status." example:"409"`
	Detail    string       `json:"detail" doc:"What went wrong and what to do about it." example:"the workspace is busy with another run; wait with waitSeconds, or use another workspace"`
	Errors    []FieldError `json:"errors,omitempty" nullable:"false" doc:"Each field at fault."`
	RequestID string       `json:"requestId,omitempty" doc:"The id under which the box logged the request." example:"LZ7KQ3XW5V2M4N6P8R9T"`
	RunID     string       `json:"runId,omitempty" doc:"The run it is about, where there is one."`
}

// FieldError is one field at fault.
type FieldError struct {
	Location string `json:"location" doc:"Where: body.timeoutSeconds, query.runId, header.Idempotency-Key." example:"body.timeoutSeconds"`
	Message  string `json:"message" doc:"What is wrong with it." example:"expected number >= 1"`
}

// Write answers with p. Title and RequestID are filled in.
func (p Problem) Write(w http.ResponseWriter, r *http.Request) {
	p.Title = http.StatusText(p.Status)
	p.RequestID = RequestID(r.Context())
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // people read it
	_ = enc.Encode(p)        // strings and numbers
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body.Bytes())
}

// WriteProblem is the Fail of the run API.
func WriteProblem(w http.ResponseWriter, r *http.Request, status int, detail string) {
	Problem{Status: status, Detail: detail}.Write(w, r)
}
