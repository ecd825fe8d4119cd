package httpd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/httpd"
)

func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func problem(t *testing.T, r io.Reader) httpd.Problem {
	t.Helper()
	var p httpd.Problem
	if err := json.NewDecoder(r).Decode(&p); err != nil {
		t.Fatalf("the body is no problem: %v", err)
	}
	return p
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })

func TestBearer(t *testing.T) {
	t.Parallel()
	srv := serve(t, httpd.Bearer("sekrit", httpd.WriteProblem)(hello))
	for name, tt := range map[string]struct {
		header string
		status int
	}{
		"right":            {"Bearer sekrit", 200},
		"scheme any case":  {"bEaReR sekrit", 200},
		"spaces around":    {"Bearer    sekrit  ", 200},
		"none":             {"", 401},
		"wrong":            {"Bearer nope", 401},
		"prefix":           {"Bearer sekri", 401},
		"longer":           {"Bearer sekritt", 401},
		"other scheme":     {"Basic c2Vrcml0", 401},
		"token alone":      {"sekrit", 401},
		"empty token":      {"Bearer ", 401},
		"not ASCII":        {"Bearer sékrit", 401},
		"two words":        {"Bearer sekrit sekrit", 401},
		"scheme glued on":  {"Bearersekrit", 401},
		"scheme with tabs": {"Bearer\tsekrit", 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader("body"))
			if tt.header != "" {
				req.Header.Set("Authorization", tt.header)
			}
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != tt.status {
				t.Fatalf("status %d, want %d", res.StatusCode, tt.status)
			}
			if tt.status == 401 {
				if got := res.Header.Get("WWW-Authenticate"); got != "Bearer" {
					t.Errorf("challenge %q", got)
				}
				if p := problem(t, res.Body); p.Status != 401 || strings.Contains(p.Detail, "sekrit") {
					t.Errorf("problem %+v", p)
				}
			}
		})
	}
}

// A refusal does not wait for a body that may never come.
func TestBearerBeforeBody(t *testing.T) {
	t.Parallel()
	srv := serve(t, httpd.Progress(time.Minute)(httpd.Bearer("sekrit", httpd.WriteProblem)(hello)))
	conn := dial(t, srv)
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: box\r\nContent-Length: 1000\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 401 {
		t.Errorf("status %d", res.StatusCode)
	}
}

// A refusal ends for its reader at once, although the server reads on.
func TestEarlyAnswerHasAnEnd(t *testing.T) {
	t.Parallel()
	srv := serve(t, httpd.Observe(quiet(), httpd.WriteProblem)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpd.Early(w, r, func() {
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, "no")
		})
	})))
	conn := dial(t, srv)
	began := time.Now()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: box\r\nContent-Length: 1000\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	if string(body) != "no" || res.StatusCode != http.StatusTeapot || time.Since(began) > 4*time.Second {
		t.Errorf("%d %q after %v", res.StatusCode, body, time.Since(began))
	}
}

