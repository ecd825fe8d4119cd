package telegram

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/telegram/internal/markup"
)

// outbox sends messages. Each chat has a lane of its own, in which messages
// stand in order; a lane waits as long as Telegram tells it to, and over an
// outage.
type outbox struct {
	client  *client
	box     *aicodebox.Box
	log     *slog.Logger
	pace    pace
	notices *notices

	mu    sync.Mutex
	lanes map[int64]*lane
	moved map[int64]int64 // chats that got a new id
}

// lane is the way to one chat.
type lane struct {
	turn  chan struct{} // holds a token while somebody sends
	until time.Time     // Telegram wants nothing before this
}

func newOutbox(c *client, box *aicodebox.Box, p pace, n *notices) *outbox {
	return &outbox{
		client: c, box: box, log: box.Log().With("surface", "telegram"), pace: p, notices: n,
		lanes: map[int64]*lane{}, moved: map[int64]int64{},
	}
}

// The bounds of trying.
const (
	maxFloods   = 6                // answers 429 to one call
	maxFlood    = 15 * time.Minute // one wait that Telegram may ask for
	maxFaults   = 12               // answers 500 and above to one call
	maxOutage   = 24 * time.Hour   // of tries of one call
	floodMargin = 50 * time.Millisecond
)

// errGivenUp is why a message was not sent although nothing is wrong with it.
var errGivenUp = errors.New("Telegram did not take the message in reasonable time") //nolint:staticcheck // a name

func (o *outbox) lane(chat int64) *lane {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lanes[chat]
	if l == nil {
		l = &lane{turn: make(chan struct{}, 1)}
		o.lanes[chat] = l
	}
	return l
}

// send does one call for chat, in the chat's turn, until Telegram has answered
// it: with yes, or with a refusal. limit bounds each try.
func (o *outbox) send(ctx context.Context, chat int64, method string, limit time.Duration, call func(ctx context.Context, chat int64) error) error {
	l := o.lane(chat)
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return &apiError{method: method, ended: true, message: "ended before it was sent"}
	}
	defer func() { <-l.turn }()
	return o.persist(ctx, l, chat, method, limit, call)
}

// once does one call for chat if nothing else is under way there, and tries it
// no second time: for what is worthless later.
func (o *outbox) once(ctx context.Context, chat int64, method string, call func(ctx context.Context, chat int64) error) error {
	l := o.lane(chat)
	select {
	case l.turn <- struct{}{}:
	default:
		return &apiError{method: method, code: 429, message: "the chat is busy"}
	}
	defer func() { <-l.turn }()
	if time.Now().Before(l.until) {
		return &apiError{method: method, code: 429, message: "the chat must wait"}
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := o.client.wrong(method, call(ctx, o.now(chat)))
	var e *apiError
	if errors.As(err, &e) && e.retry > 0 {
		l.until = time.Now().Add(e.retry + floodMargin)
	}
	return err
}

// now returns the id that chat has today.
func (o *outbox) now(chat int64) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if id, ok := o.moved[chat]; ok {
		return id
	}
	return chat
}

// persist tries call until there is an answer.
func (o *outbox) persist(ctx context.Context, l *lane, chat int64, method string, limit time.Duration, call func(context.Context, int64) error) error {
	start, pause, floods, faults := time.Now(), o.pace.retry, 0, 0
	for {
		if err := rest(ctx, time.Until(l.until)); err != nil {
			return &apiError{method: method, ended: true, message: "ended before it was sent"}
		}
		err := o.try(ctx, chat, method, limit, call)
		var e *apiError
		if !errors.As(err, &e) {
			return err
		}
		switch {
		case ctx.Err() != nil:
			e.ended = true
			return e
		case e.moved != 0:
			if o.follow(chat, e.moved) {
				continue
			}
			return e
		case !e.passing():
			return e
		case e.code == 429:
			floods++
			l.until = time.Now().Add(max(e.retry, time.Second) + floodMargin)
			if floods > maxFloods || e.retry > maxFlood {
				return errors.Join(errGivenUp, e)
			}
			continue
		case e.code >= 500:
			faults++
		}
		if faults > maxFaults || time.Since(start) > maxOutage {
			return errors.Join(errGivenUp, e)
		}
		o.log.Warn("a message could not be sent; trying again", "error", e, "pause", pause)
		if rest(ctx, pause) != nil {
			e.ended = true
			return e
		}
		pause = min(2*pause, o.pace.calm)
	}
}

// lastWord is how long a call that is under way may go on after the box gave
// up: one that is cut may have arrived all the same, and would come again.
const lastWord = 1500 * time.Millisecond

