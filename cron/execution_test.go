package cron

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// ready returns a scheduler that can run jobs, and waits for none's time.
func ready(t *testing.T, file string) *bench {
	t.Helper()
	b := newBench(t, t.TempDir(), file)
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.close(); b.work.Wait() })
	return b
}

// run runs a job of b and waits for all of it.
func (b *bench) run(name string) *record {
	b.t.Helper()
	j, ok := b.config.find(name)
	if !ok {
		b.t.Fatalf("no job %s", name)
	}
	e, err := b.lane(j).begin(j, byHand, time.Time{})
	if err != nil {
		b.t.Fatal(err)
	}
	<-e.done
	return e.record
}

// jobOf returns a file with one job.
func jobOf(instruction, more string) string {
	text, err := json.Marshal(instruction)
	if err != nil {
		panic(err)
	}
	return "jobs:\n- {name: a, schedule: '@yearly', workspace: w, instruction: " + string(text) + more + "}\n"
}

// TestOutcomes has agents that end in all kinds of ways.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, instruction, more string
		status                  string
		code                    int
		failure, text           string
		noDir                   bool
	}{
		{name: "well", instruction: "SAY:hello", status: statusCompleted, text: "hello"},
		{name: "with a crash", instruction: "SAY:part\nERR:boom\nEXIT:4", status: statusFailed, code: 4, failure: "exit code 4", text: "part"},
		{name: "over its time", instruction: "SAY:part\nHANG", more: ", timeout_seconds: 1", status: statusFailed, code: 124, failure: "timeout", text: "part"},
		{name: "without an answer", instruction: "RAW:", status: statusFailed, failure: "empty answer"},
		{name: "without an answer, as allowed", instruction: "RAW: ", more: ", allow_empty: true", status: statusCompleted},
		{name: "refused by the provider", instruction: "@error 429 slow down", status: statusFailed, failure: "429: slow down"},
		{name: "killed", instruction: "KILL:9", status: statusFailed, code: 137, failure: "exit code 137"},
		{name: "no program", instruction: "SAY:x", more: ", model: missing", status: statusFailed, code: 127, failure: "not found"},
		{name: "no workspace", instruction: "SAY:x", more: ", workspace: ../up", status: statusFailed, code: -1, failure: "workspace", noDir: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := jobOf(test.instruction, test.more)
			if strings.Contains(test.more, "workspace") {
				file = strings.Replace(file, " workspace: w,", "", 1)
			}
			b := ready(t, file)
			r := b.run("a")
			if r.status != test.status || r.exitCode != test.code || !strings.Contains(r.failure, test.failure) ||
				(test.failure == "") != (r.failure == "") || r.text != test.text || (r.dir == "") != test.noDir {
				t.Fatalf("got %s, code %d, failure %q, text %q, dir %q", r.status, r.exitCode, r.failure, r.text, r.dir)
			}
			list := lines(t, b.store.dir, "a")
			if len(list) != 1 || list[0].Status != test.status || *list[0].ExitCode != test.code || list[0].Error != r.failure {
				t.Errorf("got %+v", list)
			}
			if test.noDir {
				return
			}
			m := readMeta(t, r.dir)
			if m.Status != test.status || *m.ExitCode != test.code || m.FinishedAt == nil || m.RunID != r.runID {
				t.Errorf("got %+v", m)
			}
			if info, err := runner.Lookup(t.Context(), b.box, r.runID); err != nil || info.Surface != "cron" {
				t.Errorf("the run is not in the ledger: %+v, %v", info, err)
			}
		})
	}
}

// echoed is what the fake agent tells of how it was started.
func echoed(t testing.TB, r *record) (argv []string, prompt string) {
	t.Helper()
	var e struct {
		Argv  []string `json:"argv"`
		Stdin string   `json:"stdin"`
	}
	if err := json.Unmarshal([]byte(r.text), &e); err != nil {
		t.Fatalf("%v in %q", err, r.text)
	}
	return e.Argv, e.Stdin
}

