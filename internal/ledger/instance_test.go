package ledger

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("LEDGER_TEST_HOLD"); dir != "" {
		holdUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// holdUntilKilled is another box on the same state directory. It has a child
// that outlives it, as an agent may.
func holdUntilKilled(dir string) {
	if _, err := Lock(dir, "other"); err != nil {
		panic(err)
	}
	child := exec.Command("sleep", "5")
	if err := child.Start(); err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString("held\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
	_ = child.Process.Kill()
	os.Exit(0)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	if Alive(dir, "a") || Free(dir) != nil {
		t.Error("something lives in a missing directory")
	}
	a, err := Lock(dir, "a")
	must(t, err)
	if !Alive(dir, "a") || len(Free(dir)) != 0 {
		t.Errorf("alive %v, free %v", Alive(dir, "a"), Free(dir))
	}
	if _, err := Lock(dir, "a"); !errors.Is(err, ErrHeld) {
		t.Errorf("second lock: %v", err)
	}
	must(t, a.Close())
	must(t, a.Close())
	if Alive(dir, "a") || len(Free(dir)) != 0 {
		t.Error("the lock outlived its release")
	}
	if list, err := os.ReadDir(filepath.Join(dir, instances)); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

func TestLockRefusesPaths(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", ".", "..", "a/b", "../a", ".hidden", "a\x00"} {
		if _, err := Lock(t.TempDir(), id); err == nil {
			t.Errorf("locked %q", id)
		}
	}
}

func TestKilledBox(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	box := exec.CommandContext(t.Context(), os.Args[0])
	box.Env = append(os.Environ(), "LEDGER_TEST_HOLD="+dir)
	_, err := box.StdinPipe()
	must(t, err)
	out, err := box.StdoutPipe()
	must(t, err)
	must(t, box.Start())
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the other box said nothing")
	}
	if !Alive(dir, "other") || len(Free(dir)) != 0 {
		t.Error("the other box counts as dead")
	}
	must(t, box.Process.Kill())
	_, _ = box.Process.Wait()
	if Alive(dir, "other") || !slices.Equal(Free(dir), []string{"other"}) {
		t.Errorf("the killed box counts as alive; free: %v", Free(dir))
	}
	l, err := Lock(dir, "other")
	must(t, err)
	must(t, l.Close())
	if len(Free(dir)) != 0 {
		t.Error("the stale file stayed")
	}
}

// Two cleaners never hold one lock, whoever removes the file meanwhile.
func TestLockAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var holders atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 30 {
				Alive(dir, "x")
				l, err := Lock(dir, "x")
				if errors.Is(err, ErrHeld) {
					continue
				}
				if err != nil || holders.Add(1) != 1 {
					t.Errorf("lock: %v, %d holders", err, holders.Load())
				}
				holders.Add(-1)
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
