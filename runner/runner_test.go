package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

func ask(prompt ...string) aicodebox.Request {
	return aicodebox.Request{Prompt: strings.Join(prompt, "\n")}
}

func TestRun(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	tests := []struct {
		name string
		req  aicodebox.Request
		want runner.Result
	}{
		{"text", ask("SAY:hello"), runner.Result{Text: "hello"}},
		{"failure", ask("SAY:partial", "ERR:boom", "EXIT:7"), runner.Result{Text: "partial", ExitCode: 7}},
		{"signal", ask("SAY:partial", "KILL:9"), runner.Result{Text: "partial", ExitCode: 137}},
		{"session", ask("@session s-1", "SAY:hi"), runner.Result{Text: "hi", SessionID: "s-1"}},
		{"prompt in argv", aicodebox.Request{Prompt: "SAY:x", Model: "argv"}, runner.Result{Text: "x"}},
		{"a prompt like an option", ask("--help me write a parser"), runner.Result{Text: "you said 24 bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.req.Workspace = strings.ReplaceAll(tt.name, " ", "-")
			got, err := runner.Run(t.Context(), box, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if got.Text != tt.want.Text || got.ExitCode != tt.want.ExitCode || got.SessionID != tt.want.SessionID {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if got.Status != ledger.Completed || got.OK() != (tt.want.ExitCode == 0) {
				t.Errorf("status %s, OK %v", got.Status, got.OK())
			}
		})
	}
}

// Output that is not UTF-8 does not fail a run, and no character is cut.
func TestCase_S04(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	var deltas []string
	var result runner.Result
	req := ask(`RAW:10 \xe2\x82`, "SLEEP:0.05", `RAW:\xac\n`, `RAW:\xff\n`)
	for e, err := range runner.Stream(t.Context(), box, req, runner.Into(&result)) {
		if err != nil {
			t.Fatal(err)
		}
		deltas = append(deltas, e.Text)
	}
	if want := "10 €\n\uFFFD"; result.Text != want || strings.Join(deltas, "") != want {
		t.Errorf("text %q, deltas %q, want %q", result.Text, deltas, want)
	}
}

// Standard input is closed after the prompt, or empty from the start.
func TestCase_S05(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	for _, model := range []string{"", "argv"} {
		got, err := runner.Run(t.Context(), box, aicodebox.Request{Prompt: "SAY:ok", Model: model})
		if err != nil || got.Text != "ok" {
			t.Errorf("model %q: %q, %v", model, got.Text, err)
		}
	}
}

// Long texts go by standard input; what has to go into argv and cannot is
// refused before the start.
func TestCase_S07(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	long := strings.Repeat("p", 200_000)
	got, err := runner.Run(t.Context(), box, ask(long))
	if err != nil || got.Text != "you said 200000 bytes" {
		t.Errorf("long prompt: %q, %v", got.Text, err)
	}
	for field, req := range map[string]aicodebox.Request{
		"systemPrompt": {Prompt: "x", System: long[:150_000]},
		"prompt":       {Prompt: long, Model: "argv"},
	} {
		_, err := runner.Run(t.Context(), box, req)
		var refused *runner.RefusedError
		if !errors.As(err, &refused) || !refused.TooLarge || refused.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, boxtest.Env{"AICODEBOX_AVAILABLE_MODELS": "a,b", "AICODEBOX_AVAILABLE_EFFORTS": "low"})
	if err := os.Symlink("/etc", filepath.Join(box.Workspaces().Dir(), "out")); err != nil {
		t.Fatal(err)
	}
	tests := map[string]aicodebox.Request{
		"prompt":         {Prompt: " \n"},
		"model":          {Prompt: "x", Model: "c"},
		"thinking":       {Prompt: "x", Effort: "high"},
		"workspace":      {Prompt: "x", Workspace: "../x"},
		"workspace abs":  {Prompt: "x", Workspace: "/etc"},
		"workspace link": {Prompt: "x", Workspace: "out"},
		"workspace nul":  {Prompt: "x", Workspace: "a\x00b"},
		"timeoutSeconds": {Prompt: "x", Timeout: -1},
		"extraArgs":      {Prompt: "x", ExtraArgs: []string{"a\x00b"}},
		"jsonSchema":     {Prompt: "x", Schema: json.RawMessage(`{"type":"strng"}`)},
	}
	for name, req := range tests {
		_, err := runner.Run(t.Context(), box, req)
		var refused *runner.RefusedError
		field, _, _ := strings.Cut(name, " ")
		if !errors.As(err, &refused) || refused.Field != field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunTimeout(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	req := ask("SAY:partial", "ERR:why", "HANG")
	req.Timeout = 3 * time.Second // long enough to say something on a busy machine
	got, err := runner.Run(t.Context(), box, req)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != ledger.Failed || !got.TimedOut() || got.ExitCode != 124 || got.Text != "partial" || string(got.Stderr) != "why\n" {
		t.Errorf("got %+v, stderr %q", got, got.Stderr)
	}
}

func TestRunMissing(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	got, err := runner.Run(t.Context(), box, aicodebox.Request{Prompt: "x", Model: "missing"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != ledger.Failed || got.ExitCode != 127 || strings.Contains(got.Error, "/") {
		t.Errorf("got %+v", got)
	}
}

// One workspace has one run at a time, however it is spelt; a directory in it
// is another.
func TestRunBusy(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	dir := box.Workspaces().Dir()
	info, err := runner.Start(t.Context(), box, aicodebox.Request{Prompt: "TOUCH:ready\nHANG", Workspace: "w"})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "w", "ready"))
	for _, name := range []string{"w", "./w/", filepath.Join(dir, "w")} {
		_, err := runner.Run(t.Context(), box, aicodebox.Request{Prompt: "SAY:x", Workspace: name}, runner.Wait(0))
		if !errors.Is(err, runner.ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"w/sub", ""} {
		if _, err := runner.Run(t.Context(), box, aicodebox.Request{Prompt: "SAY:x", Workspace: name}, runner.Wait(0)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	queued := make(chan int, 1)
	done := make(chan error, 1)
	go func() {
		_, err := runner.Run(t.Context(), box, aicodebox.Request{Prompt: "SAY:x", Workspace: "w"},
			runner.OnQueued(func(place int) { queued <- place }))
		done <- err
	}()
	if place := <-queued; place != 1 {
		t.Errorf("place %d", place)
	}
	if _, err := runner.Cancel(t.Context(), box, info.ID, "test"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the run that waited: %v", err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	got := make(chan error, 1)
	id := runner.NewID()
	go func() {
		_, err := runner.Run(t.Context(), box, aicodebox.Request{Prompt: "SAY:partial\nTOUCH:ready\nHANG", Workspace: "w"}, runner.ID(id))
		got <- err
	}()
	waitFor(t, filepath.Join(box.Workspaces().Dir(), "w", "ready"))
	info, err := runner.Cancel(t.Context(), box, id, "a test wants it")
	if err != nil || info.Status != ledger.Cancelled {
		t.Errorf("cancel: %+v, %v", info, err)
	}
	var cancelled *runner.CancelledError
	if err := <-got; !errors.As(err, &cancelled) || cancelled.Reason != "a test wants it" || cancelled.Result.Text != "partial" {
		t.Errorf("run: %v", err)
	}
	again, err := runner.Cancel(t.Context(), box, id, "again")
	if err != nil || again.Status != ledger.Cancelled {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := runner.Cancel(t.Context(), box, "nope", ""); !errors.Is(err, runner.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

// A caller that leaves ends its run.
func TestRunCallerLeaves(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	id := runner.NewID()
	ctx, cancel := context.WithCancel(t.Context())
	for e, err := range runner.Stream(ctx, box, ask("SAY:one", "HANG"), runner.ID(id)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Text == "one" {
			break
		}
	}
	cancel()
	info, err := runner.Lookup(t.Context(), box, id)
	if err != nil || info.Status != ledger.Cancelled {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	info, err := runner.Start(t.Context(), box, ask(`SAY:{"type":"a","n":1}`, "SAY:done", "ERR:oops", "EXIT:3"), runner.Surface("test"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := runner.Await(t.Context(), box, info.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.ExitCode != 3 || !strings.HasSuffix(got.Text, "done") || string(got.Stderr) != "oops\n" || got.Status != ledger.Completed {
		t.Errorf("%+v", got)
	}
	var kinds []string
	for rec, err := range runner.Records(t.Context(), box, info.ID, -1) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, rec.Type)
	}
	if !slices.Equal(kinds, []string{"a", "text"}) {
		t.Errorf("records %q", kinds)
	}
}

// A finished result, and the fate of a run in flight, outlive the box.
func TestRestart(t *testing.T) {
	t.Parallel()
	env := boxtest.Env{"AICODEBOX_STATE_DIR": t.TempDir()}
	first := boxtest.New(t, env)
	info, err := runner.Start(t.Context(), first, ask("SAY:kept"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Await(t.Context(), first, info.ID); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := boxtest.New(t, env)
	for range 2 {
		got, err := runner.ResultOf(t.Context(), second, info.ID)
		if err != nil || got.Text != "kept" || got.Status != ledger.Completed {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// A state directory that cannot be written refuses background runs with a
// reason; runs that somebody waits for still work.
func TestStateUnwritable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	box := boxtest.New(t, boxtest.Env{"AICODEBOX_STATE_DIR": filepath.Join(file, "state")})
	var state *runner.StateError
	if _, err := runner.Start(t.Context(), box, ask("SAY:x")); !errors.As(err, &state) {
		t.Errorf("background: %v", err)
	}
	if got, err := runner.Run(t.Context(), box, ask("SAY:x")); err != nil || got.Text != "x" {
		t.Errorf("sync: %+v, %v", got, err)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)
	run := func(prompt string) runner.Result {
		t.Helper()
		got, err := runner.Run(t.Context(), box, aicodebox.Request{Prompt: prompt, Schema: schema, Workspace: runner.NewID()})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := run(`SEQ:{"b":1}|no json|{"a":9007199254740993}`)
	if string(got.JSON) != `{"a":9007199254740993}` || len(got.Attempts) != 3 || got.ParseError != "" || !got.OK() {
		t.Errorf("third answer: %+v", got)
	}
	got = run("@usage {\"input_tokens\":10,\"cost\":0.5}\nSEQ:{\"a\":\"forty\"}")
	if len(got.Attempts) != 4 || got.JSON != nil || got.ParseError == "" || got.Usage.Input != 40 || got.Usage.Cost != 2 {
		t.Errorf("never right: %+v", got)
	}
	got = run("SEQ:bad|!3")
	if len(got.Attempts) != 2 || got.ExitCode != 3 || got.ParseError != "" {
		t.Errorf("crash on the retry: %+v", got)
	}
	got = run("@error 429 slow down")
	if len(got.Attempts) != 1 || got.Provider == nil || got.Provider.Status != 429 {
		t.Errorf("provider error: %+v", got)
	}
}

// A request with a schema and no workspace has one of its own, which goes.
func TestEphemeral(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	got, err := runner.Run(t.Context(), box, aicodebox.Request{
		Prompt: "TOUCH:file\n@session s\nSEQ:bad|{}", Schema: json.RawMessage(`{"type":"object"}`),
	})
	if err != nil || string(got.JSON) != "{}" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := os.Stat(got.Workspace); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the workspace is still there: %v", err)
	}
	if strings.HasPrefix(got.Workspace, box.Workspaces().Dir()) {
		t.Errorf("it ran in %s", got.Workspace)
	}
}

func TestJudged(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	judge := runner.Judge{Instruction: "Say yes.", Read: func(r aicodebox.Reply) (json.RawMessage, error) {
		if r.Text != "yes" {
			return nil, errors.New("that is not a yes")
		}
		return json.RawMessage(`true`), nil
	}}
	got, err := runner.Run(t.Context(), box, ask("SEQ:no|yes"), runner.Judged(judge))
	if err != nil || string(got.JSON) != "true" || *got.Attempts[0].ParseError != "that is not a yes" {
		t.Errorf("%+v, %v", got, err)
	}
}

// The agent sees none of the box's settings.
func TestCase_S09(t *testing.T) {
	t.Setenv("AICODEBOX_API_MODE_TOKEN", "hush")
	t.Setenv("EXTRA", "1")
	box := boxtest.New(t, boxtest.Env{"AICODEBOX_API_MODE_TOKEN": "hush"})
	got, err := runner.Run(t.Context(), box, ask("ENV"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got.Text, "hush") || !strings.Contains(got.Text, "EXTRA=1") {
		t.Errorf("environment:\n%s", got.Text)
	}
	for line := range strings.SplitSeq(got.Text, "\n") {
		if strings.HasPrefix(line, "AICODEBOX_") && !strings.HasPrefix(line, "AICODEBOX_RUN=") {
			t.Errorf("the agent has %s", line)
		}
	}
}

func TestIdempotent(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	first, err := runner.Run(t.Context(), box, ask("SAY:x"), runner.Idempotent("key", "hash"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Run(t.Context(), box, ask("SAY:x"), runner.Idempotent("key", "hash")); !errors.Is(err, runner.ErrKeyUsed) {
		t.Errorf("again: %v", err)
	}
	info, err := runner.ByKey(t.Context(), box, "key")
	if err != nil || info.ID != first.ID || info.KeyHash != "hash" {
		t.Errorf("%+v, %v", info, err)
	}
}

// waitFor returns when the file is there.
func waitFor(t *testing.T, file string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s never came", filepath.Base(file))
}
