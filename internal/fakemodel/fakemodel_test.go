package fakemodel

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// start runs a server for one test.
func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// interfaces are the requests that ask the same over every interface.
var interfaces = []struct{ name, path, whole, streamed, body string }{
	{
		"chat", "/v1/chat/completions", "", "",
		`{"model":"fake-1","stream":STREAM,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":PROMPT}]}],"tools":[{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{"type":"string"}}}}}]}`,
	},
	{
		"responses", "/v1/responses", "", "",
		`{"model":"fake-1","stream":STREAM,"instructions":"Be brief.","input":[{"role":"user","content":[{"type":"input_text","text":PROMPT}]}],"tools":[{"type":"function","name":"bash","parameters":{"properties":{"command":{"type":"string"}}}}]}`,
	},
	{
		"messages", "/v1/messages", "", "",
		`{"model":"fake-1","stream":STREAM,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>SAY:no</system-reminder>"},{"type":"text","text":PROMPT}]}],"tools":[{"name":"bash","input_schema":{"properties":{"command":{"type":"string"}}}}]}`,
	},
	{
		"google", "/v1beta/models/fake-1", ":generateContent", ":streamGenerateContent?alt=sse",
		`{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":PROMPT}]}],"tools":[{"functionDeclarations":[{"name":"bash","parameters":{"properties":{"command":{"type":"string"}}}}]}]}`,
	},
}

// ask posts a prompt over interface i and returns status and body.
func ask(t *testing.T, s *Server, i int, prompt string, stream bool) (int, string) {
	t.Helper()
	api := interfaces[i]
	quoted, err := json.Marshal(prompt)
	if err != nil {
		t.Fatal(err)
	}
	path, flag := api.path+api.whole, "false"
	if stream {
		path, flag = api.path+api.streamed, "true"
	}
	body := strings.NewReplacer("PROMPT", string(quoted), "STREAM", flag).Replace(api.body)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret-key")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// TestWire compares every interface's answers with recorded ones. With
// UPDATE_GOLDEN=1 it records them anew.
func TestWire(t *testing.T) {
	t.Parallel()
	prompts := map[string]string{
		"text": "THINK:let me see ;; SAY:The answer is 42, I think.", "tool": "TOOL:echo hi", "error": "ERR:401",
		"limit": "SAY:cut ;; LEN", "refusal": "SAY:no ;; REFUSE", "cut": "SAY:half ;; CUT",
	}
	for i, api := range interfaces {
		for name, prompt := range prompts {
			for _, mode := range []string{"whole", "stream"} {
				t.Run(api.name+"/"+name+"/"+mode, func(t *testing.T) {
					t.Parallel()
					status, body := ask(t, start(t), i, prompt, mode == "stream")
					if want := map[bool]int{true: 401, false: 200}[name == "error"]; status != want {
						t.Errorf("status is %d; want %d", status, want)
					}
					golden(t, api.name+"-"+name+"-"+mode, scrub(body))
				})
			}
		}
	}
}

// scrub takes the time out of a body.
func scrub(body string) string {
	for _, field := range []string{`"created":`, `"created_at":`} {
		parts := strings.Split(body, field)
		for i := range parts[1:] {
			parts[i+1] = "0" + strings.TrimLeft(parts[i+1], "0123456789")
		}
		body = strings.Join(parts, field)
	}
	return body
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	for i, api := range interfaces {
		t.Run(api.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			ask(t, s, i, "SAY:hello", true)
			got := s.Requests()
			if len(got) != 1 {
				t.Fatalf("the log has %d requests; want 1", len(got))
			}
			r := got[0]
			if r.API != api.name || r.Model != "fake-1" || r.Key != "secret-key" || !r.Stream ||
				r.System != "Be brief." || r.User() != "SAY:hello" || r.Prompt != 9 || r.Size != len(r.Body) ||
				len(r.Tools) != 1 || r.Tools[0].Name != "bash" {
				t.Errorf("the log says %+v", r)
			}
		})
	}
}

func TestLogOverHTTP(t *testing.T) {
	t.Parallel()
	s := start(t)
	ask(t, s, 0, "SAY:hello", false)
	var log []Request
	fetch(t, http.MethodGet, s.URL+"/_log", &log)
	if len(log) != 1 || log[0].User() != "SAY:hello" {
		t.Errorf("the log is %+v", log)
	}
	fetch(t, http.MethodDelete, s.URL+"/_log", nil)
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests are left after DELETE", n)
	}
	var models struct{ Data []struct{ ID string } }
	fetch(t, http.MethodGet, s.URL+"/v1/models", &models)
	if len(models.Data) != len(Models) {
		t.Errorf("models are %+v", models)
	}
}

func fetch(t *testing.T, method, url string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if into != nil {
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQueueAndScript(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Queue(Say("queued"), Fail(503))
	s.Script(func(r Request) Response {
		if r.User() == "SAY:mine" {
			return Use("bash", map[string]string{"command": "ls"})
		}
		return s.Answer(r)
	})
	for _, want := range []struct {
		prompt string
		status int
		part   string
	}{
		{"SAY:x", 200, `"queued"`},
		{"SAY:x", 503, "not available"},
		{"SAY:mine", 200, `{\"command\":\"ls\"}`},
		{"SAY:scripted", 200, `"scripted"`},
	} {
		status, body := ask(t, s, 0, want.prompt, false)
		if status != want.status || !strings.Contains(body, want.part) {
			t.Errorf("%s: %d %s; want %d with %s", want.prompt, status, body, want.status, want.part)
		}
	}
}

func TestHangEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/chat/completions",
		strings.NewReader(`{"messages":[{"role":"user","content":"HANG"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		done <- err
	}()
	if _, err := s.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("HANG was answered")
	}
}

func TestStreamTakesItsTime(t *testing.T) {
	t.Parallel()
	began := time.Now()
	_, body := ask(t, start(t), 0, "STREAM:20@5", true)
	if took := time.Since(began); took < 95*time.Millisecond {
		t.Errorf("20 pieces 5 ms apart took %v", took)
	}
	if n := strings.Count(body, `"content":"w`); n != 20 {
		t.Errorf("the stream has %d pieces; want 20", n)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/v1/chat/completions", `{"messages":`, 400},
		{"/v1/chat/completions", `{"messages":[]}`, 400},
		{"/v1/messages", `{}`, 400},
		{"/v1beta/models/x:embed", `{}`, 400},
		{"/v1/embeddings", `{}`, 404},
	} {
		res, err := http.Post(s.URL+c.path, "application/json", strings.NewReader(c.body)) //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s %s is %d; want %d", c.path, c.body, res.StatusCode, c.status)
		}
	}
}
