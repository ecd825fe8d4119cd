package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/psyb0t/aicodebox/internal/fakeagent"
)

// boxMark is the environment variable that turns the test binary into a box.
const boxMark = "MCP_TEST_BOX"

// process is a whole box, a process of its own.
type process struct {
	*testServer
	cmd *exec.Cmd

	mu  sync.Mutex
	log bytes.Buffer
}

func boxCommand(t *testing.T, root string, args, settings []string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), fakeagent.Command(), args...)
	cmd.Env = append(os.Environ(), boxMark+"=1", "HOME="+t.TempDir(), "AICODEBOX_WORKSPACE="+root, "AICODEBOX_STATE_DIR="+t.TempDir(),
		"AICODEBOX_AVAILABLE_MODELS=fast", "AICODEBOX_LOG_FORMAT=json", "AICODEBOX_LOG_LEVEL=debug")
	for _, s := range settings {
		cmd.Env = append(cmd.Env, "AICODEBOX_"+s)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

// startBox starts a box around the fake agent with settings, NAME=value without
// the prefix, and waits for the log line that says where it listens.
func startBox(t *testing.T, listens string, settings ...string) *process {
	t.Helper()
	root := t.TempDir()
	p := &process{cmd: boxCommand(t, root, nil, settings), testServer: &testServer{t: t, root: root}}
	errs, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	at, read := make(chan string, 1), make(chan struct{})
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-read
		_ = p.cmd.Wait()
	})
	go func() {
		defer close(read)
		defer close(at)
		for in := bufio.NewScanner(errs); in.Scan(); {
			p.mu.Lock()
			p.log.WriteString(in.Text() + "\n")
			p.mu.Unlock()
			var line struct{ Msg, Address string }
			if json.Unmarshal(in.Bytes(), &line) == nil && line.Msg == listens {
				at <- line.Address
			}
		}
	}()
	address, ok := <-at
	if !ok {
		t.Fatalf("the box does not serve:\n%s", p.log.String())
	}
	p.url = "http://" + address
	return p
}

// On the run API's server MCP has its own token, and no redirect.
func TestSeated(t *testing.T) {
	t.Parallel()
	p := startBox(t, "the API listens", "API_MODE=1", "API_MODE_HOST=127.0.0.1", "API_MODE_PORT=0", "API_MODE_TOKEN=api-token",
		"API_MODE_CORS_ORIGINS=https://app.example", "MCP_MODE=1", "MCP_MODE_TOKEN=mcp-token")
	init := initialize("2025-06-18")
	for _, path := range []string{"/mcp", "/mcp/"} {
		p.do(t.Context(), "POST", path, init).want(401)
		p.do(t.Context(), "POST", path, init, "Authorization", "Bearer api-token").want(401)
		p.do(t.Context(), "POST", path, init, "Authorization", "Bearer mcp-token").want(200)
		p.do(t.Context(), "POST", path+"?apiToken=mcp-token", init).want(200)
	}
	p.do(t.Context(), "GET", "/status", "", "Authorization", "Bearer mcp-token").want(401)
	p.do(t.Context(), "POST", "/mcp", init, "Authorization", "Bearer mcp-token", "Origin", "https://app.example").want(403)
	if a := p.do(t.Context(), "GET", "/.well-known/oauth-protected-resource/mcp", "").want(404); !json.Valid(a.body) {
		t.Errorf("%s", a.body)
	}
	if r := p.tool("run_prompt", m{"prompt": "SAY:hello", "workspace": "a"}, "Authorization", "Bearer mcp-token").ok(); r.text() != "hello" {
		t.Errorf("%s", r.raw)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, secret := range []string{"mcp-token", "api-token", "SAY:hello"} {
		if strings.Contains(p.log.String(), secret) {
			t.Errorf("the log has %s:\n%s", secret, p.log.String())
		}
	}
}

// Alone it has a port of its own, and answers what is in hand when it is told
// to stop.
func TestAlone(t *testing.T) {
	t.Parallel()
	p := startBox(t, "MCP is served", "MCP_MODE=1", "MCP_MODE_HOST=127.0.0.1", "MCP_MODE_PORT=0")
	for _, path := range []string{"/mcp", "/mcp/", "/"} {
		p.do(t.Context(), "POST", path, initialize("2025-06-18")).want(200)
	}
	p.do(t.Context(), "GET", "/healthz", "").want(200)
	p.do(t.Context(), "POST", "/run", "{}").want(404)
	header, _ := p.session("2025-06-18")
	standing, err := p.send(t.Context(), http.MethodGet, "/mcp", "", header...)
	if err != nil {
		t.Fatal(err)
	}
	defer standing.Body.Close()
	answer := make(chan result, 1)
	go func() {
		answer <- p.call(t.Context(), m{"name": "run_prompt", "arguments": m{"prompt": "TOUCH:started\nAWAIT:go\nSAY:done", "workspace": "a"}}, header...)
	}()
	p.appears("a/started")
	p.do(t.Context(), "GET", "/healthz", "").want(200) // a run does not hold up the rest
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.write("a/go", "")
	if r := (<-answer).ok(); r.text() != "done" {
		t.Errorf("%s", r.raw)
	}
	p.mu.Lock()
	open := strings.Contains(p.log.String(), "MCP IS OPEN")
	p.mu.Unlock()
	if !open {
		t.Error("nothing warns of the open server")
	}
}

// A client can start the server itself.
func TestBoxMCP(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := &testServer{t: t, root: root}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: boxCommand(t, root, []string{"box", "mcp"}, nil)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_prompt", Arguments: m{"prompt": "TOUCH:started\nSAY:hello", "workspace": "a"}})
	if err != nil || res.IsError || res.Content[0].(*sdk.TextContent).Text != "hello" {
		t.Errorf("%v, %v", res, err)
	}
	s.appears("a/started")
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}
