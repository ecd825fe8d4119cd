package api

import (
	"bufio"
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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/boxtest"
)

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
