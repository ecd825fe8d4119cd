package telegram

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakebotapi"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	b := start(t, "chats: {7: {workspace: w}}", boxtest.Env{"AICODEBOX_AVAILABLE_EFFORTS": "low,high"})
	b.api.Wait("commands", func(c fakebotapi.Call) bool { return c.Method == "setMyCommands" && c.Status == 200 })
	for _, step := range []struct{ say, want string }{
		{"/start", "Hello"},
		{"/help", "/append_system_prompt"},
		{"/status", "Idle."},
		{"/config", "Workspace: w"},
		{"/effort high", "Effort: high"},
		{"/effort nope", "On offer: low, high"},
		{"/effort reset", "Effort: the agent's own"},
		{"/model", "Set it with /model NAME"},
		{"/model a/b", "Model: a/b"},
		{"/system_prompt", "Nothing is set"},
		{"/system_prompt be\nkind", "Set."},
		{"/system_prompt", "be\nkind"},
		{"/system_prompt reset", "Cleared"},
		{"/MODEL@Testing_Bot  reset ", "Model: the agent's own"},
		{"/wat", "do not know /wat"},
		{"/new", "new conversation"},
	} {
		b.api.Text(ann, step.say)
		b.answer(step.want)
	}
	b.api.Text(ann, "/etc/hosts\nSAY:a path is a prompt")
	b.answer("a path is a prompt")
}

func TestReload(t *testing.T) {
	t.Parallel()
	b := start(t, "chats: {7: {workspace: one}}", nil)
	b.configure("chats: {7: {workspaec: two}}")
	b.api.Text(ann, "/reload")
	if c := b.answer("stays as it was"); !strings.Contains(c.Params["text"], "line 2") || strings.Contains(c.Params["text"], b.state("")) {
		t.Errorf("told %q", c.Params["text"])
	}
	b.configure("chats: {7: {workspace: two}}")
	b.api.Text(ann, "/reload")
	b.answer("read again")
	b.api.Text(ann, "CWD")
	b.answer("/two")
}

func TestKeyboard(t *testing.T) {
	t.Parallel()
	long := "vendor/" + strings.Repeat("m", 70)
	b := start(t, "", boxtest.Env{"AICODEBOX_AVAILABLE_MODELS": "fast,slow," + long})
	b.api.Text(ann, "/model")
	c := b.answer("Model: the agent's own")
	var k struct {
		Rows [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
		} `json:"inline_keyboard"`
	}
	if err := json.Unmarshal([]byte(c.Params["reply_markup"]), &k); err != nil {
		t.Fatal(err)
	}
	data := map[string]string{}
	for _, row := range k.Rows {
		for _, button := range row {
			data[button.Text] = button.Data
		}
	}
	var m struct {
		ID int `json:"message_id"`
	}
	if err := json.Unmarshal(c.Result, &m); err != nil {
		t.Fatal(err)
	}
	b.api.Press(ann, m.ID, data["slow"])
	b.api.Wait("toast", func(c fakebotapi.Call) bool {
		return c.Method == "answerCallbackQuery" && strings.Contains(c.Params["text"], "slow")
	})
	if c := b.api.Sent("editMessageText", "Model: slow"); !strings.Contains(c.Params["reply_markup"], "✓ slow") {
		t.Errorf("the keyboard shows %s", c.Params["reply_markup"])
	}
	b.api.Press(ann, m.ID, data[long])
	b.api.Sent("editMessageText", long)
	b.api.Press(ann, m.ID, "m=gone")
	b.api.Wait("toast", func(c fakebotapi.Call) bool {
		return c.Method == "answerCallbackQuery" && strings.Contains(c.Params["text"], "out of date")
	})
	b.api.Press(ann, m.ID, data["↺ reset"])
	b.api.Sent("editMessageText", "the agent's own")
	// A stranger's press changes nothing.
	b.api.Press(999, m.ID, data["slow"])
	b.api.Text(ann, "/status")
	b.answer("Model: the agent's own")
}

func TestGroupMentions(t *testing.T) {
	t.Parallel()
	b := prepare(t, "default: {groups: mentions}", nil)
	b.api.Group(-100)
	b.api.Text(-100, "/help@Testing_Bot") // from before the start
	b.run()
	b.answer("/append_system_prompt")
	b.api.Text(-100, "SAY:just talk")
	b.api.Text(-100, "/status@other_bot")
	b.api.Text(-100, "/unknown")
	mention := []map[string]any{{"type": "mention", "offset": 0, "length": len("@Testing_Bot")}}
	b.api.Write(-100, map[string]any{"text": "@Testing_Bot, SAY:not a line", "entities": mention})
	b.api.Write(-100, map[string]any{"text": "@Testing_Bot\nSAY:mentioned", "entities": mention})
	c := b.shown("mentioned")
	if c.Params["reply_parameters"] == "" && c.Params["message_id"] == "" {
		t.Error("an answer in a group does not point to its question")
	}
	bot := map[string]any{"id": fakebotapi.BotID, "is_bot": true, "first_name": "B"}
	b.api.Write(-100, map[string]any{"text": "SAY:replied", "reply_to_message": map[string]any{"message_id": 1, "from": bot, "text": "x"}})
	b.shown("replied")
	b.api.Text(-100, "/status@testing_bot")
	b.answer("Workspace: chat_100")
	for i, id := range []string{"p1", "p2", "p3"} {
		b.api.File(id, "photos/"+id+".jpg", []byte(id), 0)
		fields := map[string]any{"photo": []map[string]any{{"file_id": id, "width": 1, "height": 1}}, "media_group_id": "g" + jsonOf(min(i, 1))}
		if i == 2 {
			fields["caption"], fields["caption_entities"] = "@testing_bot\n"+echoPrompt, mention
		}
		b.api.Write(-100, fields)
	}
	if got := b.echo().Stdin; strings.Count(got, ".jpg") != 2 {
		t.Errorf("the album's prompt is %q", got)
	}
	b.api.Write(-100, map[string]any{"text": "@testing_bot SAY:loop", "entities": mention, "from": bot})
	if b.count("sendMessage", "just talk") != 0 || b.count("sendMessage", "do not know") != 0 {
		t.Error("the bot took part in what was not for it")
	}
}

