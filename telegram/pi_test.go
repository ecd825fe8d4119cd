package telegram

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/fakebotapi"
	"github.com/psyb0t/aicodebox/internal/fakemodel"
)

// piMain is the main function of a pibox that is a Telegram bot.
const piMain = `package main

import (
	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/telegram"
)

func main() { aicodebox.Run(PiAdapter{}, aicodebox.Brand("pibox"), telegram.Surface()) }
`

// buildPibox builds it from the example's adapter.
func buildPibox(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	example, err := filepath.Abs("../examples/pibox/main.go")
	if err != nil {
		t.Fatal(err)
	}
	main, overlay, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "pibox")
	for name, text := range map[string]string{main: piMain, overlay: jsonOf(map[string]any{"Replace": map[string]string{example: main}})} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", binary, "../examples/pibox").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// piDir is where the real pi is: of the directory that AICODEBOX_TEST_AGENTS
// names, or of the repository's cache.
func piDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("AICODEBOX_TEST_AGENTS")
	if dir == "" {
		dir = filepath.Join("..", ".cache", "agents")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pi")); err != nil {
		t.Fatal("this test needs the real pi: run `make agents` once, or name its directory in AICODEBOX_TEST_AGENTS")
	}
	return dir
}

// piProcess is a pibox that runs.
type piProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	mu  sync.Mutex
	log bytes.Buffer
}

// Write keeps the log.
func (p *piProcess) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(data)
}

func startPi(t *testing.T, binary string, env []string) *piProcess {
	t.Helper()
	p := &piProcess{t: t, cmd: exec.Command(binary)} //nolint:noctx // it is ended by a signal
	p.cmd.Env, p.cmd.Stderr = env, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		if t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Log(p.log.String())
		}
	})
	return p
}

// stop ends it as an operator does.
func (p *piProcess) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("pibox ended with %v", err)
	}
}

// TestRealPi drives a bot with the real pi behind it and a scripted model
// behind that.
func TestRealPi(t *testing.T) {
	t.Parallel()
	agents := piDir(t)
	model, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	api := fakebotapi.New(t)
	state, pi := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(state, "telegram.yml"): "allowed_chats: [7]\n",
		filepath.Join(pi, "settings.json"):   `{"retry": {"enabled": false}}`,
		filepath.Join(pi, "models.json"): fmt.Sprintf(`{"providers": {"fake": {"baseUrl": "%s/v1", "apiKey": "$FAKE_KEY", "api": "openai-completions",
			"models": [{"id": "fake-1", "reasoning": true, "contextWindow": 4000000, "maxTokens": 8192}]}}}`, model.URL),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(),
		"PATH="+agents+string(os.PathListSeparator)+os.Getenv("PATH"), "PI_CODING_AGENT_DIR="+pi, "PI_OFFLINE=1", "FAKE_KEY=k",
		"PIBOX_TELEGRAM_MODE=1", "PIBOX_TELEGRAM_MODE_TOKEN="+fakebotapi.Token, "PIBOX_TELEGRAM_MODE_API_URL="+api.URL,
		"PIBOX_AVAILABLE_MODELS=fake/fake-1", "PIBOX_WORKSPACE="+t.TempDir(), "PIBOX_STATE_DIR="+state, "PIBOX_SHUTDOWN_GRACE_SECONDS=1",
	)
	binary := buildPibox(t)
	box := startPi(t, binary, env)

	api.Text(ann, "/model fake/fake-1")
	shows(api, "Model: fake/fake-1")
	api.Text(ann, "SAY:Hello **there** & you, first of the session")
	if c := shows(api, "first of the session"); c.Params["text"] != "Hello <b>there</b> &amp; you, first of the session" {
		t.Errorf("sent %q", c.Params["text"])
	}
	api.Text(ann, "TOOL:echo data > made.txt ;; SAY:made it, second of the session [SEND_FILE: made.txt]")
	shows(api, "second of the session")
	if f := api.Sent("sendDocument", "made.txt"); string(f.Files["document"].Content) != "data\n" {
		t.Errorf("sent %q", f.Files["document"].Content)
	}
	api.Text(ann, "/new")
	shows(api, "new conversation")
	api.Text(ann, "SAY:third, in a new session")
	shows(api, "third, in a new session")
	messages := map[string]int{}
	for _, r := range model.Requests() {
		messages[r.User()] = max(messages[r.User()], len(r.Messages))
	}
	for prompt, n := range messages {
		if strings.Contains(prompt, "second") && n < 4 || strings.Contains(prompt, "third") && n != 1 {
			t.Errorf("the model saw %d messages with %q", n, prompt)
		}
	}
	api.Text(ann, "ERR:401")
	shows(api, "model provider answered 401")

	api.Text(ann, "TOOL:touch on; sleep 600 ;; SAY:never")
	shows(api, "bash") // the progress message names the tool
	api.Text(ann, "SAY:fourth, after the restart")
	shows(api, "1 before this one")
	box.stop()
	box = startPi(t, binary, env)
	shows(api, "was restarted")
	shows(api, "fourth, after the restart")
	box.stop()
	told := 0
	for _, c := range api.Calls() {
		if strings.Contains(c.Params["text"], "was restarted") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the chat was told %d times", told)
	}
}

// shows waits, long enough for the real pi on a busy machine, for the bot to
// show text.
func shows(api *fakebotapi.Server, text string) fakebotapi.Call {
	return api.WaitFor(2*time.Minute, "message with "+text, func(c fakebotapi.Call) bool {
		return strings.Contains(c.Params["text"], text) && c.Status == 200
	})
}
