package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/httpd"
)

func unpack(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var tokenEnv = boxtest.Env{"AICODEBOX_API_MODE_TOKEN": "sekrit-token"}

func TestAuth(t *testing.T) {
	t.Parallel()
	s := start(t, tokenEnv)
	s.run(object{"prompt": "SAY:x"}).want(200)
	s.token = ""
	for _, path := range []string{"/healthz", "/docs", "/docs/start.js", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/openapi.json", "/openapi.yaml"} {
		s.get(path).want(200)
	}
	for _, ask := range []string{
		"GET /status", "GET /status?apiToken=sekrit-token", "POST /run", "GET /run/result?runId=x", "DELETE /run/x", "GET /run/x/events",
		"GET /files", "GET /files/x", "PUT /files/x", "DELETE /files/x", "HEAD /files/x",
	} {
		method, path, _ := strings.Cut(ask, " ")
		a := s.do(method, path, strings.NewReader("{"), "Content-Type", "application/json")
		if method == http.MethodHead {
			a.want(401)
			continue
		}
		if a.problem(401); a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: challenge %q", ask, a.header.Get("WWW-Authenticate"))
		}
	}
	a := s.rawStart("POST /run HTTP/1.1\r\nHost: box\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n")
	a.problem(401)
}

func TestRouting(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.get("/").problem(404)
	s.get("/nope").problem(404)
	s.get("/run/x/y/z").problem(404)
	for ask, allow := range map[string]string{
		"GET /run": "POST", "POST /healthz": "GET, HEAD", "POST /files/x": "GET, HEAD, PUT, DELETE", "PUT /files": "GET, HEAD",
		"PATCH /run": "POST", "BREW /run": "POST", "OPTIONS /run": "POST", "POST /run/x": "DELETE", "DELETE /status": "GET, HEAD",
	} {
		method, path, _ := strings.Cut(ask, " ")
		a := s.do(method, path, nil)
		if a.problem(405); a.header.Get("Allow") != allow {
			t.Errorf("%s: Allow %q, want %q", ask, a.header.Get("Allow"), allow)
		}
	}
	if o := s.get("/healthz").want(200).object(); o["ok"] != true || o["adapter"] != "fake" || o["version"] == "" {
		t.Errorf("health %v", o)
	}
	if a := s.get("/healthz", "X-Request-Id", "my-id"); a.header.Get("X-Request-Id") != "my-id" {
		t.Errorf("request id %q", a.header.Get("X-Request-Id"))
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_API_MODE_TOKEN": "sekrit-token", "AICODEBOX_API_MODE_CORS_ORIGINS": "https://app.example"})
	s.token = ""
	a := s.do(http.MethodOptions, "/run", nil, "Origin", "https://app.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type").want(204)
	if a.header.Get("Access-Control-Allow-Origin") != "https://app.example" || a.header.Get("Access-Control-Allow-Headers") == "" {
		t.Errorf("preflight %v", a.header)
	}
	if a := s.get("/status", "Origin", "https://app.example"); a.status != 401 || a.header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("a refusal cannot be read by the page: %d %v", a.status, a.header)
	}
	s.do(http.MethodOptions, "/run", nil, "Origin", "https://evil.example", "Access-Control-Request-Method", "POST").problem(405)
}

