package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
	"github.com/psyb0t/aicodebox/internal/httpd"
)

func TestMain(m *testing.M) {
	fakeagent.Main()
	os.Exit(m.Run())
}

// server is a run API under test, on a port of its own.
type server struct {
	t     testing.TB
	box   *aicodebox.Box
	url   string
	root  string // of the workspaces
	token string
	stop  context.CancelFunc
	ended chan error
}

// start serves the run API of a box with the settings env until the test ends.
func start(t testing.TB, env boxtest.Env, change ...func(*surface)) *server {
	t.Helper()
	return startAdapter(t, boxtest.Adapter{}, env, change...)
}

// startAdapter is start for another adapter than the fake agent's.
func startAdapter(t testing.TB, a aicodebox.Adapter, env boxtest.Env, change ...func(*surface)) *server {
	t.Helper()
	all := boxtest.Env{"AICODEBOX_API_MODE_HOST": "127.0.0.1", "AICODEBOX_API_MODE_PORT": "0"}
	for name, value := range env {
		all[name] = value
	}
	s := &surface{}
	log := boxtest.Log(t)
	if _, ok := t.(*testing.B); ok { // it would cost time
		log = slog.New(slog.DiscardHandler)
	}
	box, err := aicodebox.New(a, all.Lookup(t), aicodebox.Logger(log), aicodebox.Seat(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Init(box); err != nil {
		t.Fatal(err)
	}
	addr := make(chan net.Addr, 1)
	s.listen = func(a net.Addr) { addr <- a }
	for _, c := range change {
		c(s)
	}
	ctx, stop := context.WithCancel(context.Background())
	srv := &server{t: t, box: box, root: box.Workspaces().Dir(), token: s.token, stop: stop, ended: make(chan error, 1)}
	go func() { srv.ended <- s.Serve(ctx); close(srv.ended) }()
	t.Cleanup(func() {
		stop()
		if err := <-srv.ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-addr:
		srv.url = "http://" + a.String()
	case err := <-srv.ended:
		t.Fatal(err)
	}
	return srv
}

// answered is a response with its body read.
type answered struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// do sends a request and reads all of the answer. header holds names and values.
func (s *server) do(method, path string, body io.Reader, header ...string) answered {
	s.t.Helper()
	a, err := s.try(s.t.Context(), method, path, body, header...)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *server) request(ctx context.Context, method, path string, body io.Reader, header ...string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		panic(err)
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func (s *server) try(ctx context.Context, method, path string, body io.Reader, header ...string) (answered, error) {
	res, err := http.DefaultClient.Do(s.request(ctx, method, path, body, header...))
	if err != nil {
		return answered{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return answered{s.t, res.StatusCode, res.Header, data}, err
}

func (s *server) get(path string, header ...string) answered {
	s.t.Helper()
	return s.do(http.MethodGet, path, nil, header...)
}

// run posts body to /run: a string as it is, anything else as JSON.
func (s *server) run(body any, header ...string) answered {
	s.t.Helper()
	return s.do(http.MethodPost, "/run", bodyOf(body), append([]string{"Content-Type", "application/json"}, header...)...)
}

func bodyOf(body any) io.Reader {
	text, ok := body.(string)
	if !ok {
		data, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		text = string(data)
	}
	return strings.NewReader(text)
}

// want fails the test unless the answer has this status, and returns it.
func (a answered) want(status int) answered {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d; body %.2000s", a.status, status, a.body)
	}
	return a
}

// object reads the body as a JSON object.
func (a answered) object() object {
	a.t.Helper()
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.UseNumber()
	var o object
	if err := dec.Decode(&o); err != nil {
		a.t.Fatalf("not a JSON object: %v: %.500s", err, a.body)
	}
	return o
}

type object = map[string]any

// problem reads the body as a problem of this status.
func (a answered) problem(status int) httpd.Problem {
	a.t.Helper()
	a.want(status)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("content type %q, want application/problem+json; body %.500s", got, a.body)
	}
	var p httpd.Problem
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		a.t.Fatalf("not a problem: %v: %.500s", err, a.body)
	}
	if p.Status != status || p.Title == "" || p.Detail == "" || p.RequestID == "" {
		a.t.Errorf("incomplete problem %+v", p)
	}
	return p
}

// member is a member of an object that must be a string.
func member(t testing.TB, o object, name string) string {
	t.Helper()
	s, ok := o[name].(string)
	if !ok {
		t.Fatalf("%s is %#v, want a string; in %v", name, o[name], o)
	}
	return s
}

// appears waits until the file name exists below the workspace root.
func (s *server) appears(name string) {
	s.t.Helper()
	s.until("the file "+name, func() bool {
		_, err := os.Stat(filepath.Join(s.root, name))
		return err == nil
	})
}

// until waits for a thing that sends no word.
func (s *server) until(what string, f func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("no sign of %s", what)
		}
	}
}

// finished waits until a run has ended and returns GET /run/result.
func (s *server) finished(id string) object {
	s.t.Helper()
	var o object
	s.until("the end of the run", func() bool {
		o = s.get("/run/result?runId=" + id).want(200).object()
		return o["status"] != "running"
	})
	return o
}

func seatOf(s aicodebox.Surface) aicodebox.Option { return aicodebox.Seat(s) }