// A client that writes everything before it reads gets to see the refusal.
func TestEarlyAnswerIsSeen(t *testing.T) {
	t.Parallel()
	srv := serve(t, httpd.Bearer("sekrit", httpd.WriteProblem)(hello))
	conn := dial(t, srv)
	const size = 20 << 20
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: box\r\nContent-Length: %d\r\n\r\n", size)
	if _, err := io.CopyN(conn, zeros{}, size); err != nil {
		t.Fatalf("the connection was closed under the upload: %v", err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 401 || !res.Close {
		t.Errorf("status %d, close %v", res.StatusCode, res.Close)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func dial(t *testing.T, srv *httptest.Server) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

func TestProgress(t *testing.T) {
	t.Parallel()
	read := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := httpd.ReadBody(w, r, 1<<20)
		if errors.Is(err, httpd.ErrStalled) {
			httpd.Early(w, r, func() { w.WriteHeader(http.StatusRequestTimeout) })
			return
		}
		fmt.Fprintf(w, "%s %v %v", body, err, r.Context().Err())
	})
	srv := serve(t, httpd.Progress(200*time.Millisecond)(read))
	t.Run("stalled", func(t *testing.T) {
		t.Parallel()
		conn := dial(t, srv)
		fmt.Fprint(conn, "PUT / HTTP/1.1\r\nHost: box\r\nContent-Length: 10\r\n\r\nabc")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != http.StatusRequestTimeout {
			t.Fatalf("%v, %v; want 408", res, err)
		}
	})
	t.Run("slow but going", func(t *testing.T) {
		t.Parallel()
		pr, pw := io.Pipe()
		go func() {
			tick := time.NewTicker(150 * time.Millisecond)
			defer tick.Stop()
			for range 10 {
				<-tick.C
				fmt.Fprint(pw, "x")
			}
			_ = pw.Close()
		}()
		res, err := srv.Client().Post(srv.URL, "text/plain", pr)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got, _ := io.ReadAll(res.Body)
		if string(got) != "xxxxxxxxxx <nil> <nil>" {
			t.Errorf("got %q", got)
		}
	})
}

// The deadline of the body does not end the request that comes after it.
func TestProgressEndsWithBody(t *testing.T) {
	t.Parallel()
	gone := make(chan error, 1)
	srv := serve(t, httpd.Progress(50*time.Millisecond)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(1300 * time.Millisecond):
		}
		gone <- r.Context().Err()
	})))
	res, err := srv.Client().Post(srv.URL, "text/plain", strings.NewReader("abc"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := <-gone; err != nil {
		t.Errorf("the request's context ended: %v", err)
	}
}

func TestReadBody(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size     int64
		declared int64
		want     bool
	}{
		"within":            {100, 100, true},
		"exactly the limit": {1000, 1000, true},
		"over, declared":    {1001, 1001, false},
		"over, chunked":     {1001, -1, false},
		"chunked, exactly":  {1000, -1, true},
		"empty":             {0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.LimitReader(zeros{}, tt.size))
			r.ContentLength = tt.declared
			body, err := httpd.ReadBody(httptest.NewRecorder(), r, 1000)
			var large *httpd.TooLargeError
			switch {
			case tt.want && (err != nil || int64(len(body)) != tt.size):
				t.Errorf("%d bytes, %v", len(body), err)
			case !tt.want && !errors.As(err, &large):
				t.Errorf("error %v, want TooLargeError", err)
			}
		})
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	mux := http.NewServeMux()
	mux.Handle("/hello", hello)
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic("boom") })
	mux.HandleFunc("/late", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", 1<<16))
		panic("boom")
	})
	h := httpd.Observe(slog.New(slog.NewJSONHandler(&log, nil)), httpd.WriteProblem)(mux)
	ask := func(path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if id := ask("/hello?apiToken=sekrit", "X-Request-Id", "mine-1").Header().Get("X-Request-Id"); id != "mine-1" {
		t.Errorf("the client's id became %q", id)
	}
	if id := ask("/hello", "X-Request-Id", "<b>\tx", "Authorization", "Bearer sekrit").Header().Get("X-Request-Id"); id == "" || strings.ContainsAny(id, "<\t") {
		t.Errorf("a bad id was answered with %q", id)
	}
	w := ask("/panic")
	if p := problem(t, w.Body); w.Code != 500 || strings.Contains(p.Detail, "boom") || p.RequestID == "" {
		t.Errorf("panic answered %d %+v", w.Code, p)
	}
	func() {
		defer func() {
			if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // a panic value
				t.Errorf("a late panic became %v, want ErrAbortHandler", got)
			}
		}()
		ask("/late")
	}()
	if strings.Contains(log.String(), "sekrit") {
		t.Errorf("the log holds a secret:\n%s", log.String())
	}
	for _, want := range []string{`"path":"/hello"`, `"status":200`, `"out":5`, `"panic":"boom"`, `"request":"mine-1"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
}

// A wrapped writer still lets the kernel send files, flushes, and takes deadlines.
func TestObserveHidesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	var problems []string
	srv := serve(t, httpd.Observe(quiet(), httpd.WriteProblem)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := w.(io.ReaderFrom); !ok {
			problems = append(problems, "no ReadFrom")
		}
		control := http.NewResponseController(w)
		if err := errors.Join(control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{})); err != nil {
			problems = append(problems, err.Error())
		}
		http.ServeFile(w, r, file)
		if err := control.Flush(); err != nil {
			problems = append(problems, err.Error())
		}
	})))
	res, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if string(body) != "content" || len(problems) > 0 {
		t.Errorf("body %q, problems %v", body, problems)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	h := httpd.CORS([]string{"https://app.example"})(httpd.Bearer("sekrit", httpd.WriteProblem)(hello))
	for name, tt := range map[string]struct {
		method, origin, asked string
		status                int
		allowed               string
	}{
		"preflight":         {"OPTIONS", "https://app.example", "PUT", 204, "https://app.example"},
		"foreign preflight": {"OPTIONS", "https://evil.example", "PUT", 401, ""},
		"refusal":           {"GET", "https://app.example", "", 401, "https://app.example"},
		"foreign":           {"GET", "https://evil.example", "", 401, ""},
		"no origin":         {"GET", "", "", 401, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), tt.method, "/", nil)
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			if tt.asked != "" {
				r.Header.Set("Access-Control-Request-Method", tt.asked)
				r.Header.Set("Access-Control-Request-Headers", "authorization, x-stainless-os")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := []any{w.Code, w.Header().Get("Access-Control-Allow-Origin")}
			if diff := cmp.Diff([]any{tt.status, tt.allowed}, got); diff != "" {
				t.Error(diff)
			}
			if tt.status == 204 && w.Header().Get("Access-Control-Allow-Headers") != "authorization, x-stainless-os" {
				t.Errorf("headers %v", w.Header())
			}
			if w.Header().Get("Vary") == "" {
				t.Error("no Vary: Origin")
			}
		})
	}
}
