package runner

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/ledger"
)

// afterDeath is closed a moment later: children of others end when they like.
func afterDeath() <-chan time.Time { return time.After(pollGap) }

// asBox returns a command that runs the test binary as a box of its own.
func asBox(ctx context.Context, t *testing.T, role, state string, wrap ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append(wrap, exe)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), boxRole+"="+role,
		"AICODEBOX_STATE_DIR="+state, "AICODEBOX_WORKSPACE="+t.TempDir(), "AICODEBOX_MAX_WAITING=1000", "AICODEBOX_LOG_LEVEL=warn")
	cmd.Stderr = os.Stderr
	return cmd
}

// A box that is killed leaves its agent behind; the next box on the same state
// directory ends it with its children and says what became of the run.
func TestKilledBox(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	cmd := asBox(t.Context(), t, "hang", state)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, child := readHang(t, out)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, alive := readStat(child); !alive {
		t.Fatal("the agent's child did not outlive the box")
	}
	box := boxtest.New(t, boxtest.Env{"AICODEBOX_STATE_DIR": state})
	got, err := ResultOf(t.Context(), box, id)
	if err != nil || got.Status != ledger.Failed || got.Error != ledger.Interrupted {
		t.Errorf("%+v, %v", got, err)
	}
	gone(t, child)
}

// readHang reads the run's id and its agent's child from a box that hangs.
func readHang(t *testing.T, out io.Reader) (id string, child int) {
	t.Helper()
	var all strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		all.WriteString(text + "\n")
		if rest, ok := strings.CutPrefix(text, "run "); ok {
			id = rest
		}
		if id != "" && strings.Contains(all.String(), "ready") {
			return id, childOf(t, []byte(all.String()))
		}
	}
	t.Fatalf("the box said %q", all.String())
	return "", 0
}

// As process 1 of a namespace, a box reports every exit status as it was and
// leaves no zombie.
func TestProcess1(t *testing.T) {
	t.Parallel()
	cmd := asBox(t.Context(), t, "many", t.TempDir(), "unshare", "-pf", "--mount-proc")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != "wrong 0 left \n" {
		t.Errorf("the box said %q", out)
	}
}
