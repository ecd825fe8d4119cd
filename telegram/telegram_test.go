package telegram

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakebotapi"
)

func TestPromptIsAnswered(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "SAY:**bold** & `code`\nCWD")
	c := b.answer("bold")
	if want := "<b>bold</b> &amp; <code>code</code>\n" + b.workspace(""); c.Params["text"] != strings.TrimSuffix(want, "/") {
		t.Errorf("sent %q, want %q", c.Params["text"], want)
	}
	if c.Params["reply_parameters"] != "" {
		t.Error("a private answer points to its question")
	}
	b.api.Wait("typing", func(c fakebotapi.Call) bool { return c.Method == "sendChatAction" && c.Params["action"] == "typing" })
}

func TestRequestFollowsSettings(t *testing.T) {
	t.Parallel()
	b := start(t, "default: {model: slow, system_prompt: sys, append_system_prompt: more}\n"+
		"chats:\n  7: {workspace: team/a, thinking: high, continue: false}\n", nil)
	b.api.Text(ann, echoPrompt)
	echo := b.echo()
	got := strings.Join(echo.Argv, " ")
	for _, want := range []string{"--model slow", "--thinking high", "--system sys", "--append-system more", "--no-continue"} {
		if !strings.Contains(got, want) {
			t.Errorf("arguments %q lack %q", got, want)
		}
	}
	if !strings.HasSuffix(echo.Cwd, "/team/a") {
		t.Errorf("ran in %s", echo.Cwd)
	}
}

func TestStrangersGetOneLine(t *testing.T) {
	t.Parallel()
	b := start(t, "default: {allowed_users: [7]}", nil)
	b.api.Text(555, "/start")
	b.answer("555")
	last := b.api.Text(555, "SAY:secret")
	b.api.Group(-100)
	b.api.Write(-100, map[string]any{"text": "SAY:secret", "from": map[string]any{"id": 8, "first_name": "Eve"}})
	c := b.answer("-100")
	if !strings.Contains(c.Params["text"], "8") {
		t.Errorf("the line %q lacks the user's id", c.Params["text"])
	}
	b.api.Acknowledged(last.Update)
	b.api.Text(ann, "SAY:done")
	b.answer("done")
	if n := b.count("sendMessage", "555"); n != 1 {
		t.Errorf("the stranger got %d lines", n)
	}
	if b.count("sendMessage", "secret") != 0 {
		t.Error("a stranger ran a prompt")
	}
}

func TestNobodyIsAllowedByDefault(t *testing.T) {
	t.Parallel()
	b := start(t, "allowed_chats: []", nil)
	b.api.Text(ann, "SAY:hi")
	b.answer("7")
	if !strings.Contains(b.log.String(), "allowed_chats is empty") {
		t.Error("no warning")
	}
}

func TestOpenBotWarns(t *testing.T) {
	t.Parallel()
	b := start(t, `allowed_chats: ["*"]`, nil)
	b.api.Text(12345, "SAY:hi")
	b.answer("hi")
	if !strings.Contains(b.log.String(), "the Telegram bot is open") {
		t.Error("no warning")
	}
}

func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	b := start(t, "", boxtest.Env{"AICODEBOX_RUN_TIMEOUT_SECONDS": "8"})
	for _, test := range []struct{ prompt, want string }{
		{"SAY:half\nERR:it *broke*\nEXIT:3", "exit code 3"},
		{"SAY:x\n@error 429 slow_down please", "model provider answered 429: slow_down please"},
		{"SAY:words\n@stop length", "cut at the model"},
		{"EXIT:0\n", "gave no answer"},
		{"SAY:part\nHANG", "time limit"},
	} {
		b.api.Text(ann, test.prompt)
		b.shown(test.want)
	}
}

func TestUnknownModelIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, "", boxtest.Env{"AICODEBOX_AVAILABLE_MODELS": "a,b"})
	b.api.Text(ann, "/model nope")
	b.answer("Unknown model")
	if err := os.WriteFile(b.state("telegram_overrides.json"), []byte(`{"7":{"model":"old"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.kill()
	b.run()
	b.api.Text(ann, "SAY:x")
	b.answer("unknown model")
}

func TestQueueWithReceipt(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "TOUCH:on\nAWAIT:go\nSAY:first")
	b.await("on")
	b.api.Text(ann, "SAY:**second**")
	b.api.Text(ann, "SAY:third")
	second := b.answer("1 before this one")
	b.answer("2 before this one")
	b.put("go", "")
	b.answer("first")
	edit := b.api.Sent("editMessageText", "second")
	var sent struct {
		ID int `json:"message_id"`
	}
	if err := json.Unmarshal(second.Result, &sent); err != nil {
		t.Fatal(err)
	}
	if edit.Params["message_id"] != jsonOf(sent.ID) || edit.Params["text"] != "<b>second</b>" {
		t.Errorf("the receipt %d became %v", sent.ID, edit.Params)
	}
	b.api.Sent("editMessageText", "third")
	got := b.texts(ann)
	if len(got) != 3 {
		t.Errorf("the chat shows %q", got)
	}
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestBusyRefuse(t *testing.T) {
	t.Parallel()
	b := start(t, "default: {busy: refuse}", nil)
	b.api.Text(ann, "TOUCH:on\nAWAIT:go\nSAY:first")
	b.await("on")
	b.api.Text(ann, "SAY:second")
	b.answer("busy")
	b.put("go", "")
	b.answer("first")
	if b.count("sendMessage", "second") != 0 {
		t.Error("the second prompt ran")
	}
}

func TestBusyInterrupt(t *testing.T) {
	t.Parallel()
	b := start(t, "default: {busy: interrupt}", nil)
	b.api.Text(ann, "TOUCH:on\nHANG")
	b.await("on")
	b.api.Text(ann, "SAY:second")
	b.answer("Stopped for a newer message")
	b.answer("second")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "/cancel")
	b.answer("Nothing is being done")
	b.api.Text(ann, "TOUCH:on\nHANG")
	b.await("on")
	b.api.Text(ann, "SAY:never")
	b.answer("1 before")
	b.api.Text(ann, "/status")
	if c := b.answer("At work"); !strings.Contains(c.Params["text"], "Waiting: 1") {
		t.Errorf("status %q", c.Params["text"])
	}
	b.api.Text(ann, "/cancel all")
	b.api.Sent("editMessageText", "Cancelled")
	b.answer("Cancelled")
	b.api.Text(ann, "SAY:after")
	b.shown("after")
	if b.count("sendMessage", "never")+b.count("editMessageText", "never") != 0 {
		t.Error("a cancelled prompt ran")
	}
}

const hastyProgress = 80 * time.Millisecond

// hasty serves a bot that reports on its progress soon.
func hasty(t *testing.T, config string) *bench {
	t.Helper()
	b := prepare(t, config, nil)
	b.pace.progress = hastyProgress
	b.run()
	return b
}

func TestProgress(t *testing.T) {
	t.Parallel()
	b := hasty(t, "")
	b.api.Text(ann, "@tool bash\n@tool bash\n@tool read_file\nTOUCH:on\nAWAIT:go\nSAY:the end")
	b.await("on")
	c := b.answer("Working")
	if c.Params["disable_notification"] != "true" {
		t.Error("progress makes a noise")
	}
	b.api.Sent("editMessageText", "bash ×2, read_file")
	b.put("go", "")
	b.answer("the end")
	if got := b.texts(ann); len(got) != 1 || got[0] != "the end" {
		t.Errorf("the chat shows %q", got)
	}
	var last time.Time
	for _, c := range b.api.Calls() {
		if c.Method != "editMessageText" {
			continue
		}
		if gap := c.At.Sub(last); gap < hastyProgress {
			t.Errorf("two edits within %v", gap)
		}
		last = c.At
	}
}

func TestWorkspaceBusyElsewhere(t *testing.T) {
	t.Parallel()
	b := hasty(t, "default: {workspace: one}\n")
	b.api.Group(-100)
	b.api.Text(ann, "WRITE:../chat_7/on:\nAWAIT:go\nSAY:first")
	b.await("on")
	b.api.Text(-100, "SAY:second")
	b.answer("Waiting for the workspace")
	b.api.Text(ann, "/status")
	if err := os.WriteFile(b.env["AICODEBOX_WORKSPACE"]+"/one/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.answer("second")
}

func TestLongAnswerIsSplit(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "LINES:2000\nSAY:the very end")
	b.answer("the very end")
	got := strings.Join(b.texts(ann), "\n")
	if !strings.HasPrefix(got, "line 1\nline 2\n") || strings.Count(got, "line ") != 2000 {
		t.Errorf("%d lines arrived", strings.Count(got, "line "))
	}
}

func TestVeryLongAnswerIsAFile(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "BYTES:300000")
	b.answer("whole answer")
	c := b.api.Sent("sendDocument", "answer.md")
	if n := len(c.Files["document"].Content); n != 300000 {
		t.Errorf("the file has %d bytes", n)
	}
}

func TestTokenIsNeeded(t *testing.T) {
	t.Parallel()
	b := prepare(t, "", boxtest.Env{"AICODEBOX_TELEGRAM_MODE_TOKEN": "no token at all"})
	b.bot = &surface{pace: b.pace}
	_, err := newBoxOf(b)
	if err == nil || strings.Contains(err.Error(), "no token at all") {
		t.Errorf("error %v", err)
	}
}
