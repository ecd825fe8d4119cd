package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/psyb0t/aicodebox"
)

// progress shows a person that his prompt is worked on: the typing action all
// the time, and, once it takes longer, a message with what the agent does. It
// sends nothing that is worth a second try.
type progress struct {
	job *job

	mu      sync.Mutex
	asked   time.Time
	started time.Time // zero while the run waits
	queue   int       // its place in the line for its workspace
	tools   []string  // in the order of their last use
	uses    map[string]int
	shown   string    // text of the message
	changed time.Time // when the message was changed last
	lost    bool      // the message is gone

	stop chan struct{}
	done chan struct{}
}

func startProgress(j *job) *progress {
	p := &progress{
		job: j, asked: time.Now(), changed: time.Now(), uses: map[string]int{},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	j.room.desk.spawn("progress", p.loop)
	return p
}

// end returns once nothing of p is sent any more.
func (p *progress) end() {
	close(p.stop)
	<-p.done
}

// event takes in what the agent tells. It must not wait.
func (p *progress) event(e aicodebox.Event) {
	if e.Kind != aicodebox.EventTool {
		return
	}
	name := clip(strings.Join(strings.Fields(e.Text), " "), maxToolName)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uses[name]++
	p.tools = append(slices.DeleteFunc(p.tools, func(t string) bool { return t == name }), name)
	if len(p.tools) > maxTools {
		p.tools = p.tools[1:]
	}
}

const (
	maxToolName = 60 // bytes
	maxTools    = 6  // shown at a time
)

// waits takes in the run's place in the line.
func (p *progress) waits(queue int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = queue
}

// begins takes in that the agent starts.
func (p *progress) begins() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = time.Now()
}

func (p *progress) loop() {
	defer close(p.done)
	pace := p.job.room.desk.pace
	typing, look := time.NewTicker(pace.typing), time.NewTicker(pace.progress/4)
	defer typing.Stop()
	defer look.Stop()
	p.typing()
	for {
		select {
		case <-p.stop:
			return
		case <-p.job.room.desk.work.Done():
			return
		case <-typing.C:
			p.typing()
		case <-look.C:
			p.show()
		}
	}
}

func (p *progress) typing() {
	p.job.room.desk.out.typing(p.job.room.desk.work, p.job.room.place, models.ChatActionTyping)
}

// show brings the message up to date, if it is time for that.
func (p *progress) show() {
	p.mu.Lock()
	text := p.text()
	due := !p.lost && text != p.shown && time.Since(p.changed) >= p.interval()
	p.mu.Unlock()
	if !due {
		return
	}
	err := p.write(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = time.Now()
	if err == nil {
		p.shown = text
	}
	p.lost = p.lost || gone(err)
}

// interval is the time between two changes. It grows, since a group may get
// twenty messages a minute only, and nobody watches for hours.
func (p *progress) interval() time.Duration {
	unit := p.job.room.desk.pace.progress
	switch past := time.Since(p.asked); {
	case past < 20*unit:
		return unit
	case past < 200*unit:
		return 4 * unit
	}
	return 10 * unit
}

// text is what the message says. Callers hold p.mu.
func (p *progress) text() string {
	if p.started.IsZero() {
		if p.queue == 0 {
			return ""
		}
		return fmt.Sprintf("⏳ Waiting for the workspace: number %d in the line.", p.queue)
	}
	text := "⚙️ Working, " + elapsed(time.Since(p.started))
	var tools []string
	for _, t := range p.tools {
		if n := p.uses[t]; n > 1 {
			t += fmt.Sprintf(" ×%d", n)
		}
		tools = append(tools, t)
	}
	if len(tools) > 0 {
		text += "\n🔧 " + strings.Join(tools, ", ")
	}
	return text
}

// elapsed writes a duration for people.
func elapsed(d time.Duration) string {
	d = d.Truncate(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	if d < time.Hour {
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

// write sends the message, or changes it.
func (p *progress) write(text string) error {
	if text == "" {
		return nil
	}
	j := p.job
	d := j.room.desk
	if receipt := j.notes().Receipt; receipt != 0 {
		return unchanged(d.out.once(d.work, j.room.place.chat, "editMessageText", func(ctx context.Context, chat int64) error {
			_, err := d.out.client.EditMessageText(ctx, &bot.EditMessageTextParams{ChatID: chat, MessageID: receipt, Text: text})
			return err
		}))
	}
	params := &bot.SendMessageParams{MessageThreadID: j.room.place.thread(), Text: text, DisableNotification: true}
	if !j.private {
		params.ReplyParameters = &models.ReplyParameters{MessageID: j.message, AllowSendingWithoutReply: true}
	}
	return d.out.once(d.work, j.room.place.chat, "sendMessage", func(ctx context.Context, chat int64) error {
		params.ChatID = chat
		m, err := d.out.client.SendMessage(ctx, params)
		if err == nil {
			j.noted(func(n *note) { n.Receipt = m.ID })
		}
		return err
	})
}
