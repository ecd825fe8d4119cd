package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
)

// streamer serves streams that write fills, without an agent.
func streamer(t testing.TB, write func(r *http.Request, c *chunks)) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := head{id: "chatcmpl-" + r.URL.Query().Get("n"), created: 1, model: "m"}
		c := openChunks(openStream(w, time.Minute, func(error) {}), h, false)
		write(r, c)
		c.finish(answer{})
		c.close()
	}))
	t.Cleanup(srv.Close)
	return srv
}

func open(t testing.TB, url string) io.ReadCloser {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Body
}

// Five hundred streams at once lose nothing and mix nothing up.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	const streams, pieces = 500, 40
	var gate sync.WaitGroup
	gate.Add(streams)
	srv := streamer(t, func(r *http.Request, c *chunks) {
		gate.Done()
		gate.Wait() // all are open
		for i := range pieces {
			c.text(r.URL.Query().Get("n") + "." + strconv.Itoa(i) + " ")
		}
	})
	var all sync.WaitGroup
	for n := range streams {
		all.Go(func() {
			body := open(t, srv.URL+"?n="+strconv.Itoa(n))
			defer body.Close()
			var want strings.Builder
			for i := range pieces {
				fmt.Fprintf(&want, "%d.%d ", n, i)
			}
			data, err := io.ReadAll(body)
			if err != nil {
				t.Error(err)
				return
			}
			if got := assemble(t, data); got.text != want.String() || !got.done || got.chunks != pieces+2 {
				t.Errorf("stream %d: %d chunks, %q", n, got.chunks, got.text)
			}
			if strings.Count(string(data), `"chatcmpl-`+strconv.Itoa(n)+`"`) != pieces+2 {
				t.Errorf("stream %d has chunks of another", n)
			}
		})
	}
	all.Wait()
}

// A client that leaves is noticed, and nobody who writes to it waits.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	broken := make(chan error, 1)
	w := &brokenWriter{header: http.Header{}}
	s := openStream(w, time.Minute, func(err error) { broken <- err })
	for range 10 {
		s.event("", make([]byte, maxPending))
	}
	if err := <-broken; !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	s.event("", []byte("x"))
	s.close()
}

type brokenWriter struct{ header http.Header }

func (w *brokenWriter) Header() http.Header       { return w.header }
func (w *brokenWriter) WriteHeader(int)           {}
func (w *brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "a\"\\\n\r\t\x00\x7f\u2028é😀", "\xff\xfe", "a\xc3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		want := string([]rune(s))
		if utf8.ValidString(s) {
			want = s
		}
		if got != want {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// BenchmarkDeltas measures how many pieces go through one stream, from the
// event to the client's reader.
func BenchmarkDeltas(b *testing.B) {
	n := b.N
	srv := streamer(b, func(_ *http.Request, c *chunks) {
		for range n {
			c.text("word ")
		}
	})
	body := open(b, srv.URL)
	defer body.Close()
	b.ResetTimer()
	if _, err := io.Copy(io.Discard, body); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deltas/s")
}

// BenchmarkLatency measures the way of one piece, from the event to the
// client.
func BenchmarkLatency(b *testing.B) {
	next := make(chan struct{})
	srv := streamer(b, func(_ *http.Request, c *chunks) {
		for range next {
			c.text("word ")
		}
	})
	body := open(b, srv.URL)
	defer body.Close()
	lines := bufio.NewReader(body)
	for b.Loop() {
		next <- struct{}{}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				b.Fatal(err)
			}
			if strings.Contains(line, "word") {
				break
			}
		}
	}
	close(next)
}

// BenchmarkFirstDelta measures the time from the agent's first line to the
// client's first piece, with all that is between: process, pipe, parser.
func BenchmarkFirstDelta(b *testing.B) {
	s := start(b, nil)
	box, err := aicodebox.New(clock{}, boxtest.Env{}.Lookup(b), aicodebox.Logger(slog.New(slog.DiscardHandler)), aicodebox.Seat(s.s))
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := box.Close(); err != nil {
			b.Error(err)
		}
	}()
	s.s.box = box
	var worst, sum time.Duration
	for b.Loop() {
		took := firstDelta(b, s)
		worst = max(worst, took)
		sum += took
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "µs/first-delta")
	b.ReportMetric(float64(worst.Microseconds()), "µs/worst")
}

// clock is an agent that prints the time: date(1).
type clock struct{}

func (clock) BuildArgv(aicodebox.Request) ([]string, error) {
	return []string{"date", "+now %s%N"}, nil
}

func (clock) ParseOutput(_ aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{Text: string(out.Stdout)}, nil
}

// firstDelta runs an agent that prints the time, and compares.
func firstDelta(b *testing.B, s *server) time.Duration {
	res, err := http.DefaultClient.Do(s.request(context.Background(), http.MethodPost, chatPath, text(ask("x", m{"stream": true, "model": ""}))))
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		_, rest, ok := strings.Cut(line, `"content":"now `)
		if !ok {
			continue
		}
		arrived := time.Now().UnixNano()
		told, _, _ := strings.Cut(rest, `"`)
		printed, err := strconv.ParseInt(told, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return time.Duration(arrived - printed)
	}
}

// BenchmarkTranscript measures what a long history costs.
func BenchmarkTranscript(b *testing.B) {
	var messages []m
	for range 64 {
		messages = append(messages, m{"role": "user", "content": strings.Repeat("question ", 1000)}, m{"role": "assistant", "content": strings.Repeat("answer\n", 1000)})
	}
	body := []byte(text(m{"messages": append(messages, m{"role": "user", "content": "and?"})}))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r, err := readChat(body)
		if err != nil {
			b.Fatal(err)
		}
		transcript(turns(r.messages), []byte("secret"))
	}
}
