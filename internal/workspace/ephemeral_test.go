package workspace

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if base := os.Getenv("WORKSPACE_TEST_HOLD"); base != "" {
		hold(base)
	}
	os.Exit(m.Run())
}

// hold is a second box: it holds an ephemeral directory until it is killed.
func hold(base string) {
	e, err := NewEphemeral(base)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(e.Dir() + "\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return info.Mode()
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

func TestEphemeral(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "aicodebox")
	e, err := NewEphemeral(base)
	must(t, err)
	if got := mode(t, e.Dir()); got != fs.ModeDir|0o700 {
		t.Errorf("mode = %v", got)
	}
	if filepath.Dir(e.Dir()) != base || !uuidForm.MatchString(filepath.Base(e.Dir())) {
		t.Errorf("Dir = %s", e.Dir())
	}
	locked := filepath.Join(e.Dir(), "mod", "cache")
	must(t, os.MkdirAll(locked, 0o755))
	must(t, os.WriteFile(filepath.Join(locked, "f"), nil, 0o400))
	must(t, os.Chmod(locked, 0o500))
	if n, err := SweepEphemeral(base, 0, nil); n != 0 || err != nil {
		t.Errorf("swept %d in use, %v", n, err)
	}
	must(t, e.Remove())
	if !gone(e.Dir()) {
		t.Error("directory stayed")
	}
}

func TestSweepEphemeral(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "aicodebox")
	must(t, os.MkdirAll(filepath.Join(base, "not-ours"), 0o755))
	left := func() string {
		dir := filepath.Join(base, newUUID())
		must(t, os.MkdirAll(filepath.Join(dir, "d"), 0o700))
		return dir
	}
	old, used, young := left(), left(), left()
	hourAgo := time.Now().Add(-time.Hour)
	for _, dir := range []string{old, used} {
		must(t, os.Chtimes(dir, hourAgo, hourAgo))
	}
	n, err := SweepEphemeral(base, time.Minute, func(dir string) bool { return dir == used })
	if n != 1 || err != nil || !gone(old) || gone(used) || gone(young) || gone(filepath.Join(base, "not-ours")) {
		t.Errorf("swept %d, %v", n, err)
	}
	if got := mode(t, base); got.Perm() != 0o700 {
		t.Errorf("base has mode %v", got)
	}
}

// What another box holds is not swept, and is once it was killed.
func TestSweepEphemeralOfAnotherBox(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "aicodebox")
	box := exec.CommandContext(t.Context(), os.Args[0])
	box.Env = append(os.Environ(), "WORKSPACE_TEST_HOLD="+base)
	_, err := box.StdinPipe()
	must(t, err)
	out, err := box.StdoutPipe()
	must(t, err)
	must(t, box.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the other box said nothing")
	}
	dir := lines.Text()
	if n, err := SweepEphemeral(base, 0, nil); n != 0 || err != nil || gone(dir) {
		t.Errorf("swept %d of another box, %v", n, err)
	}
	must(t, box.Process.Kill())
	_ = box.Wait()
	if n, err := SweepEphemeral(base, 0, nil); n != 1 || err != nil || !gone(dir) {
		t.Errorf("swept %d after the kill, %v", n, err)
	}
}

func TestEphemeralBaseOfAnother(t *testing.T) {
	t.Parallel()
	suffix := "-" + strconv.Itoa(os.Geteuid())
	spoil := map[string]func(base string) error{
		"link":  func(base string) error { return os.Symlink(t.TempDir(), base) },
		"file":  func(base string) error { return os.WriteFile(base, nil, 0o600) },
		"owner": func(base string) error { return foreign(base) },
	}
	for name, f := range spoil {
		base := filepath.Join(t.TempDir(), "aicodebox")
		if err := f(base); err != nil {
			t.Logf("%s: cannot be set up: %v", name, err)
			continue
		}
		e, err := NewEphemeral(base)
		must(t, err)
		if filepath.Dir(e.Dir()) != base+suffix {
			t.Errorf("%s: made %s", name, e.Dir())
		}
		must(t, e.Remove())
	}
}

// foreign makes a directory of another user, which takes a privileged one.
func foreign(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	return os.Chown(dir, 12345, -1)
}

// A sweeper at full speed never takes a directory away from its maker.
func TestEphemeralAgainstSweeper(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "aicodebox")
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			if _, err := SweepEphemeral(base, 0, nil); err != nil {
				t.Error(err)
			}
		}
	})
	for range 40 {
		e, err := NewEphemeral(base)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(e.Dir(), "f"), nil, 0o600))
		must(t, e.Remove())
	}
	stop.Store(true)
	wg.Wait()
}
