package sdktest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/api"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
	"github.com/psyb0t/aicodebox/openai"
)

// boxMark is the environment variable that turns the test binary into a box.
const boxMark = "OPENAI_TEST_BOX"

func TestMain(m *testing.M) {
	fakeagent.Main()
	if os.Getenv(boxMark) == "1" {
		aicodebox.Run(boxtest.Adapter{}, api.Surface(), openai.Surface())
	}
	os.Exit(m.Run())
}

const token = "sk-test"

// box is a whole box, a process of its own.
type box struct {
	url  string // without /v1
	root string // of the workspaces
}

// startBox starts a box around the fake agent, with more settings, NAME=value
// without the prefix. It ends with the test.
func startBox(t testing.TB, settings ...string) box {
	t.Helper()
	env := []string{boxMark + "=1", "AICODEBOX_AVAILABLE_MODELS=fast,smart,missing"}
	for _, s := range settings {
		env = append(env, "AICODEBOX_"+s)
	}
	return serve(t, exec.CommandContext(t.Context(), fakeagent.Command()), env...)
}

// serve starts a box, whatever its program, and waits until it listens.
func serve(t testing.TB, cmd *exec.Cmd, env ...string) box {
	t.Helper()
	root := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "AICODEBOX_WORKSPACE="+root, "AICODEBOX_STATE_DIR="+t.TempDir(),
		"AICODEBOX_API_MODE=1", "AICODEBOX_API_MODE_HOST=127.0.0.1", "AICODEBOX_API_MODE_PORT=0", "AICODEBOX_API_MODE_TOKEN="+token,
		"AICODEBOX_LOG_FORMAT=json")
	cmd.Env = append(cmd.Env, env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the box does not serve: %v", err)
		}
		t.Log(strings.TrimSpace(line))
		var record struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &record) == nil && record.Msg == "the API listens" {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return box{"http://" + record.Address, root}
		}
	}
}

func (b box) do(t *testing.T, method, path, body string, header ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, data
}

// Behind the server of the run API, the endpoint has its token, its pages of
// other origins, and its place in the documentation; refusals of the server
// have the form of the endpoint.
func TestWholeBox(t *testing.T) {
	t.Parallel()
	b := startBox(t, "API_MODE_CORS_ORIGINS=https://app.example")
	const chat, body = "/v1/chat/completions", `{"messages":[{"role":"user","content":"SAY:hi"}]}`
	const auth, origin = "Authorization", "https://app.example"
	for name, header := range map[string][]string{
		"no token": {"Origin", origin}, "wrong token": {auth, "Bearer nope", "Origin", origin}, "other scheme": {auth, "Basic x", "Origin", origin},
	} {
		for _, path := range []string{chat, "/openai" + chat, "/v1/models", "/v1/nope"} {
			res, data := b.do(t, http.MethodPost, path, "{", header...)
			var e struct {
				Error map[string]any `json:"error"`
			}
			if err := json.Unmarshal(data, &e); err != nil || res.StatusCode != 401 || e.Error["code"] != "invalid_api_key" || len(e.Error) != 4 {
				t.Errorf("%s, %s: %d %s", name, path, res.StatusCode, data)
			}
			if res.Header.Get("WWW-Authenticate") != "Bearer" || res.Header.Get("Access-Control-Allow-Origin") != origin {
				t.Errorf("%s, %s: headers %v", name, path, res.Header)
			}
		}
	}
	for _, path := range []string{chat, chat + "/", "/openai" + chat, "/openai" + chat + "/"} {
		if res, data := b.do(t, http.MethodPost, path, body, auth, "bearer "+token); res.StatusCode != 200 || !strings.Contains(string(data), `"content":"hi"`) {
			t.Errorf("%s: %d %s", path, res.StatusCode, data)
		}
	}
	if res, data := b.do(t, http.MethodGet, "/v1/models/openai%2Ffast/", "", auth, "Bearer "+token); res.StatusCode != 200 {
		t.Errorf("a model by an escaped name: %d %s", res.StatusCode, data)
	}
	res, _ := b.do(t, http.MethodOptions, chat, "", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, x-stainless-os")
	if res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Headers") != "authorization, x-stainless-os" {
		t.Errorf("preflight: %d %v", res.StatusCode, res.Header)
	}
	if res, data := b.do(t, http.MethodPost, chat, strings.Repeat(" ", 17<<20), auth, "Bearer "+token); res.StatusCode != 413 || !strings.Contains(string(data), "request_too_large") {
		t.Errorf("large body: %d %s", res.StatusCode, data)
	}
	if _, data := b.do(t, http.MethodGet, "/openapi.json", ""); !strings.Contains(string(data), `"/v1/chat/completions"`) {
		t.Error("the endpoint is not documented")
	}
}

// A box whose chats' workspace cannot be does not start.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"../x", "/etc"} {
		cmd := exec.CommandContext(t.Context(), fakeagent.Command())
		cmd.Env = append(os.Environ(), boxMark+"=1", "AICODEBOX_WORKSPACE="+t.TempDir(), "AICODEBOX_STATE_DIR="+t.TempDir(), "AICODEBOX_API_MODE=1",
			"AICODEBOX_API_MODE_PORT=0", "AICODEBOX_AVAILABLE_MODELS=fast", "AICODEBOX_API_MODE_CHAT_WORKSPACE="+value, "AICODEBOX_API_MODE_REASONING=maybe")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "API_MODE_CHAT_WORKSPACE") || !strings.Contains(string(out), "API_MODE_REASONING") {
			t.Errorf("%v: %s", err, out)
		}
	}
}
