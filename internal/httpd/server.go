// Package httpd is what the surfaces that speak HTTP share: a server that
// drains before it ends, and the handlers around theirs.
//
// A surface builds its handler and wraps it from the inside out:
//
//	h = httpd.Bearer(token, fail)(h)     // who may ask
//	h = httpd.Progress(time.Minute)(h)   // a body that stalls is cut
//	h = httpd.CORS(origins)(h)           // pages of other origins; before the token
//	h = httpd.Observe(log, fail)(h)      // request id, access log, panics
//
// and serves it with a Server. What a refusal looks like is the surface's
// matter: a Fail writes it. Handlers that are seated on another surface's
// server say what they bring with a Seat.
package httpd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Server serves a handler until it is told to stop, and then for as long as
// requests are being answered. Its fields are set before Serve.
type Server struct {
	Handler http.Handler
	Log     *slog.Logger

	// Brief tells of a request that does not hold up the end of the server,
	// such as a health check. Nil means that every request does.
	Brief func(*http.Request) bool

	mu       sync.Mutex
	inFlight int
	quiet    chan struct{} // closed once the server drains and answers nothing
	draining bool
}

// The limits of a connection. There is no limit on how long an answer takes:
// a run may last for hours.
const (
	headerTimeout = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	lastWords     = 6 * time.Second // for answers after the box has given up: its agents are ended in 5
	closing       = 2 * time.Second // for connections that are being closed
)

// Listen opens the TCP address host:port. setting is the full name of the
// variable that a person would change when that fails.
func Listen(ctx context.Context, host string, port int64, setting string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	switch {
	case err == nil:
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d is in use by another program; set %s to a free one: %w", port, setting, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("port %d needs more privileges; set %s to one above 1023: %w", port, setting, err)
	}
	return nil, fmt.Errorf("listen on port %d (%s): %w", port, setting, err)
}

// Serve answers requests on ln. Once ctx is done it goes on until every
// request in hand is answered, or until giveUp is done: then the contexts of
// all requests end, and what has not been answered shortly after is cut. Until
// the end it accepts connections, so that health checks learn of the drain.
// It returns nil after an orderly end.
func (s *Server) Serve(ctx, giveUp context.Context, ln net.Listener) error {
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	s.quiet = make(chan struct{})
	srv := &http.Server{
		Handler:           http.HandlerFunc(s.count),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	srv.SetKeepAlivesEnabled(false)
	s.drain(giveUp, stop)
	return end(srv) //nolint:contextcheck // the server outlives ctx by intent
}

// drain waits for the requests in hand, at most until the box gives up.
func (s *Server) drain(giveUp context.Context, stop context.CancelCauseFunc) {
	s.mu.Lock()
	s.draining = true
	s.settle()
	s.mu.Unlock()
	select {
	case <-s.quiet:
		return
	case <-giveUp.Done():
	}
	stop(errors.New("the box is shutting down"))
	select {
	case <-s.quiet:
	case <-time.After(lastWords):
	}
}

func end(srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return srv.Close()
	}
	return nil
}

// count keeps the number of requests in hand.
func (s *Server) count(w http.ResponseWriter, r *http.Request) {
	if s.Brief != nil && s.Brief(r) {
		s.Handler.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	s.inFlight++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.settle()
		s.mu.Unlock()
	}()
	s.Handler.ServeHTTP(w, r)
}

// settle closes quiet when nothing holds up the end. Callers hold s.mu.
func (s *Server) settle() {
	if !s.draining || s.inFlight > 0 {
		return
	}
	select {
	case <-s.quiet:
	default:
		close(s.quiet)
	}
}
