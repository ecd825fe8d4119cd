package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
	"github.com/psyb0t/aicodebox/internal/httpd"
)

func TestMain(m *testing.M) {
	fakeagent.Main()
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "write the golden files anew")

// server is the endpoint of a box under test, behind the handlers that the
// run API's server puts around it.
type server struct {
	t    testing.TB
	box  *aicodebox.Box
	s    *surface
	url  string
	root string // of the workspaces
}

// start serves the endpoint of a box with the settings env until the test
// ends. The models are fast, smart and acme/m-1, beside those that mean
// something to the fake agent.
func start(t testing.TB, env boxtest.Env, change ...func(*surface)) *server {
	t.Helper()
	all := boxtest.Env{
		"AICODEBOX_AVAILABLE_MODELS":  "fast,smart,acme/m-1,argv,noread,missing",
		"AICODEBOX_AVAILABLE_EFFORTS": "off,low,high",
	}
	for name, value := range env {
		all[name] = value
	}
	s := &surface{}
	box := boxtest.New(t, all, aicodebox.Seat(s))
	if err := s.Init(box); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(s)
	}
	_, handler := s.Handler()
	log := boxtest.Log(t)
	web := httptest.NewServer(httpd.Observe(log, fail)(httpd.Progress(time.Minute)(handler)))
	t.Cleanup(web.Close)
	return &server{t: t, box: box, s: s, url: web.URL, root: box.Workspaces().Dir()}
}

// answered is a response with its body read.
type answered struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

