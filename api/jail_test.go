package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

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
