package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-telegram/bot"
)

// poll fetches updates until ctx is done.
func (d *desk) poll(ctx context.Context) error {
	p := poller{desk: d, pause: d.pace.retry, lastNews: time.Now()}
	for ctx.Err() == nil {
		if err := p.round(ctx); err != nil {
			return err
		}
	}
	return nil
}

// poller is the loop of getUpdates.
type poller struct {
	desk     *desk
	offset   int64
	pause    time.Duration // before the next try after a failure
	failing  int           // failures in a row
	lived    bool          // Telegram has answered once
	lastNews time.Time
}

// staleOffset is when an offset is worth nothing: after a week without updates
// Telegram begins a new sequence of ids, possibly lower ones.
const staleOffset = 5 * 24 * time.Hour

// atOnce is less than any long poll takes that brings nothing.
const atOnce = 200 * time.Millisecond

// round is one poll. An error is the end of the bot.
func (p *poller) round(ctx context.Context) error {
	if time.Since(p.lastNews) > staleOffset {
		p.offset, p.lastNews = 0, time.Now()
	}
	asked := time.Now()
	batch, err := p.desk.out.client.getUpdates(ctx, p.offset, p.desk.pace.poll)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return p.failed(ctx, err)
	}
	if p.failing > 0 {
		p.desk.log.Info("Telegram answers again", "failures", p.failing)
	}
	p.failing, p.pause, p.lived = 0, p.desk.pace.retry, true
	if len(batch) == 0 && time.Since(asked) < atOnce {
		_ = rest(ctx, atOnce) // a server that does not wait, as the poll asks it to
	}
	for _, raw := range batch {
		if !p.store(ctx, raw) {
			break
		}
	}
	return nil
}

// store keeps an update, and only then lets it be acknowledged by the next
// poll. It is false when it could not be kept.
func (p *poller) store(ctx context.Context, raw json.RawMessage) bool {
	d := p.desk
	var u struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &u); err != nil || u.ID == 0 {
		d.log.Warn("an update without an id was skipped")
		return true
	}
	fresh, err := d.in.put(u.ID, raw)
	if err != nil {
		d.log.Error("an update could not be stored; it will come again", "error", err)
		_ = rest(ctx, p.pause)
		p.pause = min(2*p.pause, d.pace.calm)
		return false
	}
	p.offset, p.lastNews = u.ID+1, time.Now()
	if fresh {
		d.guard("an update", func() { d.take(letter{ID: u.ID, Update: raw}) })
	}
	return true
}

// failed waits after a poll that failed.
func (p *poller) failed(ctx context.Context, err error) error {
	var e *apiError
	if !errors.As(err, &e) {
		return err
	}
	if !p.lived && (e.code == http.StatusUnauthorized || e.code == http.StatusNotFound) {
		return fmt.Errorf("Telegram does not know this bot token: %w", err) //nolint:staticcheck // a name
	}
	p.failing++
	pause := max(p.pause, e.retry)
	switch {
	case says(err, "webhook"):
		p.unhook(ctx)
	case e.code == http.StatusConflict:
		pause = max(pause, p.desk.pace.calm/2)
		p.desk.log.Error("another program polls with this bot token; only one may", "error", err, "pause", pause)
	case p.failing == 1 || p.pause >= p.desk.pace.calm:
		p.desk.log.Warn("Telegram cannot be polled; trying again", "error", err, "failures", p.failing)
	}
	p.pause = min(2*p.pause, p.desk.pace.calm)
	_ = rest(ctx, pause)
	return nil
}

// unhook takes the updates back from a webhook that the bot had before.
func (p *poller) unhook(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c := p.desk.out.client
	_, err := c.DeleteWebhook(ctx, &bot.DeleteWebhookParams{})
	p.desk.log.Warn("the bot had a webhook, which keeps it from polling; it is removed", "error", c.wrong("deleteWebhook", err))
}
