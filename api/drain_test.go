package api

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
)

// While a box shuts down it finishes what it has in hand, tells health checks,
// and refuses new runs.
func TestDrain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	env := boxtest.Env{
		"AICODEBOX_API_MODE": "1", "AICODEBOX_API_MODE_HOST": "127.0.0.1", "AICODEBOX_API_MODE_PORT": "0",
		"AICODEBOX_AVAILABLE_MODELS": "m", "AICODEBOX_WORKSPACE": root,
	}
	addr := make(chan net.Addr, 1)
	ctx, stop := context.WithCancel(t.Context())
	exit := make(chan int, 1)
	go func() {
		exit <- aicodebox.Main(ctx, boxtest.Adapter{}, nil, env.Lookup(t), aicodebox.Logger(boxtest.Log(t)),
			aicodebox.Grace(time.Minute), aicodebox.Seat(&surface{listen: func(a net.Addr) { addr <- a }}))
	}()
	s := &server{t: t, root: root, url: "http://" + (<-addr).String()}
	answer := make(chan answered, 1)
	go func() {
		a, err := s.try(context.Background(), http.MethodPost, "/run", bodyOf(object{"prompt": "TOUCH:on\nAWAIT:go\nSAY:done"}), "Content-Type", "application/json")
		if err != nil {
			t.Error(err)
		}
		answer <- a
	}()
	s.appears("on")
	stop()
	s.until("the drain", func() bool { return s.get("/healthz").status == http.StatusServiceUnavailable })
	if a := s.run(object{"prompt": "SAY:x", "workspace": "w"}); a.problem(503).Detail == "" || a.header.Get("Retry-After") == "" {
		t.Errorf("header %v", a.header)
	}
	if o := s.get("/status").want(200).object(); o["draining"] != true {
		t.Errorf("status %v", o)
	}
	if err := os.WriteFile(filepath.Join(root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := (<-answer).want(200).object(); o["text"] != "done" {
		t.Errorf("the run in hand got %v", o)
	}
	if code := <-exit; code != 0 {
		t.Errorf("exit status %d", code)
	}
}

func TestTooManyWaiting(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_MAX_WAITING": "0"})
	id := member(t, s.run(object{"prompt": "TOUCH:on\nHANG", "workspace": "w", "async": true}).want(200).object(), "runId")
	s.appears("w/on")
	a := s.run(object{"prompt": "SAY:x", "workspace": "w", "waitSeconds": 60})
	if a.problem(429); a.header.Get("Retry-After") == "" {
		t.Errorf("header %v", a.header)
	}
	s.do(http.MethodDelete, "/run/"+id, nil).want(200)
}

// A box that cannot keep records still answers who waits, and promises nothing.
func TestBrokenStateDirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, boxtest.Env{"AICODEBOX_STATE_DIR": filepath.Join(file, "state")})
	s.run(object{"prompt": "SAY:x"}).want(200)
	s.run(object{"prompt": "SAY:x", "async": true}).problem(503)
}

// What an adapter cannot read is told as the run's error.
func TestUnreadableOutput(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	o := s.run(object{"prompt": "@raise"}).want(200).object()
	if member(t, o, "error") == "" {
		t.Errorf("answer %v", o)
	}
}
