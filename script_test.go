package aicodebox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScript drives the program pibox (see main_test.go) as a user would. Every
// script has the directories ws and state, which the program knows of, and may
// bring a file "agent", which becomes the agent.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", e.WorkDir+":"+e.Getenv("PATH"))
			e.Setenv("PIBOX_WORKSPACE", filepath.Join(e.WorkDir, "ws"))
			e.Setenv("PIBOX_STATE_DIR", filepath.Join(e.WorkDir, "state"))
			e.Setenv("PIBOX_AVAILABLE_MODELS", "fake-1")
			e.Setenv("HOME", e.WorkDir)
			if _, err := os.Stat(filepath.Join(e.WorkDir, "agent")); err == nil {
				return os.Chmod(filepath.Join(e.WorkDir, "agent"), 0o755)
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"await": await,
			"sends": sends,
		},
	})
}

// exits runs a program and checks its exit status: exits 2 pibox box nope.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits status program [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	status := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	if status != want {
		ts.Fatalf("exit status %d, want %d", status, want)
	}
}

// await waits for files to exist; with a leading !, to be gone. With -text, it
// waits until the file has the content: await -text file content.
func await(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(20 * time.Second)
	met := func() bool {
		if args[0] == "-text" {
			data, err := os.ReadFile(ts.MkAbs(args[1]))
			return err == nil && string(data) == args[2]
		}
		for _, name := range args {
			if _, err := os.Lstat(ts.MkAbs(name)); (err == nil) == neg {
				return false
			}
		}
		return true
	}
	for !met() {
		if time.Now().After(deadline) {
			ts.Fatalf("waited in vain for %v", args)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

var signals = map[string]os.Signal{
	"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1,
}

// sends sends a signal to the program that was started last in the background
// under a name: sends TERM pibox.
func sends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || signals[args[0]] == nil {
		ts.Fatalf("usage: sends signal program")
	}
	for _, cmd := range slices.Backward(ts.BackgroundCmds()) {
		if filepath.Base(cmd.Path) == args[1] {
			ts.Check(cmd.Process.Signal(signals[args[0]]))
			return
		}
	}
	ts.Fatalf("no %s runs in the background", args[1])
}
