package cron

import (
	"bytes"
	"encoding/json"
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

// piMain is the main function of a pibox with a scheduler and a Telegram bot.
const piMain = `package main

import (
	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/cron"
	"github.com/psyb0t/aicodebox/telegram"
)

func main() { aicodebox.Run(PiAdapter{}, aicodebox.Brand("pibox"), telegram.Surface(), cron.Surface()) }
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
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{example: main}})
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, map[string]string{main: piMain, overlay: string(replace)})
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", binary, "../examples/pibox").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
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

// piLog keeps what a pibox logs.
type piLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *piLog) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

// TestRealPi runs jobs by the real clock with the real pi, and tells a
// Telegram chat and a topic. A reply to the second part of a notice knows what
// it was about.
func TestRealPi(t *testing.T) {
	t.Parallel()
	agents, binary := piDir(t), buildPibox(t)
	model, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	api := fakebotapi.New(t)
	api.Forum(-100, 42)
	api.Text(7, "/help") // bots cannot write to people who never wrote to them
	state, pi := t.TempDir(), t.TempDir()
	long := "begin " + strings.Repeat("word ", 1500) + "finish"
	jobs := `model: fake/fake-1
telegram_chat_id: 7
jobs:
  - {name: report, schedule: "*/1 * * * * *", instruction: "SAY:` + long + `", workspace: r}
  - {name: topic, schedule: "*/1 * * * * *", instruction: "SAY:to the topic", workspace: t, telegram_chat_id: -100, telegram_thread_id: 42}
`
	file := filepath.Join(state, "jobs.yaml")
	writeFiles(t, map[string]string{
		file:                                 jobs,
		filepath.Join(state, "telegram.yml"): "allowed_chats: [7]\n",
		filepath.Join(pi, "settings.json"):   `{"retry": {"enabled": false}}`,
		filepath.Join(pi, "models.json"): fmt.Sprintf(`{"providers": {"fake": {"baseUrl": "%s/v1", "apiKey": "$FAKE_KEY", "api": "openai-completions",
			"models": [{"id": "fake-1", "reasoning": true, "contextWindow": 4000000, "maxTokens": 8192}]}}}`, model.URL),
	})
	log := &piLog{}
	box := exec.CommandContext(t.Context(), binary)
	box.Stderr = log
	box.Env = append(os.Environ(),
		"PATH="+agents+string(os.PathListSeparator)+os.Getenv("PATH"), "PI_CODING_AGENT_DIR="+pi, "PI_OFFLINE=1", "FAKE_KEY=k",
		"PIBOX_CRON_MODE=1", "PIBOX_CRON_MODE_FILE="+file,
		"PIBOX_TELEGRAM_MODE=1", "PIBOX_TELEGRAM_MODE_TOKEN="+fakebotapi.Token, "PIBOX_TELEGRAM_MODE_API_URL="+api.URL,
		"PIBOX_AVAILABLE_MODELS=fake/fake-1", "PIBOX_WORKSPACE="+t.TempDir(), "PIBOX_STATE_DIR="+state, "PIBOX_SHUTDOWN_GRACE_SECONDS=2",
	)
	if err := box.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = box.Process.Kill()
		if t.Failed() {
			log.mu.Lock()
			defer log.mu.Unlock()
			t.Log(log.text.String())
		}
	})

	last := shows(api, "finish")
	if topic := shows(api, "to the topic"); topic.Params["message_thread_id"] != "42" || topic.Params["chat_id"] != "-100" {
		t.Errorf("the notice went to %v", topic.Params)
	}
	writeFiles(t, map[string]string{file: strings.ReplaceAll(jobs, "workspace:", "enabled: false, workspace:")})
	if err := box.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	var sent struct {
		ID int `json:"message_id"`
	}
	if err := json.Unmarshal(last.Result, &sent); err != nil {
		t.Fatal(err)
	}
	history := filepath.Join(state, "cron")
	run := lines(t, history, "report")[0]
	var n notified
	eventually(t, "the messages are noted", func() bool {
		data, err := os.ReadFile(filepath.Join(run.HistoryDir, "telegram.json"))
		return err == nil && json.Unmarshal(data, &n) == nil
	})
	if len(n.MessageIDs) < 2 || n.MessageIDs[len(n.MessageIDs)-1] != sent.ID || n.ChatID != 7 {
		t.Errorf("noted %+v; the last part is %d", n, sent.ID)
	}
	if result, err := os.ReadFile(filepath.Join(run.HistoryDir, "result.txt")); err != nil || string(result) != long {
		t.Errorf("result.txt: %.60q, %v", result, err)
	}

	bot := map[string]any{"id": fakebotapi.BotID, "is_bot": true, "first_name": "Bot"}
	api.Write(7, map[string]any{"text": "SAY:the reply is heard", "reply_to_message": map[string]any{
		"message_id": sent.ID, "from": bot, "text": "finish",
	}})
	shows(api, "the reply is heard")
	var prompt string
	for _, r := range model.Requests() {
		if strings.Contains(r.User(), "the reply is heard") {
			prompt = r.User()
		}
	}
	for _, want := range []string{`scheduled job "report"`, "> SAY:begin word", "> begin word", run.HistoryDir} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt lacks %s: %.600q", want, prompt)
		}
	}
	if err := box.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := box.Wait(); err != nil {
		t.Errorf("the box ended with %v", err)
	}
}

// shows waits, long enough for the real pi on a busy machine, for the bot to
// show text.
func shows(api *fakebotapi.Server, text string) fakebotapi.Call {
	return api.WaitFor(2*time.Minute, "message with "+text, func(c fakebotapi.Call) bool {
		return strings.Contains(c.Params["text"], text) && c.Status == 200
	})
}
