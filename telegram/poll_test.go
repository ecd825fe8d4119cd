package telegram

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakebotapi"
)

func TestPoisonIsSkipped(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Push(map[string]any{"hologram": map[string]any{"of": "the future"}})
	b.api.Push(map[string]any{"message": "not even an object"})
	b.api.Push(map[string]any{"message_reaction": map[string]any{"new_reaction": []any{map[string]any{"type": "smell"}}}})
	last := b.api.Write(ann, map[string]any{
		"text": "SAY:still read", "forward_origin": map[string]any{"type": "time_travel", "x": 1},
		"paid_media": map[string]any{"paid_media": []any{map[string]any{"type": "scent"}}},
	})
	b.answer("still read")
	b.api.Acknowledged(last.Update)
}

func TestOutageIsSurvived(t *testing.T) {
	t.Parallel()
	b := prepare(t, "", nil)
	down := fakebotapi.Failure{Drop: true}
	bad := fakebotapi.Failure{Status: 502, Description: "Bad Gateway"}
	flood := fakebotapi.Failure{Status: 429, RetryAfter: 1}
	b.api.Fail("getUpdates", down, bad, flood)
	b.api.Fail("getMe", down, bad)
	b.api.Fail("sendMessage", down, bad)
	b.run()
	b.api.Text(ann, "SAY:after all")
	b.answer("after all")
	if log := b.log.String(); !strings.Contains(log, "Telegram answers again") {
		t.Error("the end of the outage was not logged")
	}
}

func TestAnotherPollerAndWebhook(t *testing.T) {
	t.Parallel()
	b := prepare(t, "", nil)
	b.api.Fail("getUpdates",
		fakebotapi.Failure{Status: 409, Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"},
		fakebotapi.Failure{Status: 409, Description: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"})
	b.run()
	b.api.Wait("deleteWebhook", func(c fakebotapi.Call) bool { return c.Method == "deleteWebhook" })
	b.api.Text(ann, "SAY:alone again")
	b.answer("alone again")
	if !strings.Contains(b.log.String(), "another program polls") {
		t.Error("the conflict was not logged")
	}
}

func TestWrongTokenEndsTheBot(t *testing.T) {
	t.Parallel()
	b := prepare(t, "", boxtest.Env{"AICODEBOX_TELEGRAM_MODE_TOKEN": "123456:another-token-entirely"})
	b.run()
	select {
	case err := <-b.ended:
		if err == nil || !strings.Contains(err.Error(), "does not know this bot token") || strings.Contains(err.Error(), "entirely") {
			t.Errorf("error %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the bot goes on")
	}
	b.ended <- nil
}

func TestMovedGroupIsFollowed(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Group(-100)
	b.api.Group(-100777)
	b.api.Fail("sendMessage", fakebotapi.Failure{Status: 400, Match: "moved", Body: `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-100777}}`})
	b.api.Text(-100, "SAY:moved")
	c := b.answer("moved")
	if c.Params["chat_id"] != "-100777" {
		t.Errorf("sent to %s", c.Params["chat_id"])
	}
}

func TestAPanicIsContained(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "SAY:up")
	b.answer("up")
	d := &desk{log: b.bot.out.log}
	if d.guard("a test", func() { panic("boom") }) {
		t.Error("a panic passed for success")
	}
	if !strings.Contains(b.log.String(), "boom") {
		t.Error("the panic was not logged")
	}
}

// Many chats at the same time: each is answered in order, and alone.
func TestManyChats(t *testing.T) {
	t.Parallel()
	b := start(t, `allowed_chats: ["*"]`, boxtest.Env{"AICODEBOX_MAX_RUNS": "4"})
	const chats, messages = 8, 3
	for m := range messages {
		for c := range chats {
			b.api.Text(int64(1000+c), "SAY:answer "+jsonOf(m)+" to "+jsonOf(c))
		}
	}
	for m := range messages {
		for c := range chats {
			b.shown("answer " + jsonOf(m) + " to " + jsonOf(c))
		}
	}
	for c := range chats {
		var order []string
		for _, call := range b.api.Calls() {
			if text := call.Params["text"]; call.Params["chat_id"] == jsonOf(1000+c) && strings.HasPrefix(text, "answer") && call.Status == http.StatusOK {
				order = append(order, text)
			}
		}
		for i, text := range order {
			if !strings.HasPrefix(text, "answer "+jsonOf(i)) {
				t.Errorf("chat %d got %q", c, order)
				break
			}
		}
	}
}

func TestInboxIsLockedAndTidied(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/in.jsonl"
	log := boxtest.Log(t)
	in, err := openInbox(t.Context(), path, log)
	if err != nil {
		t.Fatal(err)
	}
	for id := range int64(3) {
		if fresh, err := in.put(id+1, []byte(`{"update_id":1}`)); err != nil || !fresh {
			t.Fatal(fresh, err)
		}
	}
	in.note(2, func(n *note) { n.Run = "r" })
	in.done(1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if second, _ := openInbox(ctx, path, log); second.file != nil {
		t.Error("two boxes have one inbox")
	}
	if err := in.write(line{}); err != nil { // a torn line must do no harm
		t.Fatal(err)
	}
	if _, err := in.file.WriteString(`{"id":9,"upd`); err != nil {
		t.Fatal(err)
	}
	in.close()
	again, err := openInbox(t.Context(), path, log)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	left := again.left()
	if len(left) != 2 || left[0].ID != 2 || left[0].Note.Run != "r" || left[1].ID != 3 {
		t.Errorf("left are %+v", left)
	}
	if fresh, _ := again.put(1, []byte(`{"update_id":1}`)); fresh {
		t.Error("a done update is taken for new")
	}
	if fresh, _ := again.put(1, []byte(`{"update_id":1,"message":{"message_id":5,"chat":{"id":6}}}`)); !fresh {
		t.Error("another update with an old id is taken for the old one")
	}
}

func TestInboxWithoutADirectory(t *testing.T) {
	t.Parallel()
	in, err := openInbox(t.Context(), "/proc/nowhere/in.jsonl", boxtest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	if fresh, err := in.put(1, []byte("{}")); !fresh || err != nil {
		t.Error(fresh, err)
	}
	if fresh, _ := in.put(1, nil); fresh {
		t.Error("it forgets")
	}
}
