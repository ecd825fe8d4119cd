package httpd

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"
)

// Fail writes a refusal in a surface's own shape. detail is a sentence for the
// caller.
type Fail func(w http.ResponseWriter, r *http.Request, status int, detail string)

// Observe gives every request an id, logs what became of it, and answers a
// panic with a 500 written by fail. The log tells ids, sizes and times; it
// never holds a query, a header or a body.
//
// The id is the client's X-Request-Id where that is 1 to 64 letters, digits,
// dots, dashes and underscores, else a new one; it is sent back. Browsers are
// told not to guess what an answer is.
func Observe(log *slog.Logger, fail Fail) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := requestID(r)
			w.Header().Set("X-Request-Id", id)
			w.Header().Set("X-Content-Type-Options", "nosniff")
			r = r.WithContext(context.WithValue(r.Context(), idKey{}, id))
			o := observation{log: log, fail: fail, id: id, began: time.Now()}
			o.serve(next, &response{ResponseWriter: w}, r)
		})
	}
}

// RequestID returns the id that Observe gave the request of ctx, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

type idKey struct{}

type observation struct {
	log   *slog.Logger
	fail  Fail
	id    string
	began time.Time
}

func (o observation) serve(next http.Handler, w *response, r *http.Request) {
	done := false
	defer func() {
		if done {
			o.tell(w, r)
			return
		}
		o.caught(w, r, recover())
	}()
	next.ServeHTTP(w, r)
	done = true
}

// caught turns a panic into an answer, or cuts an answer that had begun, so
// that its reader does not take it for whole.
func (o observation) caught(w *response, r *http.Request, cause any) {
	if cause != http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
		o.log.Error("panic while answering a request", "request", o.id, "method", r.Method,
			"path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	}
	begun := w.status != 0
	if !begun && cause != http.ErrAbortHandler { //nolint:errorlint // as above
		o.fail(w, r, http.StatusInternalServerError,
			"the box made a mistake; its log has the cause under request id "+o.id)
		o.tell(w, r)
		return
	}
	o.tell(w, r)
	panic(http.ErrAbortHandler)
}

func (o observation) tell(w *response, r *http.Request) {
	level := slog.LevelInfo
	if r.URL.Path == healthPath {
		level = slog.LevelDebug
	}
	status := w.status
	if status == 0 {
		status = http.StatusOK
	}
	o.log.LogAttrs(r.Context(), level, "request",
		slog.String("request", o.id), slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", status), slog.Int64("in", max(r.ContentLength, 0)), slog.Int64("out", w.written),
		slog.Duration("took", time.Since(o.began).Round(time.Microsecond)), slog.String("client", client(r)))
}

func client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if validID(id) {
		return id
	}
	return rand.Text()
}

func validID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
