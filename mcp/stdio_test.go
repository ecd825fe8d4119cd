package mcp

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// stdio is a client of box mcp under test.
type stdio struct {
	*testServer
	in    *os.File
	out   *bufio.Scanner
	raw   *os.File
	ended chan error
}

func startStdio(t *testing.T) *stdio {
	t.Helper()
	s := &surface{}
	box := boxtest.New(t, nil, aicodebox.Seat(s))
	fromClient, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, toClient, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range []*os.File{fromClient, toServer, fromServer, toClient} {
			_ = f.Close()
		}
	})
	s.stdin = fromClient
	c := &stdio{
		testServer: &testServer{t: t, box: box, s: s, root: box.Workspaces().Dir()},
		in:         toServer, out: bufio.NewScanner(fromServer), raw: fromServer, ended: make(chan error, 1),
	}
	command := s.Commands()[0]
	go func() { c.ended <- command.Run(t.Context(), box, nil, toClient) }()
	return c
}

func (c *stdio) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *stdio) hear() reply {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("no more is said: %v", c.out.Err())
	}
	var r reply
	if err := json.Unmarshal(c.out.Bytes(), &r); err != nil {
		c.t.Fatalf("%v: %s", err, c.out.Text())
	}
	return r
}

func (c *stdio) begin() {
	c.t.Helper()
	c.say(initialize("2025-06-18"))
	if r := c.hear(); !strings.Contains(string(r.Result), `"2025-06-18"`) {
		c.t.Fatalf("%+v", r)
	}
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// What was asked before the input ended is answered, and then it is over.
func TestStdio(t *testing.T) {
	t.Parallel()
	c := startStdio(t)
	c.begin()
	c.say("no JSON")
	if r := c.hear(); r.Error == nil || r.Error.Code != -32700 {
		t.Errorf("%+v", r)
	}
	c.say("\xef\xbb\xbf" + message(2, "tools/call", m{"name": "run_prompt", "arguments": m{"prompt": "SLEEP:0.5\nSAY:hello", "workspace": "a"}}))
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	if r := readResult(t, c.hear().Result).ok(); r.text() != "hello" {
		t.Errorf("%s", r.raw)
	}
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

// The newest version has no initialize.
func TestStdioWithoutSession(t *testing.T) {
	t.Parallel()
	c := startStdio(t)
	_, meta := c.session(newest)
	c.say(message(2, "tools/call", m{"name": "list_files", "arguments": m{}, "_meta": meta}))
	readResult(t, c.hear().Result).ok()
}

// A client that is gone altogether ends its runs.
func TestStdioGone(t *testing.T) {
	t.Parallel()
	c := startStdio(t)
	c.begin()
	c.say(message(2, "tools/call", m{"name": "run_prompt", "arguments": m{"prompt": "TOUCH:started\nHANG", "workspace": "a"}}))
	c.appears("a/started")
	id := c.running("a")
	_ = c.in.Close()
	_ = c.raw.Close()
	select {
	case err := <-c.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
	info, err := runner.Lookup(t.Context(), c.box, id)
	if err != nil || info.Status != ledger.Cancelled {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestStdioCancel(t *testing.T) {
	t.Parallel()
	c := startStdio(t)
	c.begin()
	c.say(message(2, "tools/call", m{"name": "run_prompt", "arguments": m{"prompt": "TOUCH:started\nHANG", "workspace": "a"}}))
	c.appears("a/started")
	id := c.running("a")
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	c.until("the end of the run", func() bool {
		info, err := runner.Lookup(t.Context(), c.box, id)
		return err == nil && info.Status == ledger.Cancelled
	})
}

func TestReadLine(t *testing.T) {
	t.Parallel()
	r := bufio.NewReaderSize(strings.NewReader("short\n"+strings.Repeat("x", maxBody+1)+"\nlast"), 64<<10)
	for _, want := range []struct {
		line string
		err  error
	}{{"short\n", nil}, {"", errLongLine}, {"last", io.EOF}} {
		line, err := readLine(r)
		if string(line) != want.line || !errors.Is(err, want.err) {
			t.Errorf("got %.20q, %v; want %q, %v", line, err, want.line, want.err)
		}
	}
}
