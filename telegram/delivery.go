package telegram

import (
	"context"
	"errors"
	"strings"

	"github.com/psyb0t/aicodebox/telegram/internal/markup"
)

// delivery is a document on its way to a place.
type delivery struct {
	place   place
	parts   []markup.Part
	replyTo int
	replace int // message that becomes the first part, or 0
	skip    int // parts that were sent before
	sent    func(index, id int)
}

// says tells whether Telegram's refusal holds text.
func says(err error, text string) bool {
	var e *apiError
	return errors.As(err, &e) && strings.Contains(e.message, text)
}

// lost is said when the rest of an answer cannot be delivered.
const lost = "⚠️ Telegram did not take the rest of this answer."

// deliver sends the parts in order, and returns the ids of the messages. When
// a part cannot be sent, those after it are not sent either, and the chat is
// told, if it can be.
func (o *outbox) deliver(ctx context.Context, d delivery) ([]int, error) {
	var ids []int
	for i, part := range d.parts {
		if i < d.skip {
			continue
		}
		id, err := o.place(ctx, d, i, part)
		if err != nil {
			if refusal := (*apiError)(nil); errors.As(err, &refusal) && !refusal.ended && refusal.code != 403 {
				o.tellLost(ctx, d.place)
			}
			return ids, err
		}
		ids = append(ids, id)
		if d.sent != nil {
			d.sent(i, id)
		}
	}
	return ids, nil
}

// tellLost tells the chat that an answer is not whole.
func (o *outbox) tellLost(ctx context.Context, p place) {
	ctx, cancel := context.WithTimeout(ctx, sayTime)
	defer cancel()
	if _, err := o.say(ctx, p, lost, envelopeOf{}); err != nil {
		o.log.Warn("the chat could not be told that an answer is not whole", "error", err)
	}
}

// place sends part i. The first takes the place of a message, if there is one.
func (o *outbox) place(ctx context.Context, d delivery, i int, part markup.Part) (int, error) {
	e := envelopeOf{}
	if i == 0 {
		e.replyTo = d.replyTo
	}
	if i == 0 && d.replace != 0 {
		err := o.edit(ctx, d.place, d.replace, part, nil)
		if err == nil {
			return d.replace, nil
		}
		if !gone(err) {
			if refusal := (*apiError)(nil); !errors.As(err, &refusal) || !refusal.refused() {
				return 0, err
			}
		}
	}
	return o.part(ctx, d.place, part, e)
}
