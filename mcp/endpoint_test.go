package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/boxtest"
)

// A session that is not known (any more) is a 404, so that clients begin anew.
func TestCase_M01(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	list := message(2, "tools/list", m{})
	unknown := []string{sessionHeader, "0123456789abcdef", versionHeader, "2025-06-18"}
	s.do(t.Context(), http.MethodPost, "/mcp", list, unknown...).want(404)
	s.do(t.Context(), http.MethodGet, "/mcp", "", unknown...).want(404)
	s.do(t.Context(), http.MethodDelete, "/mcp", "", unknown...).want(404)
	if r := s.do(t.Context(), http.MethodPost, "/mcp", list).want(200).last(); !strings.Contains(string(r.Result), "run_prompt") {
		t.Errorf("without a session: %+v", r)
	}
	fresh := s.do(t.Context(), http.MethodPost, "/mcp", initialize("2025-06-18"), unknown...).want(200)
	id := fresh.header.Get(sessionHeader)
	if id == "" || id == unknown[1] {
		t.Fatalf("the new session is %q", id)
	}
	known := []string{sessionHeader, id, versionHeader, "2025-06-18"}
	s.do(t.Context(), http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, known...).want(202)
	s.do(t.Context(), http.MethodPost, "/mcp", list, known...).want(200)
	s.do(t.Context(), http.MethodDelete, "/mcp", "", known...).want(204)
	s.do(t.Context(), http.MethodPost, "/mcp", list, known...).want(404)
}

// Hosts and origins: what is on the lists passes, with any port.
func TestCase_M03(t *testing.T) {
	t.Parallel()
	lists := boxtest.Env{
		"AICODEBOX_MCP_MODE_ALLOWED_HOSTS":   "box.example.test, [fe80::1]:99",
		"AICODEBOX_MCP_MODE_ALLOWED_ORIGINS": "https://app.example.test",
	}
	token := boxtest.Env{"AICODEBOX_MCP_MODE_TOKEN": "tok"}
	for name, tt := range map[string]struct {
		env          boxtest.Env
		host, origin string
		status       int
	}{
		"by name":              {lists, "box.example.test", "", 200},
		"with a port":          {lists, "box.example.test:8080", "", 200},
		"in capitals":          {lists, "BOX.example.test", "", 200},
		"an address":           {lists, "[fe80::1]", "", 200},
		"foreign":              {lists, "evil.example", "", 421},
		"longer":               {lists, "box.example.test.evil.example", "", 421},
		"shorter":              {lists, "example.test", "", 421},
		"loopback, too":        {lists, "localhost:1", "", 200},
		"loopback by default":  {nil, "127.0.0.1:99", "", 200},
		"loopback of six":      {nil, "[::1]:99", "", 200},
		"looks like loopback":  {nil, "localhost.evil.example", "", 421},
		"foreign by default":   {nil, "box.example.test", "", 421},
		"no name":              {nil, ":8081", "", 421},
		"a token frees hosts":  {token, "box.example.test", "", 200},
		"origin":               {lists, "localhost", "https://app.example.test", 200},
		"origin with a port":   {lists, "localhost", "https://app.example.test:8443", 200},
		"origin's scheme":      {lists, "localhost", "http://app.example.test", 403},
		"foreign origin":       {lists, "localhost", "https://evil.example", 403},
		"null":                 {lists, "localhost", "null", 403},
		"loopback origin":      {nil, "localhost", "http://localhost:6274", 200},
		"origin by default":    {nil, "localhost", "https://app.example.test", 403},
		"origin with a token":  {token, "localhost", "https://evil.example", 403},
		"origin with nonsense": {lists, "localhost", "https://app.example.test@evil.example", 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tt.env)
			header := []string{"Host", tt.host, "Authorization", "Bearer tok"}
			if tt.origin != "" {
				header = append(header, "Origin", tt.origin)
			}
			a := s.do(t.Context(), http.MethodPost, "/mcp", initialize("2025-06-18"), header...).want(tt.status)
			for status, setting := range map[int]string{421: "AICODEBOX_MCP_MODE_ALLOWED_HOSTS", 403: "AICODEBOX_MCP_MODE_ALLOWED_ORIGINS"} {
				if tt.status == status && !strings.Contains(string(a.body), setting) {
					t.Errorf("%s does not name %s", a.body, setting)
				}
			}
			if tt.status == 200 && a.header.Get("Access-Control-Allow-Origin") != tt.origin {
				t.Errorf("the page may not read it: %v", a.header)
			}
		})
	}
}

