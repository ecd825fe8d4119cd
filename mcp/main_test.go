package mcp

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
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/api"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	fakeagent.Main()
	if os.Getenv(boxMark) == "1" {
		aicodebox.Run(boxtest.Adapter{}, api.Surface(), Surface())
	}
	os.Exit(m.Run())
}

// testServer is the MCP server of a box under test, on a port of its own.
type testServer struct {
	t    testing.TB
	box  *aicodebox.Box
	s    *surface
	url  string // without a path
	root string // of the workspaces
}

// start serves a box with the settings env until the test ends.
func start(t testing.TB, env boxtest.Env, change ...func(*surface)) *testServer {
	t.Helper()
	all := boxtest.Env{
		"AICODEBOX_AVAILABLE_MODELS":  "fast,smart,missing",
		"AICODEBOX_AVAILABLE_EFFORTS": "low,high",
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
	web := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		s.flights.end(errHungUp)
		s.server().close()
	})
	return &testServer{t: t, box: box, s: s, url: web.URL, root: box.Workspaces().Dir()}
}

// on is the same server for a part of a test.
func (s *testServer) on(t testing.TB) *testServer {
	part := *s
	part.t = t
	return &part
}

// answered is a response with its body read.
type answered struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// do sends a request. header is names and values in turn; Host is one, too.
func (s *testServer) do(ctx context.Context, method, path, body string, header ...string) answered {
	s.t.Helper()
	res, err := s.send(ctx, method, path, body, header...)
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

func (s *testServer) send(ctx context.Context, method, path, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	return http.DefaultClient.Do(req)
}

// m is a JSON object.
type m = map[string]any

// message is a request of the protocol.
func message(id any, method string, params any) string {
	data, err := json.Marshal(m{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// initialize is the request that begins a session; "" leaves the version out.
func initialize(version string) string {
	params := m{"capabilities": m{}, "clientInfo": m{"name": "test", "version": "1"}}
	if version != "" {
		params["protocolVersion"] = version
	}
	return message(1, "initialize", params)
}

// want fails the test unless the answer has this status.
func (a answered) want(status int) answered {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// reply is a message that came back.
type reply struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// replies are the messages of the answer, be it a stream or not.
func (a answered) replies() []reply {
	a.t.Helper()
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		var r reply
		if err := json.Unmarshal(a.body, &r); err != nil {
			a.t.Fatalf("%v: %d %s", err, a.status, a.body)
		}
		return []reply{r}
	}
	var list []reply
	in := bufio.NewScanner(bytes.NewReader(a.body))
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		if !ok || data == "" {
			continue
		}
		var r reply
		if err := json.Unmarshal([]byte(data), &r); err != nil {
			a.t.Fatalf("%v: %s", err, data)
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		a.t.Fatalf("no message in the answer: %d %s", a.status, a.body)
	}
	return list
}

func (a answered) last() reply {
	a.t.Helper()
	list := a.replies()
	return list[len(list)-1]
}

// result is what a tool answered.
type result struct {
	t       testing.TB
	raw     string
	IsError bool `json:"isError"`
	Content []struct {
		Type, Text, Data, MimeType string
	}
	Structured json.RawMessage `json:"structuredContent"`
}

// tool calls a tool without a session.
func (s *testServer) tool(name string, args any, header ...string) result {
	s.t.Helper()
	return s.call(s.t.Context(), m{"name": name, "arguments": args}, header...)
}

func (s *testServer) call(ctx context.Context, params any, header ...string) result {
	s.t.Helper()
	a := s.do(ctx, http.MethodPost, "/mcp", message(3, "tools/call", params), header...).want(200)
	return a.tool()
}

func (a answered) tool() result {
	a.t.Helper()
	r := a.last()
	if r.Error != nil {
		a.t.Fatalf("an error of the protocol: %+v", *r.Error)
	}
	return readResult(a.t, r.Result)
}

func readResult(t testing.TB, data json.RawMessage) result {
	t.Helper()
	res := result{t: t, raw: string(data)}
	if err := json.Unmarshal(data, &res); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return res
}

// ok fails the test if the tool failed.
func (r result) ok() result {
	r.t.Helper()
	if r.IsError {
		r.t.Fatalf("the tool failed: %s", r.raw)
	}
	return r
}

// fails fails the test unless the tool did, with all these words.
func (r result) fails(words ...string) result {
	r.t.Helper()
	if !r.IsError {
		r.t.Fatalf("the tool did not fail: %s", r.raw)
	}
	for _, word := range words {
		if !strings.Contains(r.text(), word) {
			r.t.Errorf("%q does not say %q", r.text(), word)
		}
	}
	return r
}

func (r result) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// fields are those of the structured answer.
func (r result) fields() m {
	r.t.Helper()
	var fields m
	if err := json.Unmarshal(r.Structured, &fields); err != nil {
		r.t.Fatalf("%v: %s", err, r.raw)
	}
	return fields
}

// outcome is the structured answer of run_prompt.
func (r result) outcome() outcome {
	r.t.Helper()
	var o outcome
	if err := json.Unmarshal(r.Structured, &o); err != nil {
		r.t.Fatalf("%v: %s", err, r.raw)
	}
	return o
}

// connect connects the library's client in the given version of the protocol.
func (s *testServer) connect(version string, change ...func(*sdk.ClientOptions)) *sdk.ClientSession {
	s.t.Helper()
	o := &sdk.ClientOptions{}
	for _, c := range change {
		c(o)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(s.t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp"},
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}

// appears waits for a file of the workspaces.
func (s *testServer) appears(name string) {
	s.t.Helper()
	s.until("the file "+name, func() bool {
		_, err := os.Stat(filepath.Join(s.root, name))
		return err == nil
	})
}

// until waits for what nobody tells of.
func (s *testServer) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// write puts a file into the workspaces.
func (s *testServer) write(name, content string) {
	s.t.Helper()
	file := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}
