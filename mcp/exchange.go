package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// exchange is one HTTP request and its answer, from the server's point of view:
// while a tool works it sends signs of life, since many clients and proxies
// give up on an answer that brings no byte, and it tells the tool when the
// client has hung up, which the library does not in every version of the
// protocol.
//
// The library writes to it as to any answer. Its methods are safe for
// concurrent use.
type exchange struct {
	http.ResponseWriter
	request *http.Request
	control *http.ResponseController
	hangUp  context.CancelCauseFunc // ends the context of request
	forget  func()

	mu     sync.Mutex
	begun  bool // the header is out
	closed bool
}

// exchangeHeader carries the id of an exchange through the library to the
// tool. What a client sends under this name is dropped.
const exchangeHeader = "X-Aicodebox-Exchange"

// errHungUp is why a call ends whose client is gone.
var errHungUp = errors.New("its client hung up")

// writeTimeout is how long a client may take to read what was written.
const writeTimeout = time.Minute

// open begins the exchange of r.
func (s *server) open(w http.ResponseWriter, r *http.Request) *exchange {
	ctx, hangUp := context.WithCancelCause(r.Context())
	x := &exchange{ResponseWriter: w, control: http.NewResponseController(w), hangUp: hangUp}
	id := rand.Text()
	x.request = r.Clone(ctx)
	x.request.Header.Set(exchangeHeader, id)
	s.exchanges.Store(id, x)
	x.forget = func() { s.exchanges.Delete(id) }
	w.Header().Set("X-Accel-Buffering", "no") // nginx holds streams back otherwise
	if r.Method == http.MethodGet {
		x.stay(s)
	}
	return x
}

// find returns the exchange of a request that the library got with header, or
// nil if it did not come over HTTP.
func (s *server) find(header http.Header) *exchange {
	x, ok := s.exchanges.Load(header.Get(exchangeHeader))
	if !ok {
		return nil
	}
	return x.(*exchange)
}

// stay keeps the standing stream of a session alive, and ends it when the box
// drains: it would hold up the end for the whole grace.
func (x *exchange) stay(s *server) {
	stop := make(chan struct{})
	forget := x.forget
	x.forget = func() { close(stop); forget() }
	go func() {
		tick := time.NewTicker(s.surface.beat)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-s.surface.box.Draining():
				x.hangUp(errHungUp)
				return
			case <-tick.C:
				x.signal(false)
			}
		}
	}()
}

// keepAlive sends a sign of life every interval until stop is called; none is
// sent after that.
func (x *exchange) keepAlive(interval time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(x.request.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				x.signal(true)
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// signal sends a comment, which readers of event streams skip. Unless begin is
// set, it does not begin the answer.
func (x *exchange) signal(begin bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || !begin && !x.begun {
		return
	}
	if !strings.HasPrefix(x.Header().Get("Content-Type"), "text/event-stream") {
		return
	}
	_, _ = x.write([]byte(": keep-alive\n\n"))
	_ = x.control.Flush()
}

// close is called when the request is answered: nothing is written any more.
func (x *exchange) close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.forget()
	x.hangUp(errHungUp)
}

// WriteHeader begins the answer.
func (x *exchange) WriteHeader(status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	x.begun = true
	x.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the answer.
func (x *exchange) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return 0, http.ErrHandlerTimeout
	}
	return x.write(p)
}

// write sends p. A client that does not read for long has hung up. Callers
// hold x.mu.
func (x *exchange) write(p []byte) (int, error) {
	x.begun = true
	_ = x.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := x.ResponseWriter.Write(p)
	if err != nil {
		x.hangUp(errHungUp)
		return n, err
	}
	_ = x.control.SetWriteDeadline(time.Time{})
	return n, nil
}

// Flush sends what is buffered.
func (x *exchange) Flush() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.closed {
		x.begun = true
		_ = x.control.Flush()
	}
}
