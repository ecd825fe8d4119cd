package atomicfile

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holds checks a file, and that it is alone in its directory.
func holds(t *testing.T, path, want string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	if string(data) != want || info.Mode() != mode {
		t.Errorf("%q with mode %v, want %q with %v", data, info.Mode(), want, mode)
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 {
		t.Errorf("beside it: %v, %v", list, err)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	must(t, Write(path, []byte("one"), 0o600))
	holds(t, path, "one", 0o600)
	must(t, Write(path, []byte("two"), 0o666))
	holds(t, path, "two", 0o666)
	must(t, Write(path, nil, 0o444))
	holds(t, path, "", 0o444)
	must(t, Write(path, []byte("over read-only"), 0o644))
	holds(t, path, "over read-only", 0o644)
}

func TestWriteThroughLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	link := filepath.Join(dir, "link")
	must(t, os.Symlink("d/f", link))
	for _, content := range []string{"new", "replaced"} {
		must(t, Write(link, []byte(content), 0o600))
		holds(t, filepath.Join(dir, "d/f"), content, 0o600)
	}
	if _, err := os.Readlink(link); err != nil {
		t.Errorf("link was replaced: %v", err)
	}
	loop := filepath.Join(dir, "loop")
	must(t, os.Symlink("loop", loop))
	if Write(loop, nil, 0o600) == nil {
		t.Error("wrote through a loop")
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if Write(filepath.Join(dir, "missing", "f"), nil, 0o600) == nil {
		t.Error("wrote into a missing directory")
	}
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	if Write(filepath.Join(dir, "d"), nil, 0o600) == nil {
		t.Error("replaced a directory")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

func TestWriteAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	whole := func(c byte) []byte { return bytes.Repeat([]byte{c}, 100_000) }
	must(t, Write(path, whole('a'), 0o600))
	var writers, readers sync.WaitGroup
	var stop atomic.Bool
	for _, c := range []byte("abc") {
		writers.Go(func() {
			for range 20 {
				if err := Write(path, whole(c), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Go(func() {
		for !stop.Load() {
			data, err := os.ReadFile(path)
			if err != nil || len(data) == 0 || !bytes.Equal(data, whole(data[0])) {
				t.Errorf("read %d bytes, %v", len(data), err)
			}
		}
	})
	writers.Wait()
	stop.Store(true)
	readers.Wait()
}
