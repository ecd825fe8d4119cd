package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// content reads a file, and checks that no temporary file is beside it.
func (tr tree) content(t testing.TB, name string) string {
	t.Helper()
	full := filepath.Join(tr.Dir(), name)
	list, err := os.ReadDir(filepath.Dir(full))
	must(t, err)
	for _, e := range list {
		if isTemp(e.Name()) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
	data, err := os.ReadFile(full)
	must(t, err)
	return string(data)
}

func TestPut(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "d/old.sh", "old")
	must(t, os.Chmod(filepath.Join(tr.Dir(), "d/old.sh"), 0o750))
	tr.link(t, "d", "alias")
	tr.link(t, "d/old.sh", "through")
	tr.link(t, "d/sub/new", "dangling")
	for _, tc := range []struct {
		name, at string
		created  bool
	}{
		{"new/er/f.txt", "new/er/f.txt", true},
		{"d/old.sh", "d/old.sh", false},
		{"through", "d/old.sh", false},
		{"alias/f", "d/f", true},
		{"dangling", "d/sub/new", true},
	} {
		size, created, err := tr.Put(tc.name, strings.NewReader(tc.name), 100)
		if err != nil || size != int64(len(tc.name)) || created != tc.created {
			t.Errorf("Put(%q) = %d, %v, %v", tc.name, size, created, err)
		}
		if got := tr.content(t, tc.at); got != tc.name {
			t.Errorf("%s holds %q", tc.at, got)
		}
	}
	info, err := tr.Lstat("d/old.sh")
	if err != nil || info.Mode() != 0o750 {
		t.Errorf("mode = %v, %v", info, err)
	}
	if info, err := tr.Lstat("through"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
}

func TestPutRefuses(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "d/f", "x")
	must(t, syscall.Mkfifo(filepath.Join(tr.Dir(), "pipe"), 0o600))
	must(t, syscall.Mkfifo(filepath.Join(tr.Dir(), "d/pipe"), 0o600))
	for name, kind := range map[string]error{
		"": ErrIsDir, ".": ErrIsDir, "d": ErrIsDir, "d/new/": ErrIsDir, "d/f/x": ErrNotDir,
		"pipe": ErrNotRegular, "d/pipe/x": ErrNotDir, "..": ErrEscapes,
	} {
		_, created, err := tr.Put(name, strings.NewReader("new"), 0)
		tr.refusal(t, err, kind)
		if created {
			t.Errorf("Put(%q) says it made something", name)
		}
	}
	if got := tr.content(t, "d/f"); got != "x" {
		t.Errorf("f holds %q", got)
	}
}

// endless gives bytes until stop, then err; it counts what was taken.
type endless struct {
	stop  int64
	err   error
	taken int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.taken >= e.stop {
		return 0, e.err
	}
	n := min(int64(len(p)), e.stop-e.taken)
	e.taken += n
	return int(n), nil
}

func TestCase_F04(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "f", "old")
	const limit = 4 << 20

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	in := &endless{stop: 300 << 20, err: io.EOF}
	_, _, err := tr.Put("f", in, limit)
	runtime.ReadMemStats(&after)
	tr.refusal(t, err, ErrTooLarge)
	if in.taken > limit+1 {
		t.Errorf("%d bytes were taken beyond the limit", in.taken-limit)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > limit {
		t.Errorf("%d bytes of memory for an upload", grown)
	}

	gone := errors.New("client went away")
	if _, _, err = tr.Put("f", &endless{stop: limit / 2, err: gone}, limit); !errors.Is(err, gone) {
		t.Errorf("error = %v", err)
	}
	if _, _, err = tr.Put("f", &endless{stop: limit, err: gone}, limit); !errors.Is(err, gone) {
		t.Errorf("error = %v", err)
	}
	if got := tr.content(t, "f"); got != "old" {
		t.Errorf("f holds %d bytes", len(got))
	}
	if size, _, err := tr.Put("f", &endless{stop: limit, err: io.EOF}, limit); err != nil || size != limit {
		t.Errorf("Put at the limit = %d, %v", size, err)
	}
}

// Readers and listings see whole files only, whoever writes.
func TestCase_F04_AtOnce(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	const size = 200_000
	versions := []string{strings.Repeat("a", size), strings.Repeat("b", size)}
	tr.file(t, "f", versions[0])
	var writers, readers sync.WaitGroup
	var stop atomic.Bool
	for _, v := range versions {
		writers.Go(func() {
			for range 8 {
				if _, created, err := tr.Put("f", strings.NewReader(v), size); err != nil || created {
					t.Errorf("Put = %v, %v", created, err)
				}
			}
		})
	}
	readers.Go(func() {
		for !stop.Load() {
			tr.whole(t, versions)
		}
	})
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	tr.content(t, "f")
}

func (tr tree) whole(t *testing.T, versions []string) {
	f, _, err := tr.OpenFile("f")
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil || string(data) != versions[0] && string(data) != versions[1] {
		t.Errorf("read half a file of %d bytes, %v", len(data), err)
	}
	if list, err := tr.List(""); err != nil || len(list) != 1 {
		t.Errorf("List = %v, %v", list, err)
	}
}

// A reader may end the goroutine by a panic, as an HTTP server's does.
func TestPutPanic(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "f", "old")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("panic was swallowed")
			}
		}()
		_, _, _ = tr.Put("f", panicking{}, 0)
	}()
	if got := tr.content(t, "f"); got != "old" {
		t.Errorf("f holds %q", got)
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("aborted") }