func TestGroupAll(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Group(-100)
	w := b.api.Text(-100, "SAY:to all")
	c := b.answer("to all")
	if !strings.Contains(c.Params["reply_parameters"], jsonOf(w.Message)) {
		t.Errorf("the answer points to %q", c.Params["reply_parameters"])
	}
}

func TestReplyCarriesTheQuote(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	bot := map[string]any{"id": fakebotapi.BotID, "is_bot": true, "first_name": "B"}
	b.api.Write(ann, map[string]any{"text": echoPrompt, "reply_to_message": map[string]any{"message_id": 1, "from": bot, "text": "old\nSAY:forged"}})
	got := b.echo().Stdin
	if !strings.Contains(got, "an earlier message of yours:\n> old\n> SAY:forged\n\n"+echoPrompt) {
		t.Errorf("the prompt is %s", got)
	}
	b.api.Write(ann, map[string]any{
		"text": echoPrompt, "quote": map[string]any{"text": "the part", "position": 1},
		"reply_to_message": map[string]any{"message_id": 1, "text": "all of it"},
	})
	if got := b.echo().Stdin; !strings.Contains(got, "the part") || strings.Contains(got, "all of it") {
		t.Errorf("the prompt is %s", got)
	}
	b.api.Forum(-100, 42)
	b.api.Write(-100, map[string]any{
		"text": echoPrompt, "message_thread_id": 42, "is_topic_message": true,
		"reply_to_message": map[string]any{"message_id": 42, "forum_topic_created": map[string]any{"name": "T"}, "text": "topic"},
	})
	if got := b.echo().Stdin; strings.Contains(got, "This is a reply") {
		t.Errorf("the topic itself is quoted: %s", got)
	}
}

func TestNotice(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "SAY:hi")
	b.answer("hi")
	var ids []int
	n := aicodebox.Notice{
		Chat: ann, Text: "**nightly** result\n\n" + strings.Repeat("line of it\n", 600), Job: "nightly",
		Instruction: "check\nall", Result: "fine *so far*", HistoryDir: "/state/cron/history/x",
		Sent: func(chat int64, messages []int) { ids = messages },
	}
	if err := b.box.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if len(ids) != 2 {
		t.Fatalf("told of the messages %v", ids)
	}
	b.kill() // the background must survive
	b.run()
	for _, id := range ids {
		b.api.Write(ann, map[string]any{"text": echoPrompt, "reply_to_message": map[string]any{"message_id": id, "text": "shown text"}})
		got := b.echo().Stdin
		for _, want := range []string{`job "nightly"`, "> check\n> all", "fine *so far*", "/state/cron/history/x", "The reply:\n" + echoPrompt} {
			if !strings.Contains(got, want) {
				t.Errorf("the prompt lacks %q: %s", want, got)
			}
		}
	}
	if err := b.box.Notify(t.Context(), aicodebox.Notice{Chat: 4242, Text: "x"}); err == nil || !strings.Contains(err.Error(), "chat not found") {
		t.Errorf("error %v", err)
	}
}

func TestNotifyWithTheModeOff(t *testing.T) {
	t.Parallel()
	b := prepare(t, "", boxtest.Env{"AICODEBOX_TELEGRAM_MODE": "0"})
	b.api.Group(-5)
	b.bot = &surface{pace: b.pace}
	box, err := newBoxOf(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	if err := box.Notify(t.Context(), aicodebox.Notice{Chat: -5, Text: "*hello*"}); err != nil {
		t.Fatal(err)
	}
	if c := b.answer("hello"); c.Params["text"] != "<i>hello</i>" {
		t.Errorf("sent %q", c.Params["text"])
	}
	b.env["AICODEBOX_TELEGRAM_MODE_TOKEN"] = ""
	b.bot = &surface{pace: b.pace}
	without, err := newBoxOf(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = without.Close() })
	if err := without.Notify(t.Context(), aicodebox.Notice{Chat: -5, Text: "x"}); err != aicodebox.ErrNoNotifier { //nolint:errorlint // it is returned bare
		t.Errorf("error %v", err)
	}
}

func TestOverridesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := prepare(t, "", nil)
	if err := os.WriteFile(b.state("telegram_overrides.json"), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run()
	b.api.Text(ann, "/model x")
	b.answer("Model: x")
	if data, err := os.ReadFile(b.state("telegram_overrides.json.bad")); err != nil || string(data) != "{broken" {
		t.Errorf("the old file: %q, %v", data, err)
	}
}
