package fakemodel

import (
	"io"
	"net/http"
)

// events writes server-sent events, each at once.
type events struct {
	w       http.ResponseWriter
	started bool
	parts   int // parts written so far
}

// send writes one event; without a name it is data alone. A caller that left
// is noticed by its context.
func (e *events) send(name string, v any) {
	if name != "" {
		e.raw("event: " + name + "\n")
	}
	e.raw("data: " + string(encode(v)) + "\n\n")
	e.flush()
}

func (e *events) raw(s string) {
	if !e.started {
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.w.Header().Set("Cache-Control", "no-cache")
		e.w.WriteHeader(http.StatusOK)
		e.started = true
	}
	_, _ = io.WriteString(e.w, s)
}

func (e *events) flush() { _ = http.NewResponseController(e.w).Flush() }
