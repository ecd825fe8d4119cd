package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/fakeagent"
)

// holdLimit is far above the time that a run may wait for a held output, and
// far below the time that the output is held.
const holdLimit = 15 * time.Second

// fake returns a command that runs the fake agent with this prompt.
func fake(t testing.TB, prompt ...string) command {
	t.Helper()
	r, err := takeReaper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.release)
	mark := markerName + "=test." + NewID()
	return command{
		argv: []string{fakeagent.Command()}, dir: t.TempDir(), mark: mark,
		env:   append(os.Environ(), fakeagent.Env(), mark),
		stdin: strings.Join(prompt, "\n"), keep: true, reaper: r,
		line: func([]byte) bool { return false },
	}
}

// childOf reads the pid that the fake agent told of its child.
func childOf(t *testing.T, stdout []byte) int {
	t.Helper()
	for line := range strings.SplitSeq(string(stdout), "\n") {
		if rest, ok := strings.CutPrefix(line, "child "); ok {
			pid, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no child in %q", stdout)
	return 0
}

// gone waits until there is no process pid, not even a dead one.
func gone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Second)
	for {
		s, ok := readStat(pid)
		if !ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there, state %c", pid, s.state)
		}
		time.Sleep(pollGap)
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		prompt         []string
		code           int
		stdout, stderr string
	}{
		{"text", []string{"SAY:hello"}, 0, "hello\n", ""},
		{"both outputs", []string{"SAY:out", "ERR:err", "EXIT:7"}, 7, "out\n", "err\n"},
		{"signal", []string{"RAW:part", "KILL:9"}, 137, "part", ""},
		{"silence", []string{"EXIT:0"}, 0, "", ""},
		{"CR stays", []string{`SAY:a\r\nb\rc`}, 0, "a\r\nb\rc\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := fake(t, tt.prompt...).run(t.Context())
			if e.code != tt.code || string(e.stdout) != tt.stdout || string(e.stderr) != tt.stderr {
				t.Errorf("exit %d, stdout %q, stderr %q", e.code, e.stdout, e.stderr)
			}
		})
	}
}

func TestProcessMissing(t *testing.T) {
	t.Parallel()
	c := fake(t, "SAY:x")
	c.argv[0] = "/nonexistent/agent"
	if e := c.run(t.Context()); e.code != exitMissing || e.startErr == nil {
		t.Errorf("exit %d, error %v; want 127 and an error", e.code, e.startErr)
	}
}

func TestProcessLimit(t *testing.T) {
	t.Parallel()
	c := fake(t, "SAY:part", "HANG")
	c.limit = 3 * time.Second // long enough to say something on a busy machine
	e := c.run(t.Context())
	if !e.timedOut || e.code != exitTimeout || string(e.stdout) != "part\n" {
		t.Errorf("timed out %v, exit %d, stdout %q", e.timedOut, e.code, e.stdout)
	}
}

// A cancelled agent and its child in another session are gone at the return.
func TestProcessCancel(t *testing.T) {
	t.Parallel()
	for _, prompt := range [][]string{
		{"SETSID:300", "TOUCH:ready", "HANG"},
		{"BG:300", "FORK:300", "TOUCH:ready", "HANG"},
	} {
		c := fake(t, prompt...)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			await(t, filepath.Join(c.dir, "ready"))
			cancel()
		}()
		began := time.Now()
		e := c.run(ctx)
		if !e.cancelled || time.Since(began) > holdLimit {
			t.Errorf("cancelled %v after %v", e.cancelled, time.Since(began))
		}
		gone(t, childOf(t, e.stdout))
	}
}

// await returns when the file is there.
func await(t *testing.T, file string) {
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(pollGap)
	}
	t.Errorf("%s never came", filepath.Base(file))
}

// A child in the agent's group that holds standard output is ended, the
// answer is there within the drain, and the status is the agent's own.
func TestCase_S02(t *testing.T) {
	t.Parallel()
	began := time.Now()
	e := fake(t, "FORK:300", "SAY:done").run(t.Context())
	if took := time.Since(began); took > holdLimit {
		t.Errorf("took %v", took)
	}
	if e.code != 0 || !strings.HasSuffix(string(e.stdout), "done\n") || e.leftovers != 1 {
		t.Errorf("exit %d, stdout %q, %d left", e.code, e.stdout, e.leftovers)
	}
	gone(t, childOf(t, e.stdout))
}