func (s *server) request(ctx context.Context, method, path, body string, header ...string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func (s *server) do(method, path, body string, header ...string) answered {
	s.t.Helper()
	res, err := http.DefaultClient.Do(s.request(s.t.Context(), method, path, body, header...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("the body is cut: %v", err)
	}
	return answered{s.t, res.StatusCode, res.Header, data}
}

const chatPath = "/v1/chat/completions"

// chat posts a chat: a string as it is, anything else as JSON.
func (s *server) chat(body any, header ...string) answered {
	s.t.Helper()
	return s.do(http.MethodPost, chatPath, text(body), header...)
}

func text(body any) string {
	if s, ok := body.(string); ok {
		return s
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// m is a JSON object.
type m = map[string]any

// ask is a chat of one message of a user, with more fields.
func ask(prompt string, more ...m) m {
	body := m{"model": "fast", "messages": []m{{"role": "user", "content": prompt}}}
	for _, fields := range more {
		for name, value := range fields {
			body[name] = value
		}
	}
	return body
}

// want fails the test unless the answer has this status.
func (a answered) want(status int) answered {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// completion is the answer as a completion.
func (a answered) completion() completion {
	a.t.Helper()
	a.want(200)
	var c completion
	if err := json.Unmarshal(a.body, &c); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	if len(c.Choices) != 1 {
		a.t.Fatalf("%d choices: %s", len(c.Choices), a.body)
	}
	return c
}

// content is what the assistant says in a completion.
func (a answered) content() string {
	a.t.Helper()
	message := a.completion().Choices[0].Message
	if message.Content == nil {
		a.t.Fatalf("there is no content: %s", a.body)
	}
	return *message.Content
}

// error is the answer as an error of that status, in the right form.
func (a answered) error(status int) envelopeError {
	a.t.Helper()
	a.want(status)
	if got := a.header.Get("Content-Type"); got != "application/json" {
		a.t.Errorf("content type %q", got)
	}
	return envelopeOf(a.t, a.body)
}

// envelopeOf reads an error and checks that it has all its members, and none
// besides.
func envelopeOf(t testing.TB, data []byte) envelopeError {
	t.Helper()
	var all map[string]map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatalf("it is no error: %v: %s", err, data)
	}
	if len(all) != 1 || len(all["error"]) != 4 {
		t.Fatalf("it is no error: %s", data)
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil || e.Error.Message == "" || e.Error.Type == "" {
		t.Fatalf("it is no error: %v: %s", err, data)
	}
	return e.Error
}

// frame is one event of a stream.
type frame struct {
	name string
	data string
}

// frames takes a stream apart.
func frames(t testing.TB, body []byte) []frame {
	t.Helper()
	var (
		out  []frame
		next frame
	)
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "":
			if next.data == "" {
				t.Fatalf("an event without data: %q", body)
			}
			out, next = append(out, next), frame{}
		case strings.HasPrefix(line, ":"):
		case strings.HasPrefix(line, "event: "):
			next.name = line[len("event: "):]
		case strings.HasPrefix(line, "data: ") && next.data == "":
			next.data = line[len("data: "):]
		default:
			t.Fatalf("a line %q in the stream", line)
		}
	}
	return out
}

// streamed is a stream put together.
type streamed struct {
	text      string
	reasoning string
	calls     []toolCall
	finish    string
	usage     *usage
	failure   *envelopeError
	done      bool
	native    []frame
	chunks    int

	pieces strings.Builder
}

// assemble puts a stream together as a strict client would.
func assemble(t testing.TB, body []byte) *streamed {
	t.Helper()
	s := &streamed{}
	for _, f := range frames(t, body) {
		if s.done || s.failure != nil {
			t.Fatalf("an event after the end: %q", f.data)
		}
		switch {
		case f.name != "":
			s.native = append(s.native, f)
		case f.data == "[DONE]":
			s.done = true
		case strings.HasPrefix(f.data, `{"error":`):
			e := envelopeOf(t, []byte(f.data))
			s.failure = &e
		default:
			s.add(t, f.data)
		}
	}
	s.text = s.pieces.String()
	return s
}

func (s *streamed) add(t testing.TB, data string) {
	t.Helper()
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if len(c.Choices) == 0 {
		var u usage
		if err := json.Unmarshal(c.Usage, &u); err != nil || s.finish == "" || s.usage != nil {
			t.Fatalf("a usage chunk in the wrong place: %s", data)
		}
		s.usage = &u
		return
	}
	d := c.Choices[0].Delta
	if first := s.chunks == 0; first != (d.Role == "assistant") || s.finish != "" {
		t.Fatalf("a chunk in the wrong place: %s", data)
	}
	s.chunks++
	if d.Content != nil {
		s.pieces.WriteString(*d.Content)
	}
	s.reasoning += d.Reasoning
	s.calls = append(s.calls, d.Calls...)
	if f := c.Choices[0].Finish; f != nil {
		if !strings.Contains(data, `"delta":{}`) {
			t.Fatalf("the last chunk has a delta: %s", data)
		}
		s.finish = *f
	}
}

// stream posts a chat that is to be streamed.
func (s *server) stream(body m, header ...string) *streamed {
	s.t.Helper()
	body["stream"] = true
	a := s.chat(body, header...).want(200)
	if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		s.t.Fatalf("content type %q", got)
	}
	return assemble(s.t, a.body)
}

// echo is what the fake agent tells of itself.
type echo struct {
	Argv  []string `json:"argv"`
	Cwd   string   `json:"cwd"`
	Stdin string   `json:"stdin"`
}

func echoOf(t testing.TB, content string) echo {
	t.Helper()
	var e echo
	if err := json.Unmarshal([]byte(content), &e); err != nil {
		t.Fatalf("no echo: %v: %s", err, content)
	}
	return e
}

func (e echo) has(word string) bool {
	for _, w := range e.Argv {
		if w == word {
			return true
		}
	}
	return false
}

var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`chatcmpl-[0-9a-f]{32}`), "chatcmpl-ID"},
	{regexp.MustCompile(`call_[A-Z2-7]{24}`), "call_ID"},
	{regexp.MustCompile(`"created":\d{10}`), `"created":0`},
	{regexp.MustCompile(`=== [A-Z2-7]{8}`), "=== CODE"},
	{regexp.MustCompile(`\[(image|file|audio): [^\]]*/`), "[$1: DIR/"},
}

// golden compares got with the file testdata/name, after what differs from
// run to run was replaced.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	for _, c := range changing {
		got = c.pattern.ReplaceAll(got, []byte(c.with))
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func readAll(t testing.TB, r io.Reader) []byte {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t testing.TB, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}
