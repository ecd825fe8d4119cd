package httpd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// ErrStalled is the error of a body that brought no byte for too long.
var ErrStalled = errors.New("the request's body made no progress for too long")

// TooLargeError is the error of a body over its limit.
type TooLargeError struct{ Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the request's body is larger than the limit of %d bytes", e.Limit)
}

// Progress cuts a request whose body brings no byte for idle; Read then
// returns ErrStalled. A body that goes on, however slowly, is never cut.
func Progress(idle time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Body == nil || r.Body == http.NoBody {
				next.ServeHTTP(w, r)
				return
			}
			body := &progressBody{ReadCloser: r.Body, control: http.NewResponseController(w), idle: idle}
			// The server looks at the body of its own request when the
			// handler is done, so that one stays as it is.
			watched := r.WithContext(r.Context())
			watched.Body = body
			defer body.end()
			next.ServeHTTP(w, watched)
		})
	}
}

type progressBody struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
	armed   time.Time // when the deadline was last set
	over    bool
}

// Read reads with a deadline. The deadline is moved at most once a second.
func (b *progressBody) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(b.armed) > time.Second {
		b.armed = now
		_ = b.control.SetReadDeadline(now.Add(b.idle + time.Second))
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.over = true
		// The server goes on to read, to learn of a client that leaves.
		_ = b.control.SetReadDeadline(time.Time{})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = ErrStalled
		}
	}
	return n, err
}

// linger lets the body be read until the deadline, whatever comes.
func (b *progressBody) linger(until time.Time) {
	b.armed = until
	_ = b.control.SetReadDeadline(until)
}

// end bounds what the server still reads of a body that the handler left.
func (b *progressBody) end() {
	if !b.over {
		_ = b.control.SetReadDeadline(time.Now().Add(lingerTime))
	}
}

// ReadBody reads a whole body of at most limit bytes. It returns a
// TooLargeError without reading when the declared length is over the limit.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &TooLargeError{limit}
	}
	// A declared length is a promise, so it is believed only so far.
	buf := make([]byte, 0, min(max(r.ContentLength, 0), 1<<20)+512)
	body := io.LimitReader(r.Body, limit+1)
	for {
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, &TooLargeError{limit}
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return nil, fmt.Errorf("read the request's body: %w", err)
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// The bounds of what is read, and thrown away, of a body after its refusal.
// Many clients write all of a request before they read a byte of the answer;
// were the connection closed under them, they would never see it.
const (
	lingerTime  = 5 * time.Second
	lingerBytes = 1 << 30
)

// Early sends an answer to a request whose body has not been read to its end:
// at once, and then reads on for a while, so that the client gets to see it.
// The connection is closed afterwards. answer writes to w. Outside of Observe
// it sets the Content-Length itself, or its client waits for Early to end.
func Early(w http.ResponseWriter, r *http.Request, answer func()) {
	if r.Body == nil || r.Body == http.NoBody {
		answer()
		return
	}
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex()
	w.Header().Set("Connection", "close")
	if seen, ok := observed(w); ok {
		seen.whole(answer)
	} else {
		answer()
	}
	_ = control.Flush()
	until := time.Now().Add(lingerTime)
	_ = control.SetReadDeadline(until)
	if body, ok := r.Body.(*progressBody); ok {
		body.linger(until)
	}
	if r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, lingerBytes)
	}
}
