package telegram

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
	"github.com/psyb0t/aicodebox/internal/fakebotapi"
)

func TestMain(m *testing.M) {
	fakeagent.Main()
	os.Exit(m.Run())
}

// testPace is a bot in a hurry.
var testPace = pace{
	poll: 10 * time.Second, retry: 5 * time.Millisecond, calm: 40 * time.Millisecond, progress: 30 * time.Second,
	typing: 50 * time.Millisecond, receipt: 200 * time.Millisecond, album: 120 * time.Millisecond, stranger: time.Hour,
}

// bench is a bot under test with the server it talks to. The bot can be
// stopped and started again on the same state.
type bench struct {
	t     testing.TB
	api   *fakebotapi.Server
	env   boxtest.Env
	pace  pace
	log   *logged
	box   *aicodebox.Box
	bot   *surface
	stop  context.CancelFunc
	ended chan error
}

// ann is the chat that every bench lets in.
const ann = 7

// start serves a bot with the configuration config. "ann" in it is allowed
// unless config has allowed_chats.
func start(t testing.TB, config string, env boxtest.Env) *bench {
	t.Helper()
	b := prepare(t, config, env)
	b.run()
	return b
}

func prepare(t testing.TB, config string, env boxtest.Env) *bench {
	t.Helper()
	b := &bench{t: t, api: fakebotapi.New(t), pace: testPace, log: &logged{t: t}}
	b.env = boxtest.Env{
		"AICODEBOX_TELEGRAM_MODE": "1", "AICODEBOX_TELEGRAM_MODE_TOKEN": fakebotapi.Token,
		"AICODEBOX_TELEGRAM_MODE_API_URL": b.api.URL,
		"AICODEBOX_WORKSPACE":             t.TempDir(), "AICODEBOX_STATE_DIR": t.TempDir(),
	}
	for name, value := range env {
		b.env[name] = value
	}
	b.configure(config)
	t.Cleanup(func() {
		if b.stop != nil {
			b.kill()
		}
	})
	return b
}

// configure writes the operator's file.
func (b *bench) configure(config string) {
	b.t.Helper()
	if !strings.Contains(config, "allowed_chats") {
		config = "allowed_chats: [7, -100]\n" + config
	}
	if err := os.WriteFile(b.state("telegram.yml"), []byte(config), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) state(name string) string {
	return filepath.Join(b.env["AICODEBOX_STATE_DIR"], name)
}

// workspace is the path of a file in ann's workspace.
func (b *bench) workspace(name string) string {
	return filepath.Join(b.env["AICODEBOX_WORKSPACE"], "chat_7", name)
}

// put writes a file into ann's workspace.
func (b *bench) put(name, content string) {
	b.t.Helper()
	path := b.workspace(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// run starts the bot.
func (b *bench) run() {
	b.t.Helper()
	b.bot = &surface{pace: b.pace}
	logger := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	box, err := aicodebox.New(boxtest.Adapter{}, b.env.Lookup(b.t), aicodebox.Logger(logger), aicodebox.Seat(b.bot))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.bot.Init(box); err != nil {
		b.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	b.box, b.stop, b.ended = box, stop, make(chan error, 1)
	go func() { b.ended <- b.bot.Serve(ctx) }()
}

// kill stops the bot as a shutdown whose grace is over does.
func (b *bench) kill() {
	b.t.Helper()
	b.stop()
	if err := b.box.Close(); err != nil {
		b.t.Error(err)
	}
	b.over()
}

// drain stops the bot as a shutdown with time does.
func (b *bench) drain() {
	b.t.Helper()
	b.stop()
	b.over()
	if err := b.box.Close(); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) over() {
	b.t.Helper()
	select {
	case err := <-b.ended:
		if err != nil {
			b.t.Error("Serve:", err)
		}
	case <-time.After(20 * time.Second):
		b.t.Fatal("the bot does not end")
	}
	b.stop = nil
}

// await waits for a file that an agent makes.
func (b *bench) await(name string) {
	b.t.Helper()
	b.until("the file "+name, func() bool {
		_, err := os.Stat(b.workspace(name))
		return err == nil
	})
}

// stored waits for the bot to store text in its inbox.
func (b *bench) stored(text string) {
	b.t.Helper()
	b.until(text+" in the inbox", func() bool {
		data, err := os.ReadFile(b.bot.statePath("inbox", ".jsonl"))
		return err == nil && strings.Contains(string(data), text)
	})
}

// until waits for a condition that nothing tells of.
func (b *bench) until(what string, ok func() bool) {
	b.t.Helper()
	for limit := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			b.t.Fatalf("%s did not come", what)
		}
	}
}

// answer waits for the bot to send a message with text to ann.
func (b *bench) answer(text string) fakebotapi.Call {
	b.t.Helper()
	return b.api.Sent("sendMessage", text)
}

// shown waits for the bot to show ann text, in a message of its own or in place
// of a receipt.
func (b *bench) shown(text string) fakebotapi.Call {
	b.t.Helper()
	return b.api.Wait("answer with "+text, func(c fakebotapi.Call) bool {
		return strings.Contains(c.Params["text"], text) && c.Status == http.StatusOK
	})
}

// read returns what a reader sees of a message.
func (b *bench) read(c fakebotapi.Call) string {
	b.t.Helper()
	if c.Params["parse_mode"] == "" {
		return c.Params["text"]
	}
	text, _, err := fakebotapi.ParseHTML(c.Params["text"])
	if err != nil {
		b.t.Error(err)
	}
	return text
}

// echoPrompt makes the agent show what it got, as code, which is sent as it is.
const echoPrompt = "SAY:```\nECHO"

// echo waits for the answer to echoPrompt.
func (b *bench) echo() echoed {
	b.t.Helper()
	var e echoed
	if err := json.Unmarshal([]byte(b.read(b.shown("argv"))), &e); err != nil {
		b.t.Fatal(err)
	}
	return e
}

// echoed is what the fake agent says it got.
type echoed struct {
	Argv  []string
	Cwd   string
	Stdin string
}

// texts are the messages that ann sees of the bot.
func (b *bench) texts(chat int64) []string {
	var list []string
	for _, m := range b.api.Shown(chat) {
		list = append(list, m.Text)
	}
	return list
}

// count counts the calls of the method whose text holds part.
func (b *bench) count(method, part string) int {
	n := 0
	for _, c := range b.api.Calls() {
		if c.Method == method && strings.Contains(c.Params["text"], part) {
			n++
		}
	}
	return n
}

// logged keeps the log of a bot and shows it in the test's output.
type logged struct {
	t    testing.TB
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newBoxOf(b *bench) (*aicodebox.Box, error) {
	return aicodebox.New(boxtest.Adapter{}, b.env.Lookup(b.t), aicodebox.Logger(boxtest.Log(b.t)), aicodebox.Seat(b.bot))
}
