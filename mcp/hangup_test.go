package mcp

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// A client that hangs up ends its run, in every version of the protocol, unless
// it or another has the run's id.
func TestHangUp(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_MAX_RUNS": "20"})
	for _, version := range []string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", newest} {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			s := s.on(t)
			dir := "w" + version
			header, meta := s.session(version)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				params := m{"name": "run_prompt", "arguments": m{"prompt": "TOUCH:started\nHANG", "workspace": dir}}
				if meta != nil {
					params["_meta"] = meta
				}
				res, err := s.send(ctx, http.MethodPost, "/mcp", message(7, "tools/call", params), header...)
				if err == nil {
					defer res.Body.Close()
					buf := make([]byte, 1)
					_, _ = res.Body.Read(buf)
				}
			}()
			s.appears(dir + "/started")
			id := s.running(dir)
			cancel()
			<-done
			s.until("the end of the run", func() bool {
				info, err := runner.Lookup(t.Context(), s.box, id)
				return err == nil && info.Status == ledger.Cancelled && strings.Contains(info.Error, "hung up")
			})
		})
	}
}

// newest is the version of the protocol that has no sessions.
const newest = "2026-07-28"

// session begins a session in a version of the protocol and returns the headers
// of further requests; "" is a request without a session. The newest needs what
// is returned as meta.
func (s *testServer) session(version string) (header []string, meta m) {
	s.t.Helper()
	switch version {
	case "":
		return nil, nil
	case newest:
		return []string{versionHeader, newest, "Mcp-Method", "tools/call", "Mcp-Name", "run_prompt"}, m{
			"io.modelcontextprotocol/protocolVersion":    newest,
			"io.modelcontextprotocol/clientInfo":         m{"name": "test", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": m{},
		}
	}
	a := s.do(s.t.Context(), http.MethodPost, "/mcp", initialize(version)).want(200)
	id := a.header.Get(sessionHeader)
	if id == "" {
		s.t.Fatal("there is no session")
	}
	header = []string{sessionHeader, id, versionHeader, version}
	s.do(s.t.Context(), http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header...).want(202)
	return header, nil
}

// running returns the id of the run in a workspace.
func (s *testServer) running(dir string) string {
	s.t.Helper()
	list, err := runner.List(s.t.Context(), s.box)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, info := range list {
		if info.Workspace == filepath.Join(s.root, dir) {
			return info.ID
		}
	}
	s.t.Fatalf("no run in %s", dir)
	return ""
}

// One of two equal calls that hangs up leaves the run to the other.
func TestJoin(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	args := m{"prompt": "TOUCH:started\nAWAIT:go\nSAY:done", "workspace": "a", "json_schema": nil}
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	var first sync.WaitGroup
	first.Go(func() {
		res, err := s.send(ctx, http.MethodPost, "/mcp", message(1, "tools/call", m{"name": "run_prompt", "arguments": args}))
		if err == nil {
			res.Body.Close()
		}
	})
	s.appears("a/started")
	id := s.running("a")
	second := make(chan result, 1)
	go func() { second <- s.tool("run_prompt", args) }()
	s.until("the second call", func() bool {
		s.s.flights.mu.Lock()
		defer s.s.flights.mu.Unlock()
		for _, f := range s.s.flights.list {
			f.mu.Lock()
			joined := f.callers == 2
			f.mu.Unlock()
			if joined {
				return true
			}
		}
		return false
	})
	hangUp()
	first.Wait()
	s.write("a/go", "")
	if r := (<-second).ok(); r.text() != "done" || r.outcome().ID != id {
		t.Errorf("%s", r.raw)
	}
}

// A call of another session is another run.
func TestJoinNotAcrossSessions(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(s *surface) { s.sync = 0 })
	params := m{"name": "run_prompt", "arguments": m{"prompt": "HANG", "workspace": "a"}}
	one, _ := s.session("2025-06-18")
	two, _ := s.session("2025-06-18")
	a := s.call(t.Context(), params, one...).ok().outcome()
	b := s.call(t.Context(), params, two...).ok().outcome()
	again := s.call(t.Context(), params, one...).ok().outcome()
	if a.ID == b.ID || a.ID != again.ID {
		t.Errorf("the runs are %s, %s, %s", a.ID, b.ID, again.ID)
	}
	for _, id := range []string{a.ID, b.ID} {
		s.tool("cancel_run", m{"run_id": id}).ok()
	}
}

// A cancelled call ends the agent with all it started.
func TestCancelEndsTree(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	session := s.connect("2025-06-18")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		s.appears("a/started")
		cancel()
	}()
	_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "run_prompt", Arguments: m{
		"prompt": "SETSID:300\nFORK:300\nTOUCH:started\nHANG", "workspace": "a",
	}})
	if err == nil {
		t.Fatal("the call went on")
	}
	s.until("the end of all processes", func() bool { return len(processesIn(t, filepath.Join(s.root, "a"))) == 0 })
}

// processesIn returns the processes that work in dir.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range list {
		if cwd, err := os.Readlink(link); err == nil && cwd == dir {
			found = append(found, link)
		}
	}
	return found
}
