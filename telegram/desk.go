package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"

	"github.com/psyb0t/aicodebox"
)

// desk is a bot that serves: it takes updates in and gives each to the room of
// its place.
type desk struct {
	surface   *surface
	box       *aicodebox.Box
	log       *slog.Logger
	out       *outbox
	in        *inbox
	overrides *overrides
	strangers *strangers
	pace      pace
	config    atomic.Pointer[config]
	name      atomic.Pointer[string] // the bot's user name, once it is known

	taking context.Context // ends when no new work is taken
	work   context.Context // ends when the box gives up on prompts in hand
	wg     sync.WaitGroup

	mu    sync.Mutex
	rooms map[place]*room
}

func newDesk(s *surface, in *inbox) (*desk, error) {
	out, err := s.outbox()
	if err != nil {
		return nil, err
	}
	d := &desk{
		surface: s, box: s.box, log: out.log, out: out, in: in, pace: s.pace,
		overrides: openOverrides(s.overrides, s.box.Log()), strangers: newStrangers(s.pace.stranger),
		work: s.box.Work(), rooms: map[place]*room{},
	}
	d.config.Store(s.config)
	d.name.Store(new(string))
	return d, nil
}

// serve polls until d.taking ends, and returns when all that was begun is done.
func (d *desk) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.taking = ctx
	d.guard("meet", func() {
		ctx, cancel := context.WithTimeout(ctx, meetTime)
		defer cancel()
		if err := d.meet(ctx); err != nil {
			d.log.Warn("the bot's name is not known yet", "error", d.out.client.wrong("getMe", err))
		}
	})
	d.resume()
	d.spawn("introduce", d.introduce)
	d.spawn("reload", d.watch)
	err := d.poll(ctx)
	cancel()
	d.wg.Wait()
	return err
}

// spawn runs f in a goroutine that serve waits for. A panic ends neither the
// process nor the bot.
func (d *desk) spawn(what string, f func()) {
	d.wg.Add(1)
	go func() {
		defer d.wg.Done()
		d.guard(what, f)
	}()
}

