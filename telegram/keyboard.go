package telegram

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/psyb0t/aicodebox/telegram/internal/markup"
)

// menu is a setting that is picked from a list.
type menu struct {
	name  string
	mark  string // begins the data of its buttons
	list  []string
	own   func(*override) *string
	value func(settings) string
}

// menus are the settings with a keyboard.
func (d *desk) menus() []menu {
	return []menu{
		{"model", "m", d.box.Models(), func(o *override) *string { return &o.Model }, func(s settings) string { return s.model }},
		{"effort", "e", d.box.Efforts(), func(o *override) *string { return &o.Effort }, func(s settings) string { return s.effort }},
	}
}

// The limits of keyboards.
const (
	maxButtons = 90 // of 100, on one keyboard
	maxData    = 64 // bytes of what a button says
	wideButton = 18 // letters, above which a button has a row of its own
)

const resetWord = "reset"

// data is what the button of choice says when it is pressed. A choice that is
// too long for that is known by its hash.
func (m menu) data(choice string) string {
	if data := m.mark + "=" + choice; len(data) <= maxData {
		return data
	}
	sum := sha256.Sum256([]byte(choice))
	return m.mark + "#" + hex.EncodeToString(sum[:12])
}

// keyboard shows the choices, the current one marked.
func (m menu) keyboard(current string) *models.InlineKeyboardMarkup {
	var rows [][]models.InlineKeyboardButton
	half := false // the last row has room for a second button
	for _, choice := range m.list[:min(len(m.list), maxButtons)] {
		b := models.InlineKeyboardButton{Text: choice, CallbackData: m.data(choice)}
		if choice == current {
			b.Text = "✓ " + choice
		}
		narrow := len([]rune(choice)) <= wideButton
		if narrow && half {
			rows[len(rows)-1] = append(rows[len(rows)-1], b)
			half = false
			continue
		}
		rows = append(rows, []models.InlineKeyboardButton{b})
		half = narrow
	}
	rows = append(rows, []models.InlineKeyboardButton{{Text: "↺ reset", CallbackData: m.mark + "!"}})
	return &models.InlineKeyboardMarkup{InlineKeyboard: rows}
}

// pick returns the command of a menu: without a word it shows the choices.
func (r *room) pick(name string) func(*message, string) string {
	menus := r.desk.menus()
	m := menus[slices.IndexFunc(menus, func(m menu) bool { return m.name == name })]
	return func(msg *message, args string) string {
		switch {
		case args == "" && len(m.list) > 0:
			r.offer(m, msg)
			return ""
		case args == "":
			return m.title(r.desk.settings(r.place)) + "\nSet it with /" + m.name + " NAME, clear it with /" + m.name + " reset."
		case strings.EqualFold(args, resetWord):
			return r.choose(m, "")
		case len(m.list) > 0 && !slices.Contains(m.list, args):
			return "⛔ Unknown " + m.name + ". On offer: " + clip(strings.Join(m.list, ", "), 3000)
		}
		return r.choose(m, args)
	}
}

func (m menu) title(s settings) string {
	return strings.ToUpper(m.name[:1]) + m.name[1:] + ": " + orDefault(m.value(s))
}

// choose makes a choice the place's own; an empty one clears it.
func (r *room) choose(m menu, choice string) string {
	err := r.desk.overrides.change(r.place, func(o *override) { *m.own(o) = clip(choice, maxShown) })
	return r.confirm(err, "✅ "+m.title(r.desk.settings(r.place)))
}

// offer sends the choices as a keyboard.
func (r *room) offer(m menu, msg *message) {
	s := r.desk.settings(r.place)
	ctx, cancel := context.WithTimeout(r.desk.work, sayTime)
	defer cancel()
	e := envelopeOf{replyTo: r.pointer(msg), keyboard: m.keyboard(m.value(s))}
	if _, err := r.desk.out.say(ctx, r.place, m.title(s), e); err != nil {
		r.desk.log.Warn("a keyboard could not be sent", "error", err)
	}
}

// pressed makes the choice of the button that was pressed.
func (r *room) pressed(it item) {
	defer r.desk.in.done(it.id)
	toast := "This button is out of date."
	for _, m := range r.desk.menus() {
		choice, ok := m.read(it.callback.Data)
		if !ok {
			continue
		}
		toast = r.choose(m, choice)
		s := r.desk.settings(r.place)
		ctx, cancel := context.WithTimeout(r.desk.work, sayTime)
		err := r.desk.out.edit(ctx, r.place, it.callback.Message.ID, markup.Part{Text: m.title(s)}, m.keyboard(m.value(s)))
		cancel()
		if err != nil {
			r.desk.log.Debug("a keyboard could not be brought up to date", "error", err)
		}
	}
	r.toast(it.callback.ID, toast)
}

// read finds the choice of a button's data; reset is an empty one.
func (m menu) read(data string) (choice string, ok bool) {
	if data == m.mark+"!" {
		return "", true
	}
	for _, c := range m.list {
		if m.data(c) == data {
			return c, true
		}
	}
	return "", false
}

// maxToast is the longest answer to a button, in letters.
const maxToast = 190

// toast answers the button itself, which shows as busy until then.
func (r *room) toast(query, text string) {
	ctx, cancel := context.WithTimeout(r.desk.work, callTime)
	defer cancel()
	if short := []rune(text); len(short) > maxToast {
		text = string(short[:maxToast])
	}
	c := r.desk.out.client
	_, err := c.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: query, Text: text})
	if err != nil {
		r.desk.log.Debug("a button could not be answered", "error", c.wrong("answerCallbackQuery", err))
	}
}
