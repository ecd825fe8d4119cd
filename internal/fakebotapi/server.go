// Package fakebotapi is a Telegram Bot API server for tests. It keeps chats,
// topics and messages, and refuses what Telegram refuses, in Telegram's words:
// markup that does not parse, texts and files that are too long, replies to
// messages that are not there, topics that do not exist, edits that change
// nothing. It hands out updates by the rules of getUpdates: an update stays
// until a later offset acknowledges it.
//
// A test makes a Server, lets people write (Text, Push), and waits for what the
// bot does (Wait). Failures can be scripted (Fail). Everything a bot sent is in
// Calls and in the chats (Shown).
package fakebotapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Token is the bot token of every Server.
const Token = "123456:TEST-ONLY-TOKEN"

// BotName is the bot's user name, without @; BotID is its user id.
const (
	BotName = "testing_bot"
	BotID   = 123456
)

// Server is a Bot API for one bot. It is safe for concurrent use.
type Server struct {
	URL string // for the bot's settings

	t       testing.TB
	http    *httptest.Server
	mu      sync.Mutex
	changed chan struct{} // closed at every change
	chats   map[int64]*Chat
	calls   []Call
	taken   []bool
	fail    map[string][]Failure
	updates []update
	lastID  int64
	offset  int64 // acknowledged before this
	poll    chan struct{}
	files   map[string]file
	queries map[string]bool
	nextMsg int
	closed  bool
}

type update struct {
	id  int64
	raw json.RawMessage
}

type file struct {
	path    string
	content []byte
	size    int64
}

// Call is one request of the bot.
type Call struct {
	Method string
	Params map[string]string // values that are not texts are JSON
	Files  map[string]Upload // by field
	At     time.Time
	Status int             // HTTP status it was answered with
	Result json.RawMessage // of a success
}

// Upload is a file that the bot sent.
type Upload struct {
	Name    string
	Content []byte
}

// Failure is an answer that a test wants instead of the real one.
type Failure struct {
	Status      int    // HTTP status and error code
	Description string // of the error
	RetryAfter  int    // seconds, of 429
	Drop        bool   // cut the connection instead
	Late        bool   // do what was asked, and only then fail
	Body        string // answer with this instead, if not empty
	Match       string // only a call whose text holds this
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		t: t, changed: make(chan struct{}), chats: map[int64]*Chat{}, fail: map[string][]Failure{},
		files: map[string]file{}, queries: map[string]bool{}, nextMsg: 100, lastID: 5000,
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	t.Cleanup(s.Close)
	return s
}

// Close ends the server; polls in hand are answered.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.change()
	s.mu.Unlock()
	s.http.Close()
}

// change wakes everybody who waits. Callers hold s.mu.
func (s *Server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Fail makes the next calls of method fail, in this order.
func (s *Server) Fail(method string, failures ...Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[method] = append(s.fail[method], failures...)
}

// Calls returns what the bot has called so far, getUpdates left out.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// patience is how long a test waits for something that must happen.
const patience = 20 * time.Second

// Wait returns the first call, not yet returned by Wait, for which match is
// true, and waits for it if needed. It fails the test when none comes.
func (s *Server) Wait(what string, match func(Call) bool) Call {
	s.t.Helper()
	return s.WaitFor(patience, what, match)
}

// WaitFor is Wait with a limit of its own.
func (s *Server) WaitFor(most time.Duration, what string, match func(Call) bool) Call {
	s.t.Helper()
	limit := time.After(most)
	for {
		s.mu.Lock()
		for i, c := range s.calls {
			if !s.taken[i] && match(c) {
				s.taken[i] = true
				s.mu.Unlock()
				return c
			}
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-limit:
			s.t.Fatalf("no %s came; the bot's calls were:\n%s", what, s.dump())
		}
	}
}

func (s *Server) dump() string {
	var b strings.Builder
	for _, c := range s.Calls() {
		data, _ := json.Marshal(c.Params)
		b.WriteString(c.Method + " " + string(data) + "\n")
	}
	return b.String()
}

// Sent waits for a successful call of method whose text, caption or file name
// contains part.
func (s *Server) Sent(method, part string) Call {
	s.t.Helper()
	return s.Wait(method+" with "+part, func(c Call) bool {
		if c.Method != method || c.Status != http.StatusOK {
			return false
		}
		for _, f := range c.Files {
			if strings.Contains(f.Name, part) {
				return true
			}
		}
		return strings.Contains(c.Params["text"], part) || strings.Contains(c.Params["caption"], part) && part != ""
	})
}

// Acknowledged waits until the bot has acknowledged the update id.
func (s *Server) Acknowledged(id int64) {
	s.t.Helper()
	s.until("acknowledgement", func() bool { return s.offset > id })
}

// until waits for a condition of the server.
func (s *Server) until(what string, ok func() bool) {
	s.t.Helper()
	limit := time.After(patience)
	for {
		s.mu.Lock()
		done, changed := ok(), s.changed
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-limit:
			s.t.Fatalf("no %s came; the bot's calls were:\n%s", what, s.dump())
		}
	}
}

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+Token+"/"); ok {
		s.download(w, name)
		return
	}
	token, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || token != Token {
		reply(w, refuse(http.StatusUnauthorized, "Unauthorized"))
		return
	}
	c := Call{Method: method, At: time.Now()}
	var err error
	if c.Params, c.Files, err = read(r); err != nil {
		reply(w, refuse(http.StatusBadRequest, "Bad Request: "+err.Error()))
		return
	}
	if method == "getUpdates" {
		s.getUpdates(w, r, c)
		return
	}
	s.call(w, c)
}

// call answers one call and keeps it.
func (s *Server) call(w http.ResponseWriter, c Call) {
	s.mu.Lock()
	f, failing := s.nextFailure(c.Method, c.Params["text"])
	var a answer
	if !failing || f.Late {
		a = s.do(c)
	}
	if failing {
		a = failed(f)
	}
	c.Status, c.Result = a.status(), a.Result
	s.calls, s.taken = append(s.calls, c), append(s.taken, false)
	s.change()
	s.mu.Unlock()
	if f.Drop {
		panic(http.ErrAbortHandler)
	}
	if f.Body != "" {
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
		return
	}
	reply(w, a)
}

// nextFailure takes the next failure of method that fits text.
func (s *Server) nextFailure(method, text string) (Failure, bool) {
	for i, f := range s.fail[method] {
		if strings.Contains(text, f.Match) {
			s.fail[method] = slices.Delete(s.fail[method], i, i+1)
			return f, true
		}
	}
	return Failure{}, false
}

func (s *Server) download(w http.ResponseWriter, name string) {
	s.mu.Lock()
	var content []byte
	found := false
	for _, f := range s.files {
		if f.path == name {
			content, found = f.content, true
		}
	}
	f, failing := s.nextFailure("file", "")
	s.mu.Unlock()
	switch {
	case failing && f.Drop:
		panic(http.ErrAbortHandler)
	case failing:
		reply(w, failed(f))
	case !found:
		reply(w, refuse(http.StatusNotFound, "Not Found"))
	default:
		_, _ = w.Write(content)
	}
}

// Heal forgets the failures that were scripted for method.
func (s *Server) Heal(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fail, method)
}