// guard runs f and tells whether it came through without a panic.
func (d *desk) guard(what string, f func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			d.log.Error("a fault in the bot", "doing", what, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	f()
	return true
}

// meetTime is how long the start waits for Telegram to tell the bot's name.
const meetTime = 10 * time.Second

// meet learns the bot's name. Until it is known, commands and mentions with a
// name are not for the bot.
func (d *desk) meet(ctx context.Context) error {
	me, err := d.out.client.GetMe(ctx)
	if err != nil {
		return err
	}
	d.name.Store(&me.Username)
	d.log.Info("the Telegram bot is there", "name", me.Username)
	return nil
}

// register tells Telegram the commands, for its menu.
func (d *desk) register(ctx context.Context) error {
	_, err := d.out.client.SetMyCommands(ctx, &bot.SetMyCommandsParams{Commands: commandList()})
	return err
}

// introduce does what is left of meeting and registering, over an outage too.
func (d *desk) introduce() {
	if *d.name.Load() == "" {
		d.insist("getMe", d.meet)
	}
	d.insist("setMyCommands", d.register)
}

// insist tries call until it works, is refused, or the bot stops.
func (d *desk) insist(method string, call func(context.Context) error) {
	for pause := d.pace.retry; d.taking.Err() == nil; pause = min(2*pause, d.pace.calm) {
		ctx, cancel := context.WithTimeout(d.taking, callTime)
		err := d.out.client.wrong(method, call(ctx))
		cancel()
		var e *apiError
		if !errors.As(err, &e) || d.taking.Err() != nil {
			return
		}
		if !e.passing() {
			d.log.Warn("the bot could not introduce itself", "error", err)
			return
		}
		_ = rest(d.taking, max(pause, e.retry))
	}
}

// watch reads the operator's file again at every SIGHUP.
func (d *desk) watch() {
	for {
		select {
		case <-d.taking.Done():
			return
		case <-d.box.Reload():
			if err := d.reload(); err != nil {
				d.log.Error("the Telegram configuration stays as it was", "error", err)
			}
		}
	}
}

// reload reads the operator's file; one with mistakes changes nothing.
func (d *desk) reload() error {
	c, err := d.surface.readConfig()
	if err != nil {
		return err
	}
	d.config.Store(c)
	d.log.Info("the Telegram configuration was read", "chats", len(c.chats), "open", c.open)
	return nil
}

// take gives an update to its room.
func (d *desk) take(l letter) {
	u, err := readUpdate(l.Update)
	if err != nil {
		d.log.Warn("an update could not be read; it is skipped", "update", l.ID, "error", err)
		d.in.done(l.ID)
		return
	}
	switch {
	case u.Message != nil:
		d.takeMessage(item{id: l.ID, note: l.Note, message: u.Message})
	case u.Callback != nil && u.Callback.Message != nil:
		d.takeCallback(item{id: l.ID, callback: u.Callback})
	default:
		d.in.done(l.ID)
	}
}

func (d *desk) takeMessage(it item) {
	m := it.message
	switch {
	case m.MovedTo != 0:
		d.log.Warn("a group got a new id; put it into the configuration", "old", m.Chat.ID, "new", m.MovedTo)
		d.in.done(it.id)
	case !m.substantial():
		d.in.done(it.id)
	case !d.config.Load().lets(m.Chat.ID, m.sender()):
		d.stranger(it)
	case m.Album == "" && !d.addressed(m): // the room sees to whole albums
		d.in.done(it.id)
	default:
		c, is := d.command(m)
		if is && !c.here {
			d.in.done(it.id)
			return
		}
		it.command = c
		if is && c.urgent() {
			d.spawn("a command", func() { d.room(m.place()).obey(it) })
			return
		}
		d.room(m.place()).put(it)
	}
}

func (d *desk) takeCallback(it item) {
	m := it.callback.Message
	if !d.config.Load().lets(m.Chat.ID, it.callback.From.ID) {
		d.in.done(it.id)
		return
	}
	d.room(m.place()).put(it)
}

// sender is the id of who wrote m: a person, or a chat that writes as itself.
func (m *message) sender() int64 {
	switch {
	case m.SenderChat != nil && m.SenderChat.ID != m.Chat.ID:
		return m.SenderChat.ID
	case m.From != nil:
		return m.From.ID
	}
	return 0
}

// substantial tells whether m is something a person said, not a service
// message, nor the word of another bot.
func (m *message) substantial() bool {
	if m.From != nil && m.From.Bot && m.SenderChat == nil {
		return false
	}
	return m.Text != "" || len(m.files()) > 0 ||
		m.Sticker != nil || m.Location != nil || m.Contact != nil || m.Poll != nil
}

// addressed tells whether m is for the bot. In a group that wants it so, only
// commands, mentions and replies are.
func (d *desk) addressed(m *message) bool {
	if m.Chat.private() || d.config.Load().settings(m.place()).groups != groupsMentions {
		return true
	}
	if _, ok := d.command(m); ok {
		return true
	}
	if r := m.ReplyTo; r != nil && r.Topic == nil && r.From != nil && r.From.ID == d.out.client.ID() {
		return true
	}
	return d.mentioned(m)
}

func (d *desk) mentioned(m *message) bool {
	name := "@" + strings.ToLower(*d.name.Load())
	text, entities := m.body()
	for _, e := range entities {
		switch e.Type {
		case "mention":
			if name != "@" && strings.ToLower(slice(text, e)) == name {
				return true
			}
		case "text_mention":
			if e.User != nil && e.User.ID == d.out.client.ID() {
				return true
			}
		}
	}
	return false
}

// room returns the room of p.
func (d *desk) room(p place) *room {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.rooms[p]
	if r == nil {
		r = &room{desk: d, place: p}
		d.rooms[p] = r
	}
	return r
}

// settings is how a prompt of p is run now.
func (d *desk) settings(p place) settings {
	s := d.config.Load().settings(p)
	s.override(d.overrides.of(p))
	return s
}
