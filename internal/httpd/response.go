package httpd

import (
	"io"
	"net/http"
)

// response notes what was answered. It hides none of what the server's own
// writer can do: files are still sent by the kernel, streams flushed,
// deadlines set.
type response struct {
	http.ResponseWriter
	status  int
	written int64
}

// WriteHeader notes the status; informational ones do not count.
func (r *response) WriteHeader(status int) {
	if r.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts what is answered.
func (r *response) Write(p []byte) (int, error) {
	r.begin()
	n, err := r.ResponseWriter.Write(p)
	r.written += int64(n)
	return n, err
}

// ReadFrom lets the server copy a file without reading it.
func (r *response) ReadFrom(src io.Reader) (int64, error) {
	r.begin()
	n, err := io.Copy(r.ResponseWriter, src)
	r.written += n
	return n, err
}

// Flush sends what is buffered.
func (r *response) Flush() {
	r.begin()
	_ = http.NewResponseController(r.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *response) begin() {
	if r.status == 0 {
		r.status = http.StatusOK
	}
}
