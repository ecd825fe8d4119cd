package api

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func (s *server) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) put(name, content string, header ...string) answered {
	s.t.Helper()
	return s.do(http.MethodPut, "/files/"+name, strings.NewReader(content), header...)
}

func TestFilesList(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.write("d/a.txt", "hello\n")
	s.write("top.json", "{}")
	s.write(".hidden", "")
	for link, target := range map[string]string{"link": "top.json", "dangling": "nowhere", "out": "/etc"} {
		if err := os.Symlink(target, filepath.Join(s.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(s.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	type line struct{ name, kind, size string }
	list := func(path string) (string, []line) {
		o := s.get(path).want(200).object()
		var lines []line
		for _, e := range o["entries"].([]any) {
			e := e.(object)
			if _, err := time.Parse(time.RFC3339Nano, e["modified"].(string)); err != nil {
				t.Errorf("modified: %v", err)
			}
			lines = append(lines, line{e["name"].(string), e["type"].(string), fmt.Sprint(e["size"])})
		}
		return o["path"].(string), lines
	}
	want := []line{
		{".hidden", "file", "0"},
		{"d", "dir", "0"},
		{"dangling", "symlink", "0"},
		{"link", "symlink", "0"},
		{"out", "symlink", "0"},
		{"pipe", "other", "0"},
		{"top.json", "file", "2"},
	}
	opt := cmp.AllowUnexported(line{})
	for _, path := range []string{"/files", "/files/"} {
		name, got := list(path)
		if diff := cmp.Diff(want, got, opt); diff != "" || name != "/" {
			t.Errorf("%s: path %q: %s", path, name, diff)
		}
	}
	for _, path := range []string{"/files/d", "/files/d/"} {
		name, got := list(path)
		if diff := cmp.Diff([]line{{"a.txt", "file", "6"}}, got, opt); diff != "" || name != "d" {
			t.Errorf("%s: path %q: %s", path, name, diff)
		}
	}
	if a := s.do(http.MethodHead, "/files", nil).want(200); len(a.body) != 0 {
		t.Errorf("HEAD has a body: %s", a.body)
	}
}

func TestFilesGet(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.write("d/a.txt", "hello\n")
	s.write("sp ace é.md", "u")
	s.write("page.html", "<script>alert(1)</script>")
	s.write("empty", "")
	s.write("noext", "\x89PNG\r\n\x1a\n0000")
	a := s.get("/files/d/a.txt").want(200)
	tag := a.header.Get("ETag")
	if string(a.body) != "hello\n" || tag == "" || a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("body %q, header %v", a.body, a.header)
	}
	for path, kind := range map[string]string{
		"d/a.txt": "text/plain; charset=utf-8", "sp%20ace%20%C3%A9.md": "text/markdown; charset=utf-8",
		"page.html": "text/html; charset=utf-8", "empty": "application/octet-stream", "noext": "image/png",
	} {
		a := s.get("/files/" + path).want(200)
		if got := a.header.Get("Content-Type"); got != kind {
			t.Errorf("%s: content type %q, want %q", path, got, kind)
		}
		if !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: a page of the agent's would be a page of the box", path)
		}
	}
	if a := s.get("/files/d/a.txt", "Range", "bytes=1-3").want(206); string(a.body) != "ell" || a.header.Get("Content-Range") != "bytes 1-3/6" {
		t.Errorf("range: %q %v", a.body, a.header)
	}
	s.get("/files/d/a.txt", "Range", "bytes=100-").want(416)
	if a := s.get("/files/d/a.txt", "If-None-Match", tag).want(304); len(a.body) != 0 {
		t.Errorf("304 with a body: %q", a.body)
	}
	s.get("/files/d/a.txt", "Range", "bytes=1-3", "If-Range", `"other"`).want(200)
	if a := s.do(http.MethodHead, "/files/d/a.txt", nil).want(200); len(a.body) != 0 || a.header.Get("Content-Length") != "6" || a.header.Get("ETag") != tag {
		t.Errorf("HEAD: %q %v", a.body, a.header)
	}
	s.write("d/a.txt", "HELLO\n")
	if got := s.get("/files/d/a.txt", "If-None-Match", tag).want(200); got.header.Get("ETag") == tag {
		t.Error("the ETag did not change with the content")
	}
	s.get("/files/d/a.txt/").want(200)
	s.get("/files/none.txt").problem(404)
	s.do(http.MethodHead, "/files/none.txt", nil).want(404)
}

func TestFilesDelete(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.write("d/a.txt", "x")
	if err := os.Symlink("d/a.txt", filepath.Join(s.root, "link")); err != nil {
		t.Fatal(err)
	}
	del := func(path string) answered { return s.do(http.MethodDelete, "/files/"+path, nil) }
	del("link").want(200)
	if got := s.get("/files/d/a.txt").want(200); string(got.body) != "x" {
		t.Error("the link's target went with it")
	}
	o := del("d/a.txt").want(200).object()
	if diff := cmp.Diff(object{"status": "ok", "path": "d/a.txt"}, o); diff != "" {
		t.Error(diff)
	}
	for path, status := range map[string]int{"d/a.txt": 404, "d": 400, "d/": 400, "": 400} {
		del(path).problem(status)
	}
}

func TestFilesSpecial(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	if err := syscall.Mkfifo(filepath.Join(s.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(s.root, "loop")); err != nil {
		t.Fatal(err)
	}
	s.get("/files/pipe").problem(400)
	s.put("pipe", "x").problem(400)
	s.get("/files/loop").problem(400)
}

// A thousand idle event streams need little.
func TestIdleStreams(t *testing.T) {
	s := start(t, nil)
	grew, end := idleStreams(t, s, 200)
	end()
	if each := grew / 200; each > 60<<10*3 { // three times as much under the race detector
		t.Errorf("an idle stream needs %d KiB", each>>10)
	}
}
