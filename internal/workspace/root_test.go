package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tree is a root with a secret directory beside it.
type tree struct {
	*Root
	outside string
}

func newTree(t testing.TB) tree {
	t.Helper()
	base := t.TempDir()
	outside := filepath.Join(base, "outside")
	must(t, os.Mkdir(outside, 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret"), 0o600))
	r, err := Open(filepath.Join(base, "root"))
	must(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return tree{r, outside}
}

func (tr tree) link(t testing.TB, target, name string) {
	t.Helper()
	must(t, os.Symlink(target, filepath.Join(tr.Dir(), name)))
}

func (tr tree) file(t testing.TB, name, content string) {
	t.Helper()
	full := filepath.Join(tr.Dir(), name)
	must(t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(t, os.WriteFile(full, []byte(content), 0o644))
}

// untouched fails the test when anything outside the root changed.
func (tr tree) untouched(t testing.TB) {
	t.Helper()
	list, err := os.ReadDir(tr.outside)
	must(t, err)
	data, err := os.ReadFile(filepath.Join(tr.outside, "secret.txt"))
	if len(list) != 1 || err != nil || string(data) != "secret" {
		t.Fatalf("outside changed: %v, %q, %v", list, data, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refusal checks that err is a *PathError of a kind that gives away no path.
func (tr tree) refusal(t testing.TB, err, kind error) {
	t.Helper()
	var pe *PathError
	if !errors.As(err, &pe) || !errors.Is(err, kind) {
		t.Fatalf("error = %v, want a *PathError of kind %v", err, kind)
	}
	if strings.Contains(err.Error(), filepath.Dir(tr.Dir())) {
		t.Errorf("error gives away a path: %v", err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	tr.file(t, "real/file", "x")
	tr.link(t, "real", "alias")
	tr.link(t, "../root/real", "out-and-in")
	tr.link(t, "real/new", "dangling")
	tr.link(t, "../outside", "out")
	tr.link(t, tr.outside, "out-absolute")
	tr.link(t, filepath.Join(tr.Dir(), "real"), "in-absolute")
	tr.link(t, "../outside/missing", "out-dangling")
	tr.link(t, "loop", "loop")
	tr.link(t, "nowhere/../..", "sly")

	for _, tc := range []struct {
		name, want string
		kind       error
	}{
		{name: "", want: "."},
		{name: ".", want: "."},
		{name: "./", want: "."},
		{name: "a", want: "a"},
		{name: "a/b//c/", want: "a/b/c"},
		{name: "a/./b", want: "a/b"},
		{name: "..dots..", want: "..dots.."},
		{name: `back\slash`, want: `back\slash`},
		{name: "späce ☃", want: "späce ☃"},
		{name: "alias", want: "real"},
		{name: "alias/deeper", want: "real/deeper"},
		{name: "dangling", want: "real/new"},
		{name: "/etc", kind: ErrEscapes},
		{name: "..", kind: ErrEscapes},
		{name: "a/..", kind: ErrEscapes},
		{name: "a/../../outside", kind: ErrEscapes},
		{name: "out", kind: ErrEscapes},
		{name: "out/new", kind: ErrEscapes},
		{name: "out-absolute", kind: ErrEscapes},
		{name: "in-absolute", kind: ErrEscapes},
		{name: "out-dangling", kind: ErrEscapes},
		{name: "out-and-in", kind: ErrEscapes},
		{name: "sly", kind: fs.ErrNotExist},
		{name: "loop", kind: ErrInvalid},
		{name: "a\x00b", kind: ErrInvalid},
		{name: "a\nb", kind: ErrInvalid},
		{name: "a\xffb", kind: ErrInvalid},
		{name: strings.Repeat("n", 256), kind: ErrInvalid},
		{name: strings.Repeat("n/", 2048), kind: ErrInvalid},
		{name: "real/file", kind: ErrNotDir},
		{name: "real/file/x", kind: ErrNotDir},
	} {
		got, err := tr.Resolve(tc.name)
		if tc.kind != nil {
			tr.refusal(t, err, tc.kind)
			continue
		}
		if want := filepath.Join(tr.Dir(), tc.want); err != nil || got != want {
			t.Errorf("Resolve(%q) = %q, %v, want %q", tc.name, got, err, want)
		}
		if info, err := os.Lstat(got); err != nil || !info.IsDir() {
			t.Errorf("Resolve(%q) left no directory: %v", tc.name, err)
		}
	}
	tr.untouched(t)
}

func TestOpenFollowsTheRootItself(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Symlink("real", filepath.Join(base, "link")))
	must(t, os.Mkdir(filepath.Join(base, "real"), 0o755))
	r, err := Open(filepath.Join(base, "link"))
	must(t, err)
	defer func() { _ = r.Close() }()
	if got, err := r.Resolve("w"); err != nil || got != filepath.Join(base, "real", "w") {
		t.Errorf("Resolve = %q, %v", got, err)
	}
}

func TestErrorsEscapeNames(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	_, err := tr.Resolve("a\n\x1b[31mb")
	tr.refusal(t, err, ErrInvalid)
	if got := err.Error(); !strings.Contains(got, `"a\n\x1b[31mb"`) {
		t.Errorf("error = %s", got)
	}
	if _, err = tr.Resolve(strings.Repeat("x", 9000)); len(err.Error()) > 300 {
		t.Errorf("error repeats %d bytes", len(err.Error()))
	}
}

func TestResolveAtOnce(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := tr.Resolve("a/b/c/d"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{
		"", ".", "..", "/", "a/../..", "in/x", "out/x", "abs", "up/outside", "a\x00", "out/../in",
		"in/../../outside", "//", "./..", "up/root/in", "in/secret.txt", "....//", "in/./out", "dang/x",
	} {
		f.Add(s)
	}
	tr := newTree(f)
	must(f, os.Mkdir(filepath.Join(tr.Dir(), "real"), 0o755))
	tr.link(f, "real", "in")
	tr.link(f, "../outside", "out")
	tr.link(f, tr.outside, "abs")
	tr.link(f, "..", "up")
	tr.link(f, "../outside/missing", "dang")
	f.Fuzz(func(t *testing.T, name string) {
		if got, err := tr.Resolve(name); err == nil {
			real, err := filepath.EvalSymlinks(got)
			if err != nil || real != got || (got != tr.Dir() && !strings.HasPrefix(got, tr.Dir()+"/")) {
				t.Errorf("Resolve(%q) = %q, really %q, %v", name, got, real, err)
			}
		}
		if f, _, err := tr.OpenFile(name); err == nil {
			t.Errorf("OpenFile(%q) opened %s", name, f.Name())
		}
		if size, _, err := tr.Put(name, strings.NewReader("x"), 1); err == nil {
			if size != 1 {
				t.Errorf("Put(%q) wrote %d bytes", name, size)
			}
			must(t, tr.Remove(name))
		}
		_, _ = tr.List(name)
		tr.untouched(t)
	})
}
