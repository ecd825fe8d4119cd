package telegram

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// room is one place's conversation. Its messages are received in order, and
// its prompts run in order, one at a time; both happen side by side, so that
// files and commands need not wait for a run.
type room struct {
	desk  *desk
	place place

	mu        sync.Mutex
	items     []item // received next
	receiving bool
	wake      chan struct{}
	jobs      []*job // run next
	current   *job
	working   bool
	unseen    []string // files that no prompt has told the agent of
}

// item is an update on its way through a room: a message or a button.
type item struct {
	id       int64
	note     note
	message  *message
	callback *callback
	command  command
}

// put adds an item to those to be received.
func (r *room) put(it item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wake == nil {
		r.wake = make(chan struct{}, 1)
	}
	r.items = append(r.items, it)
	select {
	case r.wake <- struct{}{}:
	default:
	}
	if !r.receiving {
		r.receiving = true
		r.desk.spawn("a room", r.receive)
	}
}

// receive deals with the items until there are no more. What is left when the
// bot stops stays in the inbox for the next start.
func (r *room) receive() {
	for {
		r.mu.Lock()
		if len(r.items) == 0 || r.desk.taking.Err() != nil {
			r.receiving = false
			r.mu.Unlock()
			return
		}
		it := r.items[0]
		r.items = r.items[1:]
		r.mu.Unlock()
		if !r.desk.guard("a message", func() { r.handle(it) }) {
			r.desk.in.done(it.id) // or it would be met at every start
		}
	}
}

func (r *room) handle(it item) {
	switch {
	case it.callback != nil:
		r.pressed(it)
	case it.command.name != "":
		r.obey(it)
	case it.message.Album != "":
		r.takeAlbum(it)
	default:
		r.prompt([]item{it})
	}
}

// takeAlbum makes an album a prompt, unless none of it is for the bot.
func (r *room) takeAlbum(it item) {
	album := r.album(it)
	for _, part := range album {
		if r.desk.addressed(part.message) {
			r.prompt(album)
			return
		}
	}
	for _, part := range album {
		r.desk.in.done(part.id)
	}
}

// album collects the messages that belong to it. It is nil when the bot stops
// before the album is known to be complete.
func (r *room) album(it item) []item {
	list := []item{it}
	quiet := time.NewTimer(r.desk.pace.album)
	defer quiet.Stop()
	for {
		switch next, there := r.same(it.message.Album); {
		case next != nil:
			list = append(list, *next)
			quiet.Reset(r.desk.pace.album)
			continue
		case there:
			return list // something else was said after it
		}
		select {
		case <-r.wake:
		case <-quiet.C:
			return list
		case <-r.desk.taking.Done():
			return nil
		}
	}
}

// same takes the next item if it is of the album. there tells whether there is
// another one.
func (r *room) same(album string) (next *item, there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.items) == 0 {
		return nil, false
	}
	it := r.items[0]
	if it.message == nil || it.message.Album != album {
		return nil, true
	}
	r.items = r.items[1:]
	return &it, true
}

// prompt turns messages, of which more than one are an album, into a job.
func (r *room) prompt(items []item) {
	d, first := r.desk, items[0].message
	var texts, saved, troubles []string
	ids := make([]int64, len(items))
	for i := range items {
		ids[i] = items[i].id
		if text := d.textOf(items[i].message); text != "" {
			texts = append(texts, text)
		}
		names, failed, ok := r.save(&items[i])
		if !ok {
			return // the bot stops; the messages are for its next start
		}
		saved, troubles = append(saved, names...), append(troubles, failed...)
	}
	if len(troubles) > 0 {
		r.say(strings.Join(troubles, "\n"), first.ID)
	}
	context := d.background(first)
	if len(texts) == 0 && (len(saved) > 0 || len(troubles) > 0 || context == "") {
		r.keepForLater(first, saved, len(troubles) > 0)
		d.in.done(ids...)
		return
	}
	j := r.job(first, items[0].note)
	j.ids, j.files, j.text = ids, saved, context+strings.Join(texts, "\n\n")
	r.refresh(j)
	r.enqueue(j)
}

