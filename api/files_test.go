package api

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/boxtest"
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

// hostile are paths that must not lead anywhere.
var hostile = []string{
	"../outside/secret.txt", "d/../../outside/secret.txt", "%2e%2e/outside/secret.txt", "..%2foutside%2fsecret.txt",
	"%2Fetc%2Fhostname", "/etc/hostname", "out/secret.txt", "out", "abs", "up/secret.txt", "d/..%2F..%2Fx", "a%00.txt",
	"d/../top.txt", strings.Repeat("n", 256), "out%2fsecret.txt", "%2e%2e", "..",
}

func (s *server) trap() (outside string) {
	s.t.Helper()
	outside = s.t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.write("d/a.txt", "inside")
	s.write("top.txt", "inside")
	rel, err := filepath.Rel(s.root, outside)
	if err != nil {
		s.t.Fatal(err)
	}
	for link, target := range map[string]string{
		"out": outside, "up": rel, "abs": filepath.Join(s.root, "top.txt"), "new.txt": filepath.Join(outside, "new.txt"),
	} {
		if err := os.Symlink(target, filepath.Join(s.root, link)); err != nil {
			s.t.Fatal(err)
		}
	}
	return outside
}

// raw sends a request whose path no client cleans.
func (s *server) raw(method, path, body string) answered {
	s.t.Helper()
	conn, err := new(net.Dialer).DialContext(s.t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: box\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answered{s.t, res.StatusCode, res.Header, data}
}

// Nothing outside the workspaces is read, made or removed.
func TestCase_F01(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	outside := s.trap()
	for _, path := range hostile {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			if method == http.MethodDelete && (path == "out" || path == "abs") {
				continue // the link itself may go
			}
			a := s.raw(method, "/files/"+path, "evil")
			a.problem(400)
			if bytes.Contains(a.body, []byte("secret\"")) || bytes.Contains(a.body, []byte(s.root)) || bytes.Contains(a.body, []byte(outside)) {
				t.Errorf("%s %s tells too much: %s", method, path, a.body)
			}
		}
	}
	s.raw(http.MethodPut, "/files/new.txt", "evil").problem(400)
	s.raw(http.MethodGet, "/files/%252e%252e/x", "").problem(404)
	s.raw(http.MethodDelete, "/files/out", "").want(200)
	s.raw(http.MethodDelete, "/files/new.txt", "").want(200)
	left, err := os.ReadDir(outside)
	if err != nil || len(left) != 1 {
		t.Errorf("outside there is now %v, %v", left, err)
	}
	if _, err := os.Lstat(filepath.Join(s.root, "out")); !os.IsNotExist(err) {
		t.Errorf("the link is still there: %v", err)
	}
}

// A directory that is swapped for a link while it is read leads nowhere.
func TestCase_F01_Race(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	outside := s.trap()
	s.write("swap/secret.txt", "harmless")
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		swap, kept := filepath.Join(s.root, "swap"), filepath.Join(s.root, "kept")
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = os.Rename(swap, kept)
			_ = os.Symlink(outside, swap)
			_ = os.Remove(swap)
			_ = os.Rename(kept, swap)
		}
	})
	for range 200 {
		if a := s.get("/files/swap/secret.txt"); a.status == 200 && string(a.body) != "harmless" {
			t.Errorf("read %q", a.body)
			break
		}
	}
	close(done)
	swapping.Wait()
}

// Names that no file can have are the client's mistake.
func TestCase_F03(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, path := range []string{"a%00.txt", "a%00b/c", strings.Repeat("n", 256), strings.Repeat("n/", 3000) + "x"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			a := s.raw(method, "/files/"+path, "x")
			p := a.problem(400)
			if strings.ContainsAny(p.Detail, "\x00\n") {
				t.Errorf("the name is echoed as it is: %q", p.Detail)
			}
		}
	}
	for _, path := range []string{"a%0ab", "a%1b%5b31m", "%ff"} {
		if p := s.raw(http.MethodPut, "/files/"+path, "x").problem(400); strings.ContainsAny(p.Detail, "\n\x1b") || !utf8.ValidString(p.Detail) {
			t.Errorf("the name is echoed as it is: %q", p.Detail)
		}
	}
	s.get("/healthz").want(200)
}

// An upload is streamed, and cut where the limit is.
func TestCase_F04(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	s := start(t, boxtest.Env{"AICODEBOX_API_MODE_MAX_UPLOAD_BYTES": fmt.Sprint(limit)})
	t.Run("no declared length", func(t *testing.T) {
		t.Parallel()
		body := struct{ io.Reader }{io.LimitReader(zeros{}, 3*limit)}
		s.do(http.MethodPut, "/files/chunked", body).problem(413)
		s.get("/files/chunked").problem(404)
	})
	t.Run("declared", func(t *testing.T) {
		t.Parallel()
		a := s.rawStart(fmt.Sprintf("PUT /files/declared HTTP/1.1\r\nHost: box\r\nContent-Length: %d\r\n\r\n", limit+1))
		if a.status != 413 {
			t.Errorf("status %d before a byte of the body, want 413", a.status)
		}
	})
	t.Run("exactly the limit", func(t *testing.T) {
		t.Parallel()
		s.do(http.MethodPut, "/files/exact", struct{ io.Reader }{io.LimitReader(zeros{}, limit)}).want(201)
	})
	t.Run("false small length", func(t *testing.T) {
		t.Parallel()
		a := s.rawStart("PUT /files/short HTTP/1.1\r\nHost: box\r\nContent-Length: 3\r\n\r\nabcdefgh")
		if a.status != 201 {
			t.Errorf("status %d", a.status)
		}
		if got := s.get("/files/short").want(200); string(got.body) != "abc" {
			t.Errorf("written %q", got.body)
		}
	})
	t.Run("stops halfway", func(t *testing.T) {
		t.Parallel()
		s.put("half", "old").want(201)
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "PUT /files/half HTTP/1.1\r\nHost: box\r\nContent-Length: 1000000\r\n\r\n%s", strings.Repeat("x", 500_000))
		s.until("the upload", func() bool { return s.temporary() > 0 })
		_ = conn.Close()
		s.until("the end of the upload", func() bool { return s.temporary() == 0 })
		if got := s.get("/files/half").want(200); string(got.body) != "old" {
			t.Errorf("the file holds %d bytes", len(got.body))
		}
	})
}

