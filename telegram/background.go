package telegram

import (
	"strings"
	"unicode/utf16"
)

// maxQuoted is how much of a job's instruction or result a prompt carries, in
// bytes. The whole is in the job's history.
const maxQuoted = 16 << 10

// background is what a reply carries: of a notice, the job behind it; of
// anything else, the words it replies to. It ends with an empty line, or is
// empty.
func (d *desk) background(m *message) string {
	r := m.ReplyTo
	if r != nil && (r.Topic != nil || m.InTopic && r.ID == m.Thread) {
		r = nil // every first-level message of a topic "replies" to the topic
	}
	var b strings.Builder
	if r != nil {
		if n, ok := d.out.notices.find(m.Chat.ID, r.ID); ok {
			b.WriteString("This is a reply to a notice of the scheduled job \"" + n.Job + "\".\n")
			section(&b, "The job's instruction:", n.Instruction)
			section(&b, "The job's result:", n.Result)
			if n.HistoryDir != "" {
				b.WriteString("Everything of that run is in the directory " + n.HistoryDir + "\n\n")
			}
			if m.Quote != nil {
				section(&b, "The reply quotes:", m.Quote.Text)
			}
			b.WriteString("The reply:\n")
			return b.String()
		}
	}
	section(&b, "This is a reply to "+d.author(r)+":", quoted(m, r))
	return b.String()
}

func quoted(m, r *message) string {
	if m.Quote != nil && m.Quote.Text != "" {
		return m.Quote.Text
	}
	if r == nil {
		return ""
	}
	text, _ := r.body()
	return text
}

// author says whose message r is.
func (d *desk) author(r *message) string {
	if r != nil && r.From != nil && r.From.ID == d.out.client.ID() {
		return "an earlier message of yours"
	}
	return "this message"
}

// section writes a title and a quotation, each line of which is marked, so that
// no text can pass for more than what it is.
func section(b *strings.Builder, title, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	b.WriteString(title + "\n> " + strings.ReplaceAll(clip(text, maxQuoted), "\n", "\n> ") + "\n\n")
}

// textOf is what a message says, without the mention that calls the bot.
func (d *desk) textOf(m *message) string {
	text, _ := m.body()
	text = strings.TrimSpace(text)
	name := *d.name.Load()
	if name == "" || len(text) <= len(name) || text[0] != '@' || !strings.EqualFold(text[1:1+len(name)], name) {
		return text
	}
	rest := text[1+len(name):]
	if trimmed := strings.TrimLeft(rest, " \n\t,:"); trimmed != rest || rest == "" {
		return trimmed
	}
	return text
}

// slice returns the part of text that e is about. Telegram counts UTF-16 units.
func slice(text string, e entity) string {
	all := utf16.Encode([]rune(text))
	from, to := max(e.Offset, 0), e.Offset+e.Length
	if from > to || to > len(all) {
		return ""
	}
	return string(utf16.Decode(all[from:to]))
}