// Every version of the protocol is met.
func TestCase_M06(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for asked, want := range map[string]string{
		"2099-01-01": "2025-11-25", "2025-06-18": "2025-06-18", "2024-11-05": "2024-11-05", "": "2025-11-25", "1999-01-01": "2025-11-25", newest: "2025-11-25",
	} {
		a := s.do(t.Context(), http.MethodPost, "/mcp", initialize(asked), versionHeader, asked).want(200)
		var got struct{ ProtocolVersion string }
		if err := json.Unmarshal(a.last().Result, &got); err != nil || got.ProtocolVersion != want || a.header.Get(sessionHeader) == "" {
			t.Errorf("%q was answered with %q, %v", asked, got.ProtocolVersion, err)
		}
	}
	header, meta := s.session(newest)
	a := s.do(t.Context(), http.MethodPost, "/mcp", message(1, "tools/call", m{
		"name": "list_files", "arguments": m{}, "_meta": meta,
	}), append(header[:2:2], "Mcp-Method", "tools/call", "Mcp-Name", "list_files")...).want(200)
	a.tool().ok()
	if a.header.Get(sessionHeader) != "" {
		t.Error("it has a session")
	}
}

// Without the token there is a challenge, whatever was asked.
func TestCase_M07(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_MCP_MODE_TOKEN": "mcp-token", "AICODEBOX_API_MODE_TOKEN": "api-token"})
	for _, method := range []string{"GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS"} {
		for _, path := range []string{"/mcp", "/mcp/", "/", "/mcp?apiToken=wrong", "/mcp?apiToken=api-token"} {
			a := s.do(t.Context(), method, path, "{").want(401)
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %s: challenge %q", method, path, a.header.Get("WWW-Authenticate"))
			}
		}
	}
	init := initialize("2025-06-18")
	s.do(t.Context(), "POST", "/mcp", init, "Authorization", "Bearer api-token").want(401)
	s.do(t.Context(), "POST", "/mcp", init, "Authorization", "bearer mcp-token").want(200)
	for _, path := range []string{"/mcp?apiToken=mcp-token", "/mcp/?apiToken=mcp-token", "/?x=1&apiToken=mcp-token"} {
		s.do(t.Context(), "POST", path, init).want(200)
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp", "/mcp/x", "/register"} {
		a := s.do(t.Context(), "GET", path, "").want(404)
		if !strings.Contains(a.header.Get("Content-Type"), "json") || !json.Valid(a.body) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	s.do(t.Context(), "GET", "/healthz", "").want(200)
}

func TestPaths(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, path := range []string{"/mcp", "/mcp/", "/"} {
		s.do(t.Context(), "POST", path, initialize("2025-06-18")).want(200)
	}
	s.do(t.Context(), "POST", "/mcp", "\xef\xbb\xbf"+initialize("2025-06-18")).want(200)
	s.do(t.Context(), "POST", "/mcp", "{").want(400)
	s.do(t.Context(), "POST", "/mcp", strings.Repeat(" ", maxBody+1)).want(413)
	a := s.do(t.Context(), "OPTIONS", "/mcp", "", "Origin", "http://localhost:6274", "Access-Control-Request-Method", "POST").want(204)
	if a.header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("%v", a.header)
	}
}

// Messages may be larger than the library allows by default.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	r := s.tool("write_file", m{"path": "large", "content": strings.Repeat("x", 4<<20)}).ok()
	if r.fields()["size"] != float64(4<<20) {
		t.Errorf("%s", r.raw)
	}
}

// The standing stream of a session shows that it lives, and does not hold up
// the end of the box.
func TestStandingStream(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(s *surface) { s.beat = 20 * time.Millisecond })
	header, _ := s.session("2025-06-18")
	res, err := s.send(t.Context(), http.MethodGet, "/mcp", "", header...)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	var seen strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(seen.String(), ": keep-alive\n\n") {
		n, err := res.Body.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v after %q", err, seen.String())
		}
	}
	go func() { _ = s.box.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Errorf("the stream's end: %v", err)
	}
}

// The server ends in order: runs in hand are answered.
func TestServe(t *testing.T) {
	t.Parallel()
	at := make(chan string, 1)
	s := start(t, nil)
	alone := &surface{box: s.box, host: "127.0.0.1", sync: time.Minute, beat: beat, stall: stall}
	alone.listen = func(addr net.Addr) { at <- addr.String() }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- alone.Serve(ctx) }()
	s.url = "http://" + <-at
	answer := make(chan result, 1)
	go func() {
		answer <- s.tool("run_prompt", m{"prompt": "TOUCH:started\nAWAIT:go\nSAY:done", "workspace": "a"})
	}()
	s.appears("a/started")
	stop()
	s.write("a/go", "")
	if r := (<-answer).ok(); r.text() != "done" {
		t.Errorf("%s", r.raw)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func FuzzGuard(f *testing.F) {
	for _, seed := range []string{"", "localhost", "localhost:1", "[::1]:2", "[::1", "::1", "127.0.0.1.evil", "null", "http://localhost", "http://[::1]:9"} {
		f.Add(seed)
	}
	g := guard{hosts: []string{"box.example.test"}, origins: []string{"https://app.example.test"}}
	f.Fuzz(func(t *testing.T, value string) {
		if g.passesHost(value) {
			if name := hostname(value); name != "box.example.test" && !isLoopback(name) {
				t.Errorf("the host %q passes", value)
			}
		}
		if g.passesOrigin(value) && !strings.Contains(strings.ToLower(value), "app.example.test") && !strings.Contains(value, "://") {
			t.Errorf("the origin %q passes", value)
		}
	})
}
