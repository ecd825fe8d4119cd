package openai

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// Chats that share a workspace wait for each other, in order; one too many is
// told to come back.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_MAX_WAITING": "1"})
	first := make(chan string, 1)
	go func() { first <- s.chat(ask("TOUCH:begun\nAWAIT:go\nSAY:first")).content() }()
	await(t, filepath.Join(s.root, "begun"))
	res, err := http.DefaultClient.Do(s.request(t.Context(), http.MethodPost, chatPath, text(ask("SAY:second", m{"stream": true}))))
	if err != nil { // headers and role come at once, although it waits
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		t.Fatalf("status %d", res.StatusCode)
	}
	for _, streamed := range []bool{false, true} {
		a := s.chat(ask("SAY:third", m{"stream": streamed}))
		if e := a.error(http.StatusTooManyRequests); deref(e.Code) != "rate_limit_exceeded" {
			t.Errorf("%+v", e)
		}
		if a.header.Get("Retry-After") == "" || a.header.Get("X-Should-Retry") != "" {
			t.Errorf("headers %v", a.header)
		}
	}
	if err := os.WriteFile(filepath.Join(s.root, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := <-first; got != "first" {
		t.Errorf("first: %q", got)
	}
	if got := assemble(t, readAll(t, res.Body)); got.text != "second" || !got.done {
		t.Errorf("second: %+v", got)
	}
}

// await waits until the file exists: a sign of the fake agent.
func await(t testing.TB, path string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not appear", path)
		}
	}
}

// A history of a megabyte goes through standard input.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var messages []m
	for range 64 {
		messages = append(messages, m{"role": "user", "content": strings.Repeat("q", 8<<10)}, m{"role": "assistant", "content": strings.Repeat("a", 8<<10)})
	}
	messages = append(messages, m{"role": "user", "content": "ECHO"})
	got := echoOf(t, s.chat(m{"messages": messages}).content())
	if len(got.Stdin) < 1<<20 {
		t.Errorf("the agent got %d bytes", len(got.Stdin))
	}
	if e := s.chat(m{"model": "argv", "messages": messages}).error(400); deref(e.Code) != "context_length_exceeded" {
		t.Errorf("%+v", e)
	}
	s.chat(m{"model": "noread", "messages": messages}).want(200)
}

// A buffered stream keeps its true status for a while, and then opens, so that
// nobody on the way cuts it.
func TestPatience(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(s *surface) { s.patience, s.beat = 50*time.Millisecond, 20*time.Millisecond })
	for name, tt := range map[string]struct{ prompt, text, failure string }{
		"good": {"TOUCH:begun\nAWAIT:go\n" + `SAY:{"a":1}`, `{"a":1}`, ""},
		"bad":  {"TOUCH:begun\nAWAIT:go\nEXIT:3", "", "agent_failed"},
	} {
		res, err := http.DefaultClient.Do(s.request(t.Context(), http.MethodPost, chatPath,
			text(ask(tt.prompt, schemaA, m{"stream": true})), "x-aicodebox-workspace", name))
		if err != nil { // the headers come although the agent waits
			t.Fatal(err)
		}
		lines := bufio.NewReader(res.Body)
		first, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		await(t, filepath.Join(s.root, name, "begun"))
		if err := os.WriteFile(filepath.Join(s.root, name, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		got := assemble(t, append([]byte(first), readAll(t, lines)...))
		res.Body.Close()
		switch {
		case got.text != tt.text, (got.failure == nil) != (tt.failure == ""):
			t.Errorf("%s: %+v", name, got)
		case got.failure != nil && deref(got.failure.Code) != tt.failure:
			t.Errorf("%s: %+v", name, got.failure)
		}
	}
}

// A client that does not read holds its agent back, and what it costs in
// memory stays small.
func TestBackpressure(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	res, err := http.DefaultClient.Do(s.request(ctx, http.MethodPost, chatPath, text(ask("ENV:NONE\nLINES:2000000\nTOUCH:end", m{"stream": true}))))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	id := runIn(t, s, filepath.Base(s.root))
	time.Sleep(300 * time.Millisecond) // nothing tells of what does not happen
	if _, err := os.Stat(filepath.Join(s.root, "end")); err == nil {
		t.Error("the agent was not held back")
	}
	hangUp()
	if result, err := runner.Await(t.Context(), s.box, id); err != nil || result.Status != ledger.Cancelled {
		t.Errorf("%v, %s", err, result.Status)
	}
}

// The first piece arrives while the agent still works.
func TestLive(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_API_MODE_CHAT_WORKSPACE": "w"})
	res, err := http.DefaultClient.Do(s.request(t.Context(), http.MethodPost, chatPath, text(ask("SAY:first\nAWAIT:go\nSAY:second", m{"stream": true}))))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	var raw bytes.Buffer
	for !strings.Contains(raw.String(), `"first"`) {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		raw.WriteString(line)
	}
	if err := os.WriteFile(filepath.Join(s.root, "w", "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	raw.Write(readAll(t, lines))
	if got := assemble(t, raw.Bytes()); got.text != "first\nsecond" {
		t.Errorf("%+v", got)
	}
}

// DELETE /run/{id} ends a chat, whose id tells the run's.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, streamed := range []bool{false, true} {
		dir := "w" + strconv.FormatBool(streamed)
		answers := make(chan answered, 1)
		go func() {
			answers <- s.chat(ask("SAY:x\nTOUCH:begun\nHANG", m{"stream": streamed}), "x-aicodebox-workspace", dir)
		}()
		await(t, filepath.Join(s.root, dir, "begun"))
		id := runIn(t, s, dir)
		if _, err := runner.Cancel(t.Context(), s.box, id, "asked to"); err != nil {
			t.Fatal(err)
		}
		a := <-answers
		if a.header.Get("X-Aicodebox-Run-Id") != id {
			t.Errorf("run id %q", a.header.Get("X-Aicodebox-Run-Id"))
		}
		if !streamed {
			if e := a.error(409); deref(e.Code) != "cancelled" || a.header.Get("X-Should-Retry") != "false" {
				t.Errorf("%+v", e)
			}
			continue
		}
		if got := assemble(t, a.body); got.failure == nil || deref(got.failure.Code) != "cancelled" {
			t.Errorf("%+v", got)
		}
	}
}
