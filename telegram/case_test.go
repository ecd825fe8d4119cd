package telegram

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakebotapi"
)

func TestCase_T10(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Fail("sendMessage", fakebotapi.Failure{Status: 400, Match: "c", Description: "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0"})
	b.api.Text(ann, "SAY:**a** & b < c")
	c := b.answer("a")
	if c.Params["text"] != "a & b < c" || c.Params["parse_mode"] != "" {
		t.Errorf("sent %q in mode %q", c.Params["text"], c.Params["parse_mode"])
	}
	// What is refused even as plain text is not tried a third time.
	refusal := fakebotapi.Failure{Status: 400, Match: "other", Description: "Bad Request: can't parse entities"}
	b.api.Fail("sendMessage", refusal, refusal)
	b.api.Fail("editMessageText", refusal, refusal)
	b.api.Text(ann, "SAY:*other*")
	b.answer("did not take the rest")
	if n := b.count("sendMessage", "other") + b.count("editMessageText", "other"); n != 2 && n != 4 {
		t.Errorf("tried %d times", n)
	}
}

func TestCase_T11(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.put("report.pdf", "%PDF-1.7")
	b.api.Text(ann, "SAY:"+strings.Repeat("x", 1500)+"\nSAY:[SEND_FILE: report.pdf]")
	text := b.answer("xxx")
	file := b.api.Sent("sendDocument", "report.pdf")
	if text.At.After(file.At) || len(file.Params["caption"]) > 1024 {
		t.Error("the text did not come first, as a message")
	}
	if string(file.Files["document"].Content) != "%PDF-1.7" || strings.Contains(text.Params["text"], "SEND_FILE") {
		t.Error("the file or the text is wrong")
	}
	b.api.Fail("sendDocument", fakebotapi.Failure{Status: 400, Description: "Bad Request: wrong file"})
	b.api.Text(ann, "SAY:text again\nSAY:[SEND_FILE: report.pdf]")
	b.shown("text again")
	b.answer("report.pdf was not sent")
}

func TestCase_T13(t *testing.T) {
	t.Parallel()
	b := start(t, "default: {groups: all}", nil)
	b.api.Forum(-100, 1, 42)
	b.put("../chat_100_topic_42/f.txt", "x")
	b.api.TopicText(-100, 42, "SAY:in the topic\nSAY:[SEND_FILE: f.txt]\nCWD\nTOUCH:on\nAWAIT:go\n")
	b.await("../chat_100_topic_42/on")
	b.api.TopicText(-100, 42, "SAY:queued")
	b.answer("1 before this one")
	b.api.TopicText(-100, 1, "SAY:general\nCWD")
	general := b.answer("general")
	if general.Params["message_thread_id"] != "" || !strings.Contains(general.Params["text"], "chat_100_topic_1") {
		t.Errorf("the general topic got %v", general.Params)
	}
	b.put("../chat_100_topic_42/go", "")
	if c := b.answer("in the topic"); !strings.Contains(c.Params["text"], "/chat_100_topic_42") {
		t.Errorf("ran in %q", c.Params["text"])
	}
	b.api.Sent("sendDocument", "f.txt")
	b.api.Sent("editMessageText", "queued")
	if err := b.bot.Notify(t.Context(), aicodebox.Notice{Chat: -100, Thread: 42, Text: "notice", Job: "j"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.api.Calls() {
		thread, ours := c.Params["message_thread_id"], strings.HasPrefix(c.Method, "send")
		switch {
		case !ours || c.Params["text"] == general.Params["text"] || c.Status != http.StatusOK:
		case c.Method == "sendChatAction" && thread == "1":
		case thread != "42" && !strings.Contains(c.Params["text"], "Working"):
			t.Errorf("%s went to thread %q: %v", c.Method, thread, c.Params)
		}
	}
	typed := func(c fakebotapi.Call) bool {
		return c.Method == "sendChatAction" && c.Params["message_thread_id"] == "1" && c.Status == http.StatusOK
	}
	b.api.Wait("typing in the general topic", typed)
}

func TestCase_T14(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Fail("sendMessage", fakebotapi.Failure{Status: 429, RetryAfter: 1, Match: "line 600\n"})
	b.api.Text(ann, "LINES:1300\nSAY:the end")
	b.answer("the end")
	shown := b.texts(ann)
	if len(shown) != 3 {
		t.Fatalf("%d parts arrived, want 3", len(shown))
	}
	if got := strings.Join(shown, "\n"); strings.Count(got, "line ") != 1300 {
		t.Errorf("%d lines arrived", strings.Count(got, "line "))
	}
	var flood, next time.Time
	for _, c := range b.api.Calls() {
		switch {
		case c.Method != "sendMessage":
		case c.Status == http.StatusTooManyRequests:
			flood = c.At
		case !flood.IsZero() && next.IsZero():
			next = c.At
		}
	}
	if gap := next.Sub(flood); gap < time.Second {
		t.Errorf("sent again after %v", gap)
	}
	// A chat that stays closed is given up, and told so once.
	b.api.Fail("sendMessage", fakebotapi.Failure{Status: 429, RetryAfter: 3600, Match: "never arrives"})
	b.api.Text(ann, "SAY:never arrives")
	b.api.Wait("refusal", func(c fakebotapi.Call) bool { return c.Status == 429 && strings.Contains(c.Params["text"], "never") })
}

func TestCase_T15(t *testing.T) {
	t.Parallel()
	secret := "TEST-ONLY-TOKEN"
	closed := httptest.NewServer(nil)
	closed.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/bot123456:"+secret+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(elsewhere.Close)
	echoing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"ok":false,"error_code":400,"description":"no route for ` + r.URL.Path + `"}`))
	}))
	t.Cleanup(echoing.Close)
	for name, url := range map[string]string{"refuses": closed.URL, "redirects": elsewhere.URL, "echoes": echoing.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := prepare(t, "", boxtest.Env{"AICODEBOX_TELEGRAM_MODE_API_URL": url})
			b.run()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err := b.bot.Notify(ctx, aicodebox.Notice{Chat: ann, Text: "hi"})
			if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "sendMessage") {
				t.Errorf("error %v", err)
			}
			c := b.bot.out.client
			_, err = c.download(ctx, "x/y")
			if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "download") {
				t.Errorf("error %v", err)
			}
			b.until("a poll in the log", func() bool { return strings.Contains(b.log.String(), "getUpdates") })
			b.kill()
			if log := b.log.String(); strings.Contains(log, secret) {
				t.Errorf("the log holds the token:\n%s", log)
			}
		})
	}
}
