package cron

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner"
)

const (
	// noticePatience is how long it is tried to tell of a run.
	noticePatience = time.Hour
	// mostNotice is how many bytes of an answer are told.
	mostNotice = 32 << 10
)

// tell sends the job's chat what came of r, in the background. A chat is not
// told of times without a run, nor of an answer that is allowed to be empty.
func (s *scheduler) tell(r *record) {
	empty := r.status == statusCompleted && strings.TrimSpace(r.text) == ""
	if r.job.chat == 0 || r.status == statusSkipped || empty {
		return
	}
	log := s.log.With("job", r.job.name, "run", r.runID)
	release, err := s.box.Hold()
	if err != nil && r.status != statusCompleted && r.status != statusFailed {
		return // cut short by a shutdown that has no time left
	}
	s.work.Go(func() {
		if release != nil {
			defer release()
		}
		ctx, cancel := context.WithTimeout(s.box.Work(), noticePatience)
		defer cancel()
		if err := s.notify(ctx, s.notice(r)); err != nil {
			log.Warn("the chat was not told of a run", "chat", r.job.chat, "error", err)
		}
	})
}

// notice is what the chat is told.
func (s *scheduler) notice(r *record) aicodebox.Notice {
	return aicodebox.Notice{
		Chat: r.job.chat, Thread: r.job.thread, Text: r.told(), Job: r.job.name,
		Instruction: r.instruction, Result: cut(r.result(), mostNotice), HistoryDir: r.dir,
		Sent: func(chat int64, messages []int) { s.told(r, chat, messages) },
	}
}

// told is the notice's text, in Markdown.
func (r *record) told() string {
	text := cut(strings.TrimSpace(r.text), mostNotice)
	if n := len(strings.TrimSpace(r.text)); n > len(text) {
		text += fmt.Sprintf("\n\n(cut here: the answer has %d bytes, and result.txt has all of it)", n)
	}
	if r.failure != "" {
		text = strings.TrimSpace("❌ " + r.why() + "\n\n" + text)
	}
	return "⏰ `" + r.job.name + "`\n\n" + text
}

func (r *record) why() string {
	if r.failure == runner.ErrorTimeout {
		return fmt.Sprintf("the run was ended after %v, its time limit", r.finished.Sub(r.fired).Round(time.Second))
	}
	return cut(r.failure, 2000)
}

// result is what a reply to the notice carries on.
func (r *record) result() string {
	if r.failure == "" {
		return r.text
	}
	return strings.TrimSpace(r.text + "\n\n(the run failed: " + r.failure + ")")
}

// told notes the messages that told of r.
func (s *scheduler) told(r *record, chat int64, messages []int) {
	now := r.stamp(s.now())
	parts := make([]message, 0, len(messages))
	for _, id := range messages {
		parts = append(parts, message{
			ChatID: chat, ThreadID: r.job.thread, MessageID: id, Job: r.job.name, RunID: r.runID, HistoryDir: r.dir, SentAt: now,
		})
	}
	err := s.store.rememberMessages(parts)
	if r.dir != "" {
		n := notified{ChatID: chat, ThreadID: r.job.thread, MessageIDs: messages, SentAt: now}
		err = errors.Join(err, writeJSON(filepath.Join(r.dir, "telegram.json"), n))
	}
	if err != nil {
		s.log.Error("the messages that told of a run cannot be noted", "job", r.job.name, "run", r.runID, "error", err)
	}
}