// temporary counts the files that uploads are writing.
func (s *server) temporary() int {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".aicodebox-put-") {
			n++
		}
	}
	return n
}

// rawStart sends the beginning of a request and reads the answer to it.
func (s *server) rawStart(text string) answered {
	s.t.Helper()
	conn, err := new(net.Dialer).DialContext(s.t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(conn, text)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answered{s.t, res.StatusCode, res.Header, data}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestFilesPut(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	o := s.put("x/y/z.txt", "data").want(201).object()
	if diff := cmp.Diff(canonical(t, object{"status": "ok", "path": "x/y/z.txt", "size": 4}), canonical(t, o)); diff != "" {
		t.Error(diff)
	}
	s.put("x/y/z.txt", "other").want(200)
	if a := s.get("/files/x/y/z.txt").want(200); string(a.body) != "other" {
		t.Errorf("body %q", a.body)
	}
	s.put("empty", "").want(201)
	if err := os.Chmod(filepath.Join(s.root, "empty"), 0o640); err != nil {
		t.Fatal(err)
	}
	s.put("empty", "now full").want(200)
	if info, err := os.Stat(filepath.Join(s.root, "empty")); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Symlink("x/y/z.txt", filepath.Join(s.root, "link")); err != nil {
		t.Fatal(err)
	}
	s.put("link", "through").want(200)
	if a := s.get("/files/x/y/z.txt").want(200); string(a.body) != "through" {
		t.Errorf("body %q", a.body)
	}
	s.put("x/part", "1", "Content-Range", "bytes 0-0/2").problem(400)
	for path, status := range map[string]int{"x": 400, "x/": 400, "": 400, "empty/below": 400, "newdir/": 400} {
		s.put(path, "1").problem(status)
	}
	if s.temporary() != 0 {
		t.Error("temporary files are left")
	}
}

// Readers of a file that is written see the old content or the new one.
func TestFilesPutIsAtomic(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const size = 1 << 20
	contents := map[[32]byte]bool{}
	var bodies []string
	for c := range 3 {
		body := strings.Repeat(string(rune('a'+c)), size)
		bodies = append(bodies, body)
		contents[sha256.Sum256([]byte(body))] = true
	}
	s.put("file", bodies[0]).want(201)
	var writers sync.WaitGroup
	for _, body := range bodies {
		writers.Go(func() {
			for range 3 {
				a, err := s.try(context.Background(), http.MethodPut, "/files/file", strings.NewReader(body))
				if err != nil || a.status != 200 {
					t.Errorf("%d %s %v", a.status, a.body, err)
				}
			}
		})
	}
	for range 30 {
		if a := s.get("/files/file").want(200); !contents[sha256.Sum256(a.body)] {
			t.Errorf("read a mixture of %d bytes", len(a.body))
		}
	}
	writers.Wait()
	if a := s.get("/files/file").want(200); !contents[sha256.Sum256(a.body)] {
		t.Error("a mixture is left")
	}
}

func TestFilesExpectContinue(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(s *surface) { s.token = "" })
	a := s.rawStart("PUT /files/x HTTP/1.1\r\nHost: box\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
	if a.status != 100 {
		t.Errorf("status %d, want 100 before the body", a.status)
	}
	req := s.request(t.Context(), http.MethodPut, "/files/y", strings.NewReader("abc"), "Expect", "100-continue")
	res, err := (&http.Transport{ExpectContinueTimeout: time.Minute}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 201 {
		t.Errorf("status %d", res.StatusCode)
	}
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

// A body that stops coming is cut; one that is slow is not.
func TestFilesStalledUpload(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(s *surface) { s.stall = 100 * time.Millisecond })
	a := s.rawStart("PUT /files/x HTTP/1.1\r\nHost: box\r\nContent-Length: 100\r\n\r\nabc")
	a.problem(408)
	if s.temporary() != 0 {
		t.Error("a part of the upload is left")
	}
}

// What a transfer needs of memory does not depend on its size. The test does
// not run beside others, whose memory it would count.
func TestFilesMemory(t *testing.T) {
	s := start(t, nil)
	const size = 64 << 20
	before := inUse()
	var most int64
	s.do(http.MethodPut, "/files/big", sampled{io.LimitReader(zeros{}, size), &most}).want(201)
	res, err := http.DefaultClient.Do(s.request(t.Context(), http.MethodGet, "/files/big", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, sampled{res.Body, &most}); n != size || err != nil {
		t.Fatal(n, err)
	}
	if grew := most - before; grew > 16<<20 {
		t.Errorf("the process grew by %d MiB", grew>>20)
	}
}

// sampled notes how much memory is in use while it is read.
type sampled struct {
	io.Reader
	most *int64
}

func (s sampled) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	var m runtime.MemStats
	if n%7 == 0 {
		runtime.ReadMemStats(&m)
		*s.most = max(*s.most, int64(m.HeapInuse+m.StackInuse))
	}
	return n, err
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