func (o *outbox) try(ctx context.Context, chat int64, method string, limit time.Duration, call func(context.Context, int64) error) error {
	if ctx.Err() != nil {
		return o.client.wrong(method, ctx.Err())
	}
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if rest(lasting, lastWord) == nil {
			cancel()
		}
	})()
	return o.client.wrong(method, call(lasting, o.now(chat)))
}

// follow remembers that a group became another one. It is false when that was
// known, so that nothing goes in circles.
func (o *outbox) follow(chat, to int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.moved[chat] == to || to == chat {
		return false
	}
	o.moved[chat] = to
	o.log.Warn("a group got a new id; put it into the configuration", "old", chat, "new", to)
	return true
}

// rest waits for d.
func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// envelopeOf is what goes with a message.
type envelopeOf struct {
	replyTo  int
	silent   bool
	keyboard *models.InlineKeyboardMarkup
}

// noPreview keeps Telegram from showing a page for every link.
func noPreview() *models.LinkPreviewOptions {
	return &models.LinkPreviewOptions{IsDisabled: bot.True()}
}

// say sends a plain text of the bot's own, and returns its id.
func (o *outbox) say(ctx context.Context, p place, text string, e envelopeOf) (int, error) {
	return o.part(ctx, p, markup.Part{Text: text}, e)
}

// part sends one message. A part that Telegram refuses is sent once more as
// plain text.
func (o *outbox) part(ctx context.Context, p place, part markup.Part, e envelopeOf) (int, error) {
	id := 0
	params := &bot.SendMessageParams{
		MessageThreadID: p.thread(), Text: part.Text, LinkPreviewOptions: noPreview(), DisableNotification: e.silent,
	}
	if e.replyTo != 0 {
		params.ReplyParameters = &models.ReplyParameters{MessageID: e.replyTo, AllowSendingWithoutReply: true}
	}
	if e.keyboard != nil {
		params.ReplyMarkup = e.keyboard
	}
	err := plainly(params, part, func() error {
		return o.send(ctx, p.chat, "sendMessage", callTime, func(ctx context.Context, chat int64) error {
			try := *params // the library may still read those of the try before
			try.ChatID = chat
			m, err := o.client.SendMessage(ctx, &try)
			if err == nil {
				id = m.ID
			}
			return err
		})
	})
	return id, err
}

// plainly sends with markup, and without if the markup is refused.
func plainly(params *bot.SendMessageParams, part markup.Part, send func() error) error {
	if part.HTML == "" {
		return send()
	}
	params.Text, params.ParseMode = part.HTML, models.ParseModeHTML
	err := send()
	var e *apiError
	if !errors.As(err, &e) || !e.refused() {
		return err
	}
	params.Text, params.ParseMode = part.Text, ""
	return send()
}

// edit changes a message of the bot's. That nothing changed is fine.
func (o *outbox) edit(ctx context.Context, p place, id int, part markup.Part, keyboard *models.InlineKeyboardMarkup) error {
	params := &bot.EditMessageTextParams{MessageID: id, Text: part.Text, LinkPreviewOptions: noPreview()}
	if keyboard != nil {
		params.ReplyMarkup = keyboard
	}
	edit := func() error {
		return o.send(ctx, p.chat, "editMessageText", callTime, func(ctx context.Context, chat int64) error {
			try := *params
			try.ChatID = chat
			_, err := o.client.EditMessageText(ctx, &try)
			return err
		})
	}
	if part.HTML == "" {
		return unchanged(edit())
	}
	params.Text, params.ParseMode = part.HTML, models.ParseModeHTML
	err := unchanged(edit())
	var e *apiError
	if !errors.As(err, &e) || !e.refused() || gone(err) {
		return err
	}
	params.Text, params.ParseMode = part.Text, ""
	return unchanged(edit())
}

// unchanged drops the complaint that an edit changes nothing.
func unchanged(err error) error {
	if says(err, "message is not modified") {
		return nil
	}
	return err
}

// gone tells whether a message cannot be edited any more.
func gone(err error) bool {
	return says(err, "message to edit not found") || says(err, "message can't be edited") || says(err, "MESSAGE_ID_INVALID")
}

// remove deletes a message of the bot's.
func (o *outbox) remove(ctx context.Context, p place, id int) error {
	return o.send(ctx, p.chat, "deleteMessage", callTime, func(ctx context.Context, chat int64) error {
		_, err := o.client.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: chat, MessageID: id})
		return err
	})
}

// typing shows that the bot is at work.
func (o *outbox) typing(ctx context.Context, p place, action models.ChatAction) {
	err := o.once(ctx, p.chat, "sendChatAction", func(ctx context.Context, chat int64) error {
		_, err := o.client.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: chat, MessageThreadID: p.topic, Action: action})
		return err
	})
	if err != nil {
		o.log.Debug("no typing action", "error", err)
	}
}
