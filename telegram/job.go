package telegram

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// job is a prompt of a room, from its place in the queue to its answer.
type job struct {
	room     *room
	ids      []int64 // of its updates
	message  int     // its first message
	private  bool    // in a chat with one person
	settings settings
	text     string   // the prompt
	files    []string // in the workspace, that came with it

	mu   sync.Mutex
	note note

	announced chan struct{} // closed once the person knows that it waits
	over      chan struct{} // closed when it has run
	begun     time.Time
	ctx       context.Context
	cancel    context.CancelCauseFunc
}

// job makes a job for m.
func (r *room) job(m *message, n note) *job {
	return &job{
		room: r, message: m.ID, private: m.Chat.private(), settings: r.desk.settings(r.place), note: n,
		announced: make(chan struct{}), over: make(chan struct{}),
	}
}

// stopped is why a job was cancelled from within the chat, as the chat is told.
type stopped struct{ text string }

func (s stopped) Error() string { return s.text }

// ready makes j one that can be stopped.
func (j *job) ready(ctx context.Context) {
	j.begun = time.Now()
	j.ctx, j.cancel = context.WithCancelCause(ctx)
}

// stop ends a job that runs.
func (j *job) stop(why stopped) { j.cancel(why) }

// noted changes what is remembered of j, here and on disk.
func (j *job) noted(change func(*note)) {
	j.mu.Lock()
	change(&j.note)
	run := j.note.Run
	j.mu.Unlock()
	j.room.desk.in.note(j.ids[0], change)
	for _, id := range j.ids[1:] {
		j.room.desk.in.note(id, func(n *note) { n.Run = run })
	}
}

// notes returns what is remembered of j.
func (j *job) notes() note {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.note
}

// hint tells the agent where its answer goes.
const hint = "You answer in a Telegram chat. Keep answers short; Markdown is shown. " +
	"To send a file of your working directory to the chat, write [SEND_FILE: <relative path>] on a line of its own, outside code."

// request is what the runner is asked.
func (j *job) request() aicodebox.Request {
	s := j.settings
	req := aicodebox.Request{
		Prompt: j.text, Workspace: s.workspace, Model: s.model, Effort: s.effort,
		System: s.system, AppendSystem: hint, Fresh: !s.goesOn || j.notes().Fresh, Format: aicodebox.FormatText,
	}
	if s.appendSystem != "" {
		req.AppendSystem = s.appendSystem + "\n\n" + hint
	}
	if len(j.files) > 0 {
		req.Prompt += "\n\n(Files that came with this, in the working directory: " + strings.Join(j.files, ", ") + ")"
		req.Images = j.images()
	}
	return req
}

// run answers the job's prompt.
func (j *job) run() {
	d := j.room.desk
	id := runner.NewID()
	p := startProgress(j)
	opts := []runner.Option{
		runner.Surface("telegram"), runner.ID(id), runner.Events(p.event), runner.OnQueued(p.waits),
		runner.OnStart(func(string) {
			j.noted(func(n *note) { n.Run = id })
			p.begins()
		}),
	}
	if j.settings.busy == busyRefuse {
		opts = append(opts, runner.Wait(0))
	}
	result, err := runner.Run(j.ctx, d.box, j.request(), opts...)
	p.end()
	if err != nil && (errors.Is(err, runner.ErrDraining) || d.work.Err() != nil && !j.wasStopped()) {
		return // the next start runs it, or tells that it was cut
	}
	if err != nil {
		j.finish(j.excuse(err))
		return
	}
	j.finish(answerOf(result))
}

// wasStopped tells whether the chat itself ended the run.
func (j *job) wasStopped() bool {
	var s stopped
	return errors.As(context.Cause(j.ctx), &s)
}

// excuse says why there is no result.
func (j *job) excuse(err error) reply {
	var why stopped
	var refused *runner.RefusedError
	var cancelled *runner.CancelledError
	switch {
	case errors.As(context.Cause(j.ctx), &why):
		return reply{plain: why.text}
	case errors.As(err, &refused):
		return reply{plain: "⛔ " + refused.Reason}
	case errors.Is(err, runner.ErrBusy):
		return reply{plain: "⛔ The workspace is busy with another run. Try again later."}
	case errors.Is(err, runner.ErrQueueFull):
		return reply{plain: "⛔ Too many runs are waiting. Try again later."}
	case errors.As(err, &cancelled):
		return reply{plain: "⏹ The run was cancelled: " + cancelled.Reason}
	}
	j.room.desk.log.Error("a prompt could not be run", "error", err)
	return reply{plain: "⚠️ This could not be run; the box's log says why."}
}

// finish sends the job's answer and forgets the job.
func (j *job) finish(r reply) {
	d := j.room.desk
	err := j.send(d.work, r)
	if err != nil && d.work.Err() != nil {
		return // the next start sends what is left
	}
	if err != nil {
		d.log.Error("an answer could not be sent", "chat", j.room.place.chat, "error", err)
	}
	d.in.done(j.ids...)
}

// cut is told for a run that a restart ended.
const cut = "⚠️ The box was restarted while it worked on this. It was not run again; send it once more if you still want it."

// resume takes up what an earlier start of the bot left: the answers of runs
// that ended, a word about those that were cut, and then what had not begun.
func (d *desk) resume() {
	begun := map[string]*job{}
	for _, l := range d.in.left() {
		if l.Note.Run == "" {
			d.guard("an update", func() { d.take(l) })
			continue
		}
		u, err := readUpdate(l.Update)
		if err != nil || u.Message == nil {
			d.in.done(l.ID)
			continue
		}
		if j := begun[l.Note.Run]; j != nil {
			j.ids = append(j.ids, l.ID)
			continue
		}
		j := d.room(u.Message.place()).job(u.Message, l.Note)
		j.ids = []int64{l.ID}
		j.ready(d.work)
		begun[l.Note.Run] = j
	}
	for _, j := range begun {
		d.spawn("an earlier run", j.resume)
	}
}

// resume ends a job whose run began before a restart.
func (j *job) resume() {
	defer j.cancel(nil)
	d := j.room.desk
	info, err := runner.Lookup(j.ctx, d.box, j.note.Run)
	ended := err == nil && (info.Status == ledger.Completed || info.Status == ledger.Failed && info.Error != ledger.Interrupted)
	if ended {
		result, err := runner.ResultOf(j.ctx, d.box, j.note.Run)
		if err == nil {
			j.finish(answerOf(result))
			return
		}
	}
	d.log.Warn("a run was cut by a restart", "run", j.note.Run)
	j.note.Turns = false
	j.finish(reply{plain: cut, reply: true})
}
