package httpd

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// response notes what was answered. It hides none of what the server's own
// writer can do: files are still sent by the kernel, streams flushed,
// deadlines set.
type response struct {
	http.ResponseWriter
	status  int
	written int64
	held    *bytes.Buffer // what is written while the answer is held
}

// WriteHeader notes the status; informational ones do not count.
func (r *response) WriteHeader(status int) {
	if r.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		r.status = status
	}
	if r.held == nil {
		r.ResponseWriter.WriteHeader(status)
	}
}

// Write counts what is answered.
func (r *response) Write(p []byte) (int, error) {
	r.begin()
	if r.held != nil {
		return r.held.Write(p)
	}
	n, err := r.ResponseWriter.Write(p)
	r.written += int64(n)
	return n, err
}

// ReadFrom lets the server copy a file without reading it.
func (r *response) ReadFrom(src io.Reader) (int64, error) {
	r.begin()
	if r.held != nil {
		return r.held.ReadFrom(src)
	}
	n, err := io.Copy(r.ResponseWriter, src)
	r.written += n
	return n, err
}

// Flush sends what is buffered.
func (r *response) Flush() {
	if r.held != nil {
		return
	}
	r.begin()
	_ = http.NewResponseController(r.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// whole lets answer write a small answer and sends it with its length, so that
// a client knows its end although the handler goes on.
func (r *response) whole(answer func()) {
	if r.status != 0 {
		answer()
		return
	}
	r.held = new(bytes.Buffer)
	answer()
	body := r.held.Bytes()
	r.held = nil
	r.begin()
	if r.Header().Get("Content-Length") == "" {
		r.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	r.ResponseWriter.WriteHeader(r.status)
	n, _ := r.ResponseWriter.Write(body)
	r.written += int64(n)
}

// observed finds the response below what other handlers put around it.
func observed(w http.ResponseWriter) (*response, bool) {
	for {
		if r, ok := w.(*response); ok {
			return r, true
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil, false
		}
		w = inner.Unwrap()
	}
}

func (r *response) begin() {
	if r.status == 0 {
		r.status = http.StatusOK
	}
}