// TestRequest looks at what the agent is given.
func TestRequest(t *testing.T) {
	t.Parallel()
	b := ready(t, jobOf("ECHO\n{job_name} in {workspace} at {system_datetime}, {x}",
		", timezone: Asia/Tokyo, model: m, effort: high, system_prompt: 'I am {job_name}', append_system_prompt: more, no_continue: true"))
	dir := filepath.Join(b.box.Workspaces().Dir(), "w")
	b.now = func() time.Time { return testNow }
	first := b.run("a")
	argv, prompt := echoed(t, first)
	if want := "ECHO\na in " + dir + " at 2026-12-01 21:00:00 JST, {x}"; prompt != want {
		t.Errorf("got the prompt %q", prompt)
	}
	want := []string{"--format", "text", "--model", "m", "--system", "I am a", "--append-system", "more", "--thinking", "high", "--no-continue"}
	if diff := cmp.Diff(want, argv); diff != "" {
		t.Error(diff)
	}
	if m := readMeta(t, first.dir); m.Instruction != prompt || *m.SystemPrompt != "I am a" || *m.Thinking != "high" || m.Workspace != dir {
		t.Errorf("got %+v", m)
	}
	argv, _ = echoed(t, b.run("a"))
	hint := argv[slices.Index(argv, "--append-system")+1]
	if !strings.HasPrefix(hint, "more\n\n") || !strings.Contains(hint, first.dir) {
		t.Errorf("the second run was told %q", hint)
	}
}

// TestRunsAlready has the job run when it is to run.
func TestRunsAlready(t *testing.T) {
	t.Parallel()
	b := ready(t, jobOf("AWAIT:go\nSAY:done", ""))
	j := b.config.jobs[0]
	e, err := b.lane(j).begin(j, byHand, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.lane(j).begin(j, byHand, time.Time{}); !errors.Is(err, errHeld) {
		t.Errorf("got %v", err)
	}
	put(t, filepath.Join(b.box.Workspaces().Dir(), "w", "go"))
	<-e.done
	if e.record.text != "done" {
		t.Errorf("got %q", e.record.text)
	}
}

func put(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// occupy makes another surface use a workspace until leave is called.
func (b *bench) occupy(name string) (leave func()) {
	b.t.Helper()
	info, err := runner.Start(context.Background(), b.box, aicodebox.Request{Prompt: "AWAIT:leave", Workspace: name})
	if err != nil {
		b.t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		put(b.t, filepath.Join(b.box.Workspaces().Dir(), name, "leave"))
		if _, err := runner.Await(context.Background(), b.box, info.ID); err != nil {
			b.t.Error(err)
		}
	})
}

// TestBusyWorkspace has a job whose workspace another surface uses: it waits
// until its next time, is recorded as skipped, and the next one waits anew.
func TestBusyWorkspace(t *testing.T) {
	t.Parallel()
	b := newBench(t, t.TempDir(), "jobs: [{name: a, schedule: '* * * * * *', workspace: w, instruction: 'SAY:done'}]")
	leave := b.occupy("w")
	defer leave()
	b.start()
	eventually(t, "a time is skipped", func() bool { return len(lines(t, b.store.dir, "a")) > 0 })
	leave()
	eventually(t, "the job runs", func() bool { return len(only(lines(t, b.store.dir, "a"), statusCompleted)) > 0 })
	b.stop()
	first := lines(t, b.store.dir, "a")[0]
	if first.Status != statusSkipped || first.Error != errNextTime.Error() || first.ExitCode != nil || first.HistoryDir != "" {
		t.Errorf("got %+v", first)
	}
	for _, line := range lines(t, b.store.dir, "a") {
		if line.SkippedTicks > 0 || line.Status == statusMissed {
			t.Errorf("got %+v", line)
		}
	}
}

// TestCancelled ends a job's run as the API would.
func TestCancelled(t *testing.T) {
	t.Parallel()
	b := ready(t, jobOf("SAY:part\nTOUCH:there\nHANG", ""))
	j := b.config.jobs[0]
	e, err := b.lane(j).begin(j, byHand, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(b.box.Workspaces().Dir(), "w", "there")
	eventually(t, "the agent works", func() bool { _, err := os.Stat(there); return err == nil })
	if _, err := runner.Cancel(t.Context(), b.box, e.record.runID, "by the test"); err != nil {
		t.Fatal(err)
	}
	<-e.done
	if r := e.record; r.status != statusCancelled || !strings.Contains(r.failure, "by the test") || readMeta(t, r.dir).Status != statusCancelled {
		t.Errorf("got %+v", r)
	}
}

// TestCancelledWhileItWaits ends a job's run that waits for its workspace.
func TestCancelledWhileItWaits(t *testing.T) {
	t.Parallel()
	b := ready(t, jobOf("SAY:x", ""))
	defer b.occupy("w")()
	j := b.config.jobs[0]
	e, err := b.lane(j).begin(j, byHand, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run waits", func() bool {
		info, err := runner.Cancel(t.Context(), b.box, e.record.runID, "by the test")
		return err == nil && info.Status == ledger.Cancelled
	})
	<-e.done
	if r := e.record; r.status != statusCancelled || r.exitCode != -1 || r.dir != "" || len(lines(t, b.store.dir, "a")) != 1 {
		t.Errorf("got %+v", r)
	}
}

// TestNotice looks at what a chat is told, and what is noted of it.
func TestNotice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, instruction, more string
		want                    string // of the text; empty for no notice
		result                  string
	}{
		{"an answer", "SAY:**all** well", ", telegram_chat_id: -5, telegram_thread_id: 42", "⏰ `a`\n\n**all** well", "**all** well"},
		{"a failure", "SAY:part\nEXIT:3", ", telegram_chat_id: -5, telegram_thread_id: 42", "⏰ `a`\n\n❌ the agent ended with exit code 3\n\npart", "part\n\n(the run failed: the agent ended with exit code 3)"},
		{"no chat", "SAY:x", "", "", ""},
		{"nothing to say", "RAW: ", ", telegram_chat_id: -5, allow_empty: true", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := ready(t, jobOf(test.instruction, test.more))
			var told []aicodebox.Notice
			b.notify = func(_ context.Context, n aicodebox.Notice) error {
				told = append(told, n)
				n.Sent(n.Chat, []int{11, 12})
				return nil
			}
			r := b.run("a")
			b.work.Wait()
			_, err := os.Stat(filepath.Join(r.dir, "telegram.json"))
			if test.want == "" {
				if len(told) != 0 || err == nil {
					t.Errorf("told %+v, %v", told, err)
				}
				return
			}
			if len(told) != 1 || err != nil {
				t.Fatalf("told %+v, %v", told, err)
			}
			n := told[0]
			n.Sent = nil
			want := aicodebox.Notice{
				Chat: -5, Thread: 42, Text: test.want, Job: "a", Instruction: r.instruction, Result: test.result, HistoryDir: r.dir,
			}
			if diff := cmp.Diff(want, n); diff != "" {
				t.Error(diff)
			}
			data, err := os.ReadFile(filepath.Join(b.store.dir, "telegram_messages.json"))
			if err != nil || strings.Count(string(data), r.dir) != 2 {
				t.Errorf("got %s, %v", data, err)
			}
		})
	}
}