// A child in a session of its own lives on when that is allowed, is named, and
// is no zombie once it has ended; otherwise it ends with the run.
func TestProcessBackground(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{true, false} {
		c := fake(t, "SETSID:30", "SAY:done")
		c.keep = keep
		began := time.Now()
		e := c.run(t.Context())
		if took := time.Since(began); took > holdLimit {
			t.Errorf("keep %v: took %v", keep, took)
		}
		pid := childOf(t, e.stdout)
		if _, alive := readStat(pid); alive != keep {
			t.Errorf("keep %v: alive %v", keep, alive)
		}
		if keep {
			if len(e.background) != 1 || e.background[0].PID != pid {
				t.Errorf("background %v, want %d", e.background, pid)
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		gone(t, pid)
	}
}

// An agent that says its answer is complete and stays is ended after a grace,
// and counts as having ended well.
func TestProcessLingers(t *testing.T) {
	t.Parallel()
	c := fake(t, "SAY:answer", "@done", "HANG")
	c.line = func(l []byte) bool { return string(l) == "@done" }
	began := time.Now()
	e := c.run(t.Context())
	if took := time.Since(began); took < doneGrace || took > doneGrace+holdLimit {
		t.Errorf("took %v", took)
	}
	if !e.lingered || e.code != 0 {
		t.Errorf("lingered %v, exit %d", e.lingered, e.code)
	}
}

// An agent that ignores TERM is killed when the grace is over.
func TestProcessIgnoresTerm(t *testing.T) {
	t.Parallel()
	c := fake(t, "IGNTERM", "SAY:x", "HANG")
	ctx, cancel := context.WithCancel(t.Context())
	c.line = func([]byte) bool { cancel(); return false }
	began := time.Now()
	e := c.run(ctx)
	if took := time.Since(began); took < killGrace || took > killGrace+holdLimit {
		t.Errorf("took %v", took)
	}
	if e.code != exitSignal+9 {
		t.Errorf("exit %d", e.code)
	}
}

// Standard input is fed while output is read, and an agent that does not read
// it is no error.
func TestProcessInput(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 4<<20)
	if e := fake(t, "BYTES:1000000", big).run(t.Context()); e.code != 0 || len(e.stdout) != 1000001 {
		t.Errorf("exit %d, %d bytes", e.code, len(e.stdout))
	}
	c := fake(t, big)
	c.argv = append(c.argv, "NOREAD")
	if e := c.run(t.Context()); e.code != 0 || string(e.stdout) != "you said 0 bytes\n" {
		t.Errorf("exit %d, stdout %q", e.code, e.stdout)
	}
}

// shell returns a command that runs a script: an agent that costs little.
func shell(t testing.TB, script string) command {
	c := fake(t, "x")
	c.argv = []string{"/bin/sh", "-c", script}
	return c
}

// 200 agents that leave children behind: every status is the true one, and no
// zombie stays.
func TestCase_S01(t *testing.T) {
	t.Parallel()
	const runs = 200
	var wait sync.WaitGroup
	slots := make(chan struct{}, 8)
	pids := make([]int, runs)
	for i := range runs {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			code := i % 100
			e := shell(t, fmt.Sprintf("setsid sh -c 'sleep 0.1 & wait' </dev/null >/dev/null 2>&1 & echo child $!; exit %d", code)).run(t.Context())
			if e.code != code {
				t.Errorf("run %d: exit %d, want %d", i, e.code, code)
			}
			pids[i] = childOf(t, e.stdout)
		})
	}
	wait.Wait()
	for _, pid := range pids {
		gone(t, pid)
	}
}

// 200 agents that leave a child of another session holding their output: each
// answer is there long before the child ends.
func TestHeldOutput(t *testing.T) {
	t.Parallel()
	var wait sync.WaitGroup
	slots := make(chan struct{}, 32)
	for range 200 {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			c := shell(t, "setsid sleep 300 & echo child $!; echo done")
			c.keep = false
			began := time.Now()
			e := c.run(t.Context())
			if took := time.Since(began); took > holdLimit || !strings.HasSuffix(string(e.stdout), "done\n") {
				t.Errorf("took %v, stdout %q", took, e.stdout)
			}
			gone(t, childOf(t, e.stdout))
		})
	}
	wait.Wait()
}

// A panic of whoever is told of the output leaves no process behind.
func TestProcessPanic(t *testing.T) {
	t.Parallel()
	c := fake(t, "BG:300", "HANG")
	var told string
	c.line = func(l []byte) bool { told = string(l); panic("on purpose") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		c.run(t.Context())
	}()
	gone(t, childOf(t, []byte(told)))
}