// Without a token, pages of other origins still may not use the box.
func TestOpenBoxRefusesOtherOrigins(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.run(object{"prompt": "TOUCH:evil"}, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example").problem(403)
	s.do(http.MethodPut, "/files/x", strings.NewReader("x"), "Origin", "https://evil.example").problem(403)
	s.run(object{"prompt": "SAY:x"}, "Sec-Fetch-Site", "same-origin", "Origin", s.url).want(200)
}

func TestSeats(t *testing.T) {
	t.Parallel()
	said := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/panic" {
				panic("boom")
			}
			fmt.Fprint(w, text)
		})
	}
	own := func(w http.ResponseWriter, _ *http.Request, status int, _ string) {
		w.WriteHeader(status)
		fmt.Fprint(w, "own shape")
	}
	s := start(t, tokenEnv, func(s *surface) {
		s.Mount("/v1/ /openai/v1/", httpd.Seat{Handler: said("chat"), Fail: own})
		s.Mount("/mcp /mcp/", httpd.Seat{Handler: said("tools"), OwnAuth: true})
		s.Mount("/cron/jobs", said("jobs"))
	})
	ask := func(path string) string {
		a := s.get(path)
		return fmt.Sprintf("%d %s", a.status, a.body)
	}
	for path, want := range map[string]string{
		"/v1/models": "200 chat", "/v1": "200 chat", "/openai/v1/x": "200 chat", "/v1/panic": "500 own shape",
		"/mcp": "200 tools", "/mcp/": "200 tools", "/cron/jobs": "200 jobs",
	} {
		if got := ask(path); got != want {
			t.Errorf("%s with the token: %s, want %s", path, got, want)
		}
	}
	s.token = ""
	for path, want := range map[string]string{"/v1/models": "401 own shape", "/mcp": "200 tools"} {
		if got := ask(path); got != want {
			t.Errorf("%s without the token: %s, want %s", path, got, want)
		}
	}
	s.get("/cron/jobs").problem(401)
}

func TestDocsPage(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	a := s.get("/docs").want(200)
	if !strings.HasPrefix(a.header.Get("Content-Security-Policy"), "default-src 'none'") || bytes.Contains(a.body, []byte("http")) {
		t.Errorf("policy %q, page %s", a.header.Get("Content-Security-Policy"), a.body)
	}
	plain := s.get("/docs/swagger-ui-bundle.js", "Accept-Encoding", "identity").want(200)
	packed := s.get("/docs/swagger-ui-bundle.js", "Accept-Encoding", "gzip").want(200)
	if packed.header.Get("Content-Encoding") != "gzip" || !bytes.Equal(unpack(t, packed.body), plain.body) {
		t.Error("the packed file is not the plain one")
	}
	if size := len(docsStyle) + len(docsBundle); size > 500_000 {
		t.Errorf("the embedded files have %d bytes", size)
	}
	res, err := (&http.Transport{}).RoundTrip(s.request(t.Context(), http.MethodGet, "/docs/", nil))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 308 || res.Header.Get("Location") != "../docs" {
		t.Errorf("/docs/ leads to %q with %d", res.Header.Get("Location"), res.StatusCode)
	}
}

// A box that is told to stop answers what it has in hand, and no more.
func TestShutdown(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	answer := make(chan answered, 1)
	go func() {
		a, err := s.try(context.Background(), http.MethodPost, "/run", bodyOf(object{"prompt": "TOUCH:on\nAWAIT:go\nSAY:done"}), "Content-Type", "application/json")
		if err != nil {
			t.Error(err)
		}
		answer <- a
	}()
	s.appears("on")
	s.stop()
	s.write("go", "")
	if a := <-answer; a.status != 200 || !strings.Contains(string(a.body), "done") {
		t.Errorf("the run in hand got %d %s", a.status, a.body)
	}
	select {
	case err := <-s.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the server does not end")
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	port := s.url[strings.LastIndex(s.url, ":")+1:]
	other := &surface{}
	_ = boxtest.New(t, boxtest.Env{"AICODEBOX_API_MODE_PORT": port, "AICODEBOX_API_MODE_HOST": "127.0.0.1"}, seatOf(other))
	other.portName = "AICODEBOX_API_MODE_PORT"
	if err := other.Init(s.box); err != nil {
		t.Fatal(err)
	}
	err := other.Serve(t.Context())
	if err == nil || !strings.Contains(err.Error(), "AICODEBOX_API_MODE_PORT") {
		t.Errorf("error %v", err)
	}
}
