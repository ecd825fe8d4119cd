package workspace

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// refuse runs every file operation on name and expects one kind of refusal.
func (tr tree) refuse(t *testing.T, name string, kind error) {
	t.Helper()
	_, _, err := tr.OpenFile(name)
	tr.refusal(t, err, kind)
	_, _, err = tr.Put(name, strings.NewReader("new"), 0)
	tr.refusal(t, err, kind)
	tr.refusal(t, tr.Remove(name), kind)
	_, err = tr.List(name)
	tr.refusal(t, err, kind)
}

func TestCase_F01(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.link(t, "../outside", "out")
	tr.link(t, tr.outside, "abs")
	tr.link(t, "../outside/new.txt", "new.txt")
	tr.link(t, filepath.Join(tr.outside, "new.txt"), "new-abs.txt")
	for _, name := range []string{"out/secret.txt", "out/new/er.txt", "abs/secret.txt", "abs/../x", "../outside/secret.txt", "/etc/passwd"} {
		tr.refuse(t, name, ErrEscapes)
	}
	for _, name := range []string{"out", "abs"} {
		_, err := tr.List(name)
		tr.refusal(t, err, ErrEscapes)
	}
	for _, name := range []string{"new.txt", "new-abs.txt"} {
		_, _, err := tr.Put(name, strings.NewReader("x"), 0)
		tr.refusal(t, err, ErrEscapes)
	}
	for _, name := range []string{"out", "abs", "new.txt", "new-abs.txt"} {
		must(t, tr.Remove(name))
		if _, err := os.Lstat(filepath.Join(tr.Dir(), name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("link %s stayed: %v", name, err)
		}
	}
	tr.untouched(t)
}

// A directory turns into a link that leads out, and back, while it is used.
func TestCase_F01_Swapped(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "d/secret.txt", "public")
	tr.link(t, "../outside", "evil")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { tr.swap(stop) })
	for range 60 {
		if f, _, err := tr.OpenFile("d/secret.txt"); err == nil {
			data, _ := io.ReadAll(f)
			_ = f.Close()
			if string(data) == "secret" {
				t.Error("read outside the root")
			}
		}
		_, _, _ = tr.Put("d/put.txt", strings.NewReader("x"), 0)
		_, _ = tr.Resolve("d/made")
		_, _ = tr.List("d")
		_ = tr.Remove("d/secret.txt")
	}
	close(stop)
	wg.Wait()
	tr.untouched(t)
}

func (tr tree) swap(stop <-chan struct{}) {
	at := func(name string) string { return filepath.Join(tr.Dir(), name) }
	for {
		select {
		case <-stop:
			return
		default:
		}
		_ = os.Rename(at("d"), at("kept"))
		_ = os.Rename(at("evil"), at("d"))
		_ = os.Rename(at("d"), at("evil"))
		_ = os.Rename(at("kept"), at("d"))
	}
}

func TestCase_F03(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	for _, name := range []string{"a\x00.txt", strings.Repeat("n", 256), "d/" + strings.Repeat("n", 256)} {
		tr.refuse(t, name, ErrInvalid)
	}
	for _, name := range []string{"up\nload.txt", "a\x1bb", "a\x7f"} {
		_, _, err := tr.Put(name, strings.NewReader("x"), 0)
		tr.refusal(t, err, ErrInvalid)
		if strings.ContainsAny(err.Error(), "\n\x1b\x7f") {
			t.Errorf("name is not escaped: %q", err)
		}
	}
}

// What an agent made is served whatever its name.
func TestOddNamesAreServed(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	for _, name := range []string{"new\nline", "not\xffutf8", "con\x1btrol"} {
		tr.file(t, name, "x")
		f, _, err := tr.OpenFile(name)
		must(t, err)
		must(t, f.Close())
		must(t, tr.Remove(name))
	}
}

func TestOpenFile(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "d/f.txt", "content")
	tr.link(t, "d", "alias")
	tr.link(t, "alias/f.txt", "f")
	must(t, syscall.Mkfifo(filepath.Join(tr.Dir(), "pipe"), 0o600))
	socket, err := net.Listen("unix", filepath.Join(tr.Dir(), "sock"))
	must(t, err)
	defer func() { _ = socket.Close() }()

	for _, name := range []string{"d/f.txt", "alias/f.txt", "f", "./d//f.txt"} {
		f, info, err := tr.OpenFile(name)
		must(t, err)
		data, err := io.ReadAll(f)
		if string(data) != "content" || err != nil || info.Size() != 7 {
			t.Errorf("OpenFile(%q) = %q, %d bytes, %v", name, data, info.Size(), err)
		}
		must(t, f.Close())
	}
	for name, kind := range map[string]error{
		"d": ErrIsDir, "": ErrIsDir, "alias": ErrIsDir, "pipe": ErrNotRegular, "sock": ErrNotRegular,
		"missing": fs.ErrNotExist, "d/f.txt/": ErrNotDir, "d/f.txt/x": ErrNotDir,
	} {
		_, _, err := tr.OpenFile(name)
		tr.refusal(t, err, kind)
	}
}

func TestStat(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "f.txt", "content")
	tr.link(t, "f.txt", "alias")
	tr.link(t, "../outside", "out")
	if info, err := tr.Stat("alias"); err != nil || info.Size() != 7 {
		t.Errorf("Stat = %v, %v", info, err)
	}
	if info, err := tr.Lstat("out"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat = %v, %v", info, err)
	}
	_, err := tr.Stat("out")
	tr.refusal(t, err, ErrEscapes)
	_, err = tr.Stat("f.txt/")
	tr.refusal(t, err, ErrNotDir)
}

func TestList(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "b.txt", "12345")
	tr.file(t, "dir/inner", "")
	tr.file(t, tempPrefix+"half", "")
	tr.link(t, "../outside", "out")
	tr.link(t, "dir", "alias")
	must(t, syscall.Mkfifo(filepath.Join(tr.Dir(), "pipe"), 0o600))

	got, err := tr.List("")
	must(t, err)
	for i := range got {
		if time.Since(got[i].Modified).Abs() > time.Hour {
			t.Errorf("%s modified %v", got[i].Name, got[i].Modified)
		}
		got[i].Modified = time.Time{}
	}
	want := []Entry{
		{Name: "alias", Type: Symlink},
		{Name: "b.txt", Type: File, Size: 5},
		{Name: "dir", Type: Dir},
		{Name: "out", Type: Symlink},
		{Name: "pipe", Type: Other},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := tr.List("alias"); err != nil || len(got) != 1 || got[0].Name != "inner" {
		t.Errorf("List(alias) = %v, %v", got, err)
	}
	must(t, tr.MkdirAll("empty"))
	if got, err := tr.List("empty/"); err != nil || got == nil || len(got) != 0 {
		t.Errorf("List(empty) = %v, %v", got, err)
	}
	for name, kind := range map[string]error{"b.txt": ErrNotDir, "missing": fs.ErrNotExist, "pipe": ErrNotDir} {
		_, err := tr.List(name)
		tr.refusal(t, err, kind)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "d/f.txt", "x")
	tr.link(t, "d", "alias")
	for name, kind := range map[string]error{
		"": ErrIsDir, ".": ErrIsDir, "d": ErrIsDir, "d/": ErrIsDir, "missing": fs.ErrNotExist, "d/f.txt/": ErrNotDir,
	} {
		tr.refusal(t, tr.Remove(name), kind)
	}
	must(t, tr.Remove("alias"))
	must(t, tr.Remove("d/f.txt"))
	if got, err := tr.List("d"); err != nil || len(got) != 0 {
		t.Errorf("List = %v, %v", got, err)
	}
}
