package telegram

import (
	"os"
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox/internal/fakebotapi"
)

func TestRunCutByRestart(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "WRITE:count:1\nTOUCH:on\nHANG")
	b.await("on")
	b.api.Text(ann, "SAY:queued")
	b.answer("1 before this one")
	b.stored(`"turns":true`)
	b.kill()
	if err := os.Remove(b.workspace("on")); err != nil {
		t.Fatal(err)
	}
	b.run()
	b.answer("was restarted")
	b.api.Sent("editMessageText", "queued")
	last := b.api.Text(ann, "SAY:later")
	b.shown("later")
	b.api.Acknowledged(last.Update)
	b.drain()
	b.run()
	b.api.Text(ann, "SAY:even later")
	b.shown("even later")
	if n := b.count("sendMessage", "was restarted"); n != 1 {
		t.Errorf("the chat was told %d times", n)
	}
	if _, err := os.Stat(b.workspace("on")); err == nil {
		t.Error("the cut run was repeated")
	}
	for _, text := range b.texts(ann) {
		if strings.Contains(text, "Working") || strings.Contains(text, "In the queue") {
			t.Errorf("the chat still shows %q", text)
		}
	}
}

func TestDrainAnswers(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "TOUCH:on\nAWAIT:go\nSAY:answered in time")
	b.await("on")
	b.api.Text(ann, "SAY:next")
	b.answer("1 before this one")
	b.stored(`"turns":true`)
	b.stop()
	b.put("go", "")
	b.over()
	b.answer("answered in time")
	if b.count("editMessageText", "next") != 0 {
		t.Error("new work was begun while the box stops")
	}
	if err := b.box.Close(); err != nil {
		t.Fatal(err)
	}
	b.run()
	b.api.Sent("editMessageText", "next")
}

// A result that could not be sent before the box ended is sent by the next.
func TestAnswerSurvivesRestart(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "SAY:warm up")
	b.answer("warm up")
	for range 200 {
		b.api.Fail("sendMessage", fakebotapi.Failure{Match: "kept", Drop: true})
	}
	b.api.Text(ann, "WRITE:../chat_7/on:\nSAY:kept")
	b.api.Wait("a try", func(c fakebotapi.Call) bool { return strings.Contains(c.Params["text"], "kept") })
	b.kill()
	b.api.Heal("sendMessage")
	b.run()
	b.answer("kept")
	b.drain()
	b.run()
	b.api.Text(ann, "SAY:after")
	b.shown("after")
	ok := 0
	for _, c := range b.api.Calls() {
		if c.Method == "sendMessage" && c.Status == 200 && strings.Contains(c.Params["text"], "kept") {
			ok++
		}
	}
	if ok != 1 {
		t.Errorf("the answer was sent %d times", ok)
	}
}

// An update whose acknowledgement got lost comes again, and is not run again.
func TestUpdateIsHandledOnce(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	w := b.api.Text(ann, "SAY:once")
	b.answer("once")
	b.api.Acknowledged(w.Update)
	b.drain()
	b.api.Again(w.Update, map[string]any{"message": map[string]any{
		"message_id": w.Message, "date": 1, "text": "SAY:once",
		"chat": map[string]any{"id": ann, "type": "private"}, "from": map[string]any{"id": ann},
	}})
	b.run()
	b.api.Text(ann, "SAY:twice")
	b.shown("twice")
	if n := b.count("sendMessage", "once"); n != 1 {
		t.Errorf("answered %d times", n)
	}
}

// What arrives while the bot is down, or is stored but not begun, is run.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "SAY:up")
	b.answer("up")
	b.kill()
	b.api.Text(ann, "SAY:one")
	b.api.Text(ann, "SAY:two")
	b.run()
	b.answer("one")
	b.api.Wait("two", func(c fakebotapi.Call) bool { return strings.Contains(c.Params["text"], "two") })
}

func TestSettingsSurviveRestart(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "/model fast")
	b.answer("Model: fast")
	b.api.Text(ann, "/append_system_prompt be brief\nplease")
	b.answer("Set.")
	b.api.Text(ann, "/new")
	b.answer("new conversation")
	b.kill()
	b.run()
	b.api.Text(ann, "ECHO")
	got := b.answer("argv").Params["text"]
	for _, want := range []string{"--model", "fast", "be brief", "--no-continue"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	b.api.Text(ann, "/model reset")
	b.answer("own")
	b.api.Text(ann, "ECHO")
	if got := b.shown("argv").Params["text"]; strings.Contains(got, "--no-continue") || strings.Contains(got, "--model") {
		t.Errorf("settings stayed: %q", got)
	}
}
