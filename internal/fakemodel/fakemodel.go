// Package fakemodel is a model provider for tests and for trying a box without
// a key: an HTTP server that speaks the interfaces agents use and answers from
// a script that stands in the prompt.
//
//	POST /v1/chat/completions                       OpenAI chat completions
//	POST /v1/responses                              OpenAI Responses
//	POST /v1/messages                               Anthropic Messages
//	POST /v1beta/models/M:streamGenerateContent     Google, :generateContent too
//	GET  /v1/models, /v1beta/models                 the models it says it has
//	GET  /_log, DELETE /_log                        what it was asked, for other processes
//
// All of them answer whole or streamed, with text, thinking, tool calls, usage,
// and errors in the provider's own shape.
//
// # The script
//
// A prompt holds commands, separated by " ;; ", on one line. The last line
// that has a command counts; what stands around it (roles, tags, a JSON
// transcript, instructions) does not matter.
//
//	SAY:text         say text; \n and \t are a newline and a tab
//	THINK:text       think text
//	TOOL:command     call the agent's shell tool, under whatever name it has
//	CALL:name:{…}    call a tool by name with these arguments
//	JSON:{…}         the value through the tool StructuredOutput where the
//	                 agent offers it, as text elsewhere
//	STREAM:300@2     300 pieces of text, 2 ms apart
//	SEQ:a|b|c        a the first time, then b, then c for ever; an item may be
//	                 a command itself
//	ERR:401          answer with this status: 400 (content filter), 401, 403,
//	                 404, 429, 429q (quota used up), 500, 503, 529, …
//	ERR:500x2        the same, but only the first two times
//	SLEEP:s          wait s seconds
//	HANG             wait until the caller leaves
//	EMPTY            say nothing
//	CUT              end the stream in the middle
//	LEN              stop for the output limit
//	REFUSE           stop for a content filter
//
// An answer ends with a TOOL, CALL or JSON; when the tool's result comes back the
// rest of the script follows. With nothing left the answer is "tool said: "
// and the result. A user message without a command continues the script before
// it if that has commands left, or ends in SEQ, LEN, REFUSE or EMPTY. Any other
// prompt is answered with "you said N bytes".
package fakemodel

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Server is the scripted model provider. Make one with New or Start; it is safe
// for concurrent use.
type Server struct {
	// URL is the base address without a path, such as http://127.0.0.1:4242.
	// It is set by Start.
	URL string

	mux  *http.ServeMux
	http *http.Server

	mu       sync.Mutex
	log      []Request
	queue    []Response
	answer   func(Request) Response
	occurred map[string]int
	arrived  chan struct{}
}

// New returns a server that is not listening: an http.Handler.
func New() *Server {
	s := &Server{mux: http.NewServeMux(), occurred: map[string]int{}, arrived: make(chan struct{})}
	s.route()
	return s
}

// Start returns a server that listens on a free port of the loopback
// interface. The caller closes it.
func Start() (*Server, error) { return Listen("127.0.0.1:0") }

// Listen is Start with an address of the caller's choice.
func Listen(address string) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	s := New()
	s.URL = "http://" + listener.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go s.serve(listener)
	return s, nil
}

func (s *Server) serve(listener net.Listener) {
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		panic(err)
	}
}

// Close stops a server that Start or Listen made and cuts its answers in hand.
func (s *Server) Close() error { return s.http.Close() }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Queue adds answers that are given before any other, in order, one each.
func (s *Server) Queue(responses ...Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, responses...)
}

// Script makes f answer every request that the queue does not. f may call
// Answer for those it has no opinion on; nil takes it away again.
func (s *Server) Script(f func(Request) Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Requests returns what the server was asked so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Await returns the first n requests as soon as there are that many, or the
// context's error.
func (s *Server) Await(ctx context.Context, n int) ([]Request, error) {
	for {
		s.mu.Lock()
		log, arrived := slices.Clone(s.log), s.arrived
		s.mu.Unlock()
		if len(log) >= n {
			return log[:n], nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Reset forgets all requests, queued answers and how often a script occurred.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.queue, s.occurred = nil, nil, map[string]int{}
}

// record keeps req and returns it with its number, and the answer that was
// queued for it, if any.
func (s *Server) record(req Request) (Request, *Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Number = len(s.log) + 1
	s.log = append(s.log, req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	if len(s.queue) == 0 {
		return req, nil
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	return req, &next
}

// occurrence returns how often key was asked for before, and counts this time.
func (s *Server) occurrence(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.occurred[key]
	s.occurred[key] = n + 1
	return n
}

// respond finds the answer to req.
func (s *Server) respond(req Request, queued *Response) Response {
	if queued != nil {
		return *queued
	}
	s.mu.Lock()
	f := s.answer
	s.mu.Unlock()
	if f != nil {
		return f(req)
	}
	return s.Answer(req)
}