// TestLongNotice cuts what no chat wants to read.
func TestLongNotice(t *testing.T) {
	t.Parallel()
	r := &record{job: job{name: "a"}, text: strings.Repeat("é", 50_000)}
	if text := r.told(); len(text) > mostNotice+200 || !strings.Contains(text, "100000 bytes") {
		t.Errorf("%d bytes: %s", len(text), text[len(text)-100:])
	}
	r = &record{failure: runner.ErrorTimeout, fired: testNow, finished: testNow.Add(90 * time.Second)}
	if text := r.told(); !strings.Contains(text, "ended after 1m30s") {
		t.Error(text)
	}
}

// TestNotifierFails goes on when nobody can be told.
func TestNotifierFails(t *testing.T) {
	t.Parallel()
	b := ready(t, jobOf("SAY:x", ", telegram_chat_id: 5"))
	r := b.run("a") // the box has nobody who can send
	if r.status != statusCompleted {
		t.Errorf("got %+v", r)
	}
}

// TestRaceOnOneJob starts a job from many sides at once.
func TestRaceOnOneJob(t *testing.T) {
	t.Parallel()
	b := ready(t, jobOf("SAY:x", ""))
	j := b.config.jobs[0]
	results := make(chan string)
	for range 8 {
		go func() {
			e, err := b.lane(j).begin(j, byHand, time.Time{})
			if err == nil {
				<-e.done
			}
			results <- fmt.Sprint(err)
		}()
	}
	began := 0
	for range 8 {
		if <-results == "<nil>" {
			began++
		}
	}
	if n := len(lines(t, b.store.dir, "a")); began == 0 || n != began {
		t.Errorf("%d began, %d lines", began, n)
	}
}