// keepForLater confirms files that came without a prompt. The next prompt
// tells the agent of them.
func (r *room) keepForLater(m *message, saved []string, failed bool) {
	r.mu.Lock()
	r.unseen = append(r.unseen, saved...)
	r.mu.Unlock()
	switch {
	case len(saved) > 0:
		r.say("📎 Saved in the workspace: "+strings.Join(saved, ", "), m.ID)
	case !failed && m.Chat.private():
		r.say("I can work with text and files, not with this.", m.ID)
	}
}

// refresh makes j begin a new conversation if one was asked for.
func (r *room) refresh(j *job) {
	if !r.desk.overrides.of(r.place).Fresh {
		return
	}
	j.noted(func(n *note) { n.Fresh = true })
	if err := r.desk.overrides.change(r.place, func(o *override) { o.Fresh = false }); err != nil {
		r.desk.log.Error("a chat's setting could not be stored", "error", err)
	}
}

// enqueue lets j run in its turn, by the place's rule for a busy time.
func (r *room) enqueue(j *job) {
	r.mu.Lock()
	ahead, current := len(r.jobs), r.current
	if current != nil {
		ahead++
	}
	if ahead > 0 && (j.settings.busy == busyRefuse || ahead > r.desk.box.Limits().Waiting) {
		r.mu.Unlock()
		r.say("⛔ I am busy with an earlier message here. Try again later, or stop it with /cancel.", j.message)
		r.desk.in.done(j.ids...)
		return
	}
	r.jobs = append(r.jobs, j)
	if !r.working {
		r.working = true
		r.desk.spawn("a room's prompts", r.work)
	}
	r.mu.Unlock()
	defer close(j.announced)
	switch {
	case current == nil:
	case j.settings.busy == busyInterrupt:
		current.stop(stopped{"⏹ Stopped for a newer message."})
	case !current.endsWithin(r.desk.pace.receipt):
		j.receipt(ahead)
	}
}

// endsWithin tells whether j ends in d: the person need not be told of a wait
// that is over before he has read of it.
func (j *job) endsWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-j.over:
		return true
	case <-t.C:
		return false
	}
}

// work runs the jobs until there are no more.
func (r *room) work() {
	for {
		r.mu.Lock()
		r.current = nil
		if len(r.jobs) == 0 || r.desk.taking.Err() != nil {
			r.working = false
			r.mu.Unlock()
			return
		}
		j := r.jobs[0]
		r.jobs = r.jobs[1:]
		r.current = j
		j.files = append(r.unseen, j.files...)
		r.unseen = nil
		j.ready(r.desk.work)
		r.mu.Unlock()
		<-j.announced
		if !r.desk.guard("a prompt", j.run) {
			r.say("⚠️ A fault in the bot kept it from answering this; its log says more.", j.message)
			r.desk.in.done(j.ids...)
		}
		j.cancel(nil)
		close(j.over)
	}
}

// say writes a line of the bot's own to the place.
func (r *room) say(text string, replyTo int) {
	ctx, cancel := context.WithTimeout(r.desk.work, sayTime)
	defer cancel()
	if _, err := r.desk.out.say(ctx, r.place, text, envelopeOf{replyTo: replyTo}); err != nil {
		r.desk.log.Warn("a line could not be sent", "error", err)
	}
}

// sayTime is how long a line of the bot's own is worth waiting for.
const sayTime = 2 * time.Minute

// receipt tells the person that his message waits.
func (j *job) receipt(ahead int) {
	if j.notes().Receipt != 0 {
		return // from before a restart
	}
	ctx, cancel := context.WithTimeout(j.room.desk.work, sayTime)
	defer cancel()
	id, err := j.room.desk.out.say(ctx, j.room.place, fmt.Sprintf("⏳ In the queue: %d before this one.", ahead), envelopeOf{replyTo: j.message, silent: true})
	if err != nil {
		j.room.desk.log.Warn("a receipt could not be sent", "error", err)
		return
	}
	j.noted(func(n *note) { n.Receipt, n.Turns = id, true })
}
