package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/runner"
)

// The benchmarks compare the API with what is beneath it, and report ratios:
//
//	go test -run '^$' -bench . -benchtime 5x ./api

// big is the size of the files, in MiB; AICODEBOX_BENCH_MIB changes it.
func big(b *testing.B) int64 {
	b.Helper()
	mib, err := strconv.ParseInt(os.Getenv("AICODEBOX_BENCH_MIB"), 10, 64)
	if err != nil {
		mib = 1024
	}
	return mib << 20
}

// rss is the memory of the process, in bytes.
func rss(t testing.TB) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// growth runs f and returns by how much the process grew while it ran.
func growth(t testing.TB, f func()) int64 {
	t.Helper()
	runtime.GC()
	before := rss(t)
	most := before
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				most = max(most, rss(t))
			}
		}
	})
	f()
	close(done)
	watch.Wait()
	return most - before
}

// fill makes a file of n bytes that are on the disk.
func fill(t testing.TB, path string, n int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.CopyN(f, zeros{}, n); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkGetFile reads a big file, in turns with io.Copy of the same file
// into a connection. ratio is the part of io.Copy's speed that is reached.
func BenchmarkGetFile(b *testing.B) {
	s := start(b, nil)
	size := big(b)
	path := filepath.Join(s.root, "big.bin")
	fill(b, path, size)
	var ours, theirs time.Duration
	copyFile(b, path, size)
	grew := growth(b, func() {
		for b.Loop() {
			began := time.Now()
			res, err := http.DefaultClient.Do(s.request(b.Context(), http.MethodGet, "/files/big.bin", nil))
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, res.Body); n != size || err != nil {
				b.Fatal(n, err)
			}
			res.Body.Close()
			ours += time.Since(began)
			theirs += copyFile(b, path, size)
		}
	})
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(float64(grew)/(1<<20), "MiB-grown")
	b.ReportMetric(float64(size)*float64(b.N)/ours.Seconds()/1e6, "MB/s")
}

// copyFile sends the file over loopback with io.Copy and reads it as an HTTP
// client reads a body.
func copyFile(b *testing.B, path string, size int64) time.Duration {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		_, _ = io.Copy(conn, f)
	}()
	began := time.Now()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if n, err := io.Copy(io.Discard, struct{ io.Reader }{bufio.NewReader(conn)}); n != size || err != nil {
		b.Fatal(n, err)
	}
	return time.Since(began)
}

// BenchmarkPutFile writes a big file, in turns with dd to the same disk, both
// until it is on the disk. ratio is the part of dd's speed that is reached.
func BenchmarkPutFile(b *testing.B) {
	s := start(b, boxtest.Env{"AICODEBOX_API_MODE_MAX_UPLOAD_BYTES": fmt.Sprint(int64(1) << 40)})
	size := big(b)
	var ours, theirs time.Duration
	grew := growth(b, func() {
		for b.Loop() {
			began := time.Now()
			req := s.request(b.Context(), http.MethodPut, "/files/big.bin", io.LimitReader(zeros{}, size))
			req.ContentLength = size
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode >= 300 {
				b.Fatal(res.Status)
			}
			ours += time.Since(began)
			began = time.Now()
			dd := exec.CommandContext(b.Context(), "dd", "if=/dev/zero", "of="+filepath.Join(s.root, "dd.bin"), "bs=1M", "count="+fmt.Sprint(size>>20), "conv=fsync")
			if out, err := dd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			theirs += time.Since(began)
		}
	})
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(float64(grew)/(1<<20), "MiB-grown")
	b.ReportMetric(float64(size)*float64(b.N)/ours.Seconds()/1e6, "MB/s")
}

// BenchmarkRun posts a prompt to an agent that does nothing, in turns with
// runner.Run. added-ms is what the API adds to the median.
func BenchmarkRun(b *testing.B) {
	s := startAdapter(b, idler{}, nil)
	q := runRequest{Prompt: "FLUSH", Workspace: "w"}
	var over, under []time.Duration
	for b.Loop() {
		began := time.Now()
		if a := s.run(object{"prompt": q.Prompt, "workspace": q.Workspace}); a.status != 200 {
			b.Fatal(a.status, string(a.body))
		}
		over = append(over, time.Since(began))
		began = time.Now()
		if _, err := runner.Run(b.Context(), s.box, q.request(), q.options()...); err != nil {
			b.Fatal(err)
		}
		under = append(under, time.Since(began))
	}
	added := median(over) - median(under)
	b.ReportMetric(added.Seconds()*1e3, "added-ms")
	b.ReportMetric(median(under).Seconds()*1e3, "runner-ms")
}

// idler's agent does nothing.
type idler struct{}

func (idler) BuildArgv(aicodebox.Request) ([]string, error) { return []string{"true"}, nil }

func (idler) ParseOutput(aicodebox.Request, aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{}, nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// idleStreams opens n event streams on one run that says nothing, and returns
// by how much the server's heap and stacks grew, and what ends them.
func idleStreams(t testing.TB, s *server, n int) (grew int64, end func()) {
	t.Helper()
	id := s.run(object{"prompt": "SAY:on\nHANG", "workspace": "w", "async": true}).want(200).object()["runId"].(string)
	s.until("the run's first record", func() bool {
		for record, err := range runner.Records(t.Context(), s.box, id, -1) {
			return err == nil && record.Sequence == 0
		}
		return false
	})
	address := strings.TrimPrefix(s.url, "http://")
	before := inUse()
	conns := make([]net.Conn, 0, n)
	buf := make([]byte, 4096)
	for range n {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, "GET /run/%s/events HTTP/1.1\r\nHost: box\r\n\r\n", id)
		for got := ""; !strings.Contains(got, `"on"`); {
			m, err := conn.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got += string(buf[:m])
		}
	}
	return inUse() - before, func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		_, _ = runner.Cancel(context.Background(), s.box, id, "the test is over")
	}
}

// inUse is the memory that is in use after a collection.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// BenchmarkIdleStreams holds 1,000 event streams on which nothing happens.
func BenchmarkIdleStreams(b *testing.B) {
	s := start(b, nil)
	for b.Loop() {
		var grew int64
		var end func()
		process := growth(b, func() { grew, end = idleStreams(b, s, 1000) })
		b.ReportMetric(float64(grew)/(1<<20), "MiB")
		b.ReportMetric(float64(process)/(1<<20), "MiB-rss")
		end()
	}
}
