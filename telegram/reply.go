package telegram

import (
	"context"
	"fmt"
	"strings"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner"
	"github.com/psyb0t/aicodebox/telegram/internal/markup"
)

// reply is what a job is answered with.
type reply struct {
	markdown string // the agent's words
	plain    string // the bot's own words, instead
	reply    bool   // it must point to the message it answers
}

// noAnswer is said for an answer without any text.
const noAnswer = "The agent gave no answer."

// answerOf puts a result into words.
func answerOf(r runner.Result) reply {
	parts := []string{}
	if text := strings.TrimSpace(r.Text); text != "" {
		parts = append(parts, text)
	}
	switch {
	case !r.OK():
		parts = append(parts, trouble(r))
	case r.Stop == aicodebox.StopLength:
		parts = append(parts, "✂️ The answer was cut at the model's output limit.")
	case r.Stop == aicodebox.StopFilter:
		parts = append(parts, "✂️ The provider withheld the rest of the answer.")
	}
	if len(parts) == 0 {
		return reply{plain: noAnswer}
	}
	return reply{markdown: strings.Join(parts, "\n\n")}
}

// trouble says, in Markdown, what kept a run from success.
func trouble(r runner.Result) string {
	switch {
	case r.Provider != nil:
		return "⚠️ " + literal(r.Provider.Error())
	case r.TimedOut():
		return "⚠️ The time limit was reached, so the agent was stopped."
	case r.ExitCode != 0:
		return fmt.Sprintf("⚠️ The agent ended with exit code %d.%s", r.ExitCode, complaint(r.Stderr))
	case r.Error != "":
		return "⚠️ " + literal(r.Error)
	}
	return "⚠️ The answer does not have the form that was asked for."
}

// The end of an agent's complaint that is shown.
const (
	maxComplaint      = 1500 // bytes
	maxComplaintLines = 15
)

// complaint shows the end of what an agent wrote to its standard error.
func complaint(stderr []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(stderr), "�"))
	if text == "" {
		return ""
	}
	if len(text) > maxComplaint {
		text = strings.ToValidUTF8(text[len(text)-maxComplaint:], "")
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-maxComplaintLines):]
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return "\n\n" + fence + "\n" + strings.Join(lines, "\n") + "\n" + fence
}

// literal writes s so that Markdown shows it as it is.
func literal(s string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if r < 0x80 && strings.ContainsRune("\\`*_{}[]()<>#+-!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// preview is how much of an answer is shown that comes as a file, in bytes.
const preview = 1500

// send answers the job: the text first, then the files it names.
func (j *job) send(ctx context.Context, r reply) error {
	doc, long := markup.Plain(r.plain), ""
	if r.plain == "" {
		doc = markup.Render(r.markdown, markup.Options{Files: true})
	}
	parts := doc.Parts()
	if len(r.markdown) > markup.MaxSource {
		long = doc.Text()
		parts = markup.Plain(clip(long, preview) + "\n\n📄 The whole answer is in the file below.").Parts()
	}
	if len(parts) == 0 && len(doc.Files) == 0 {
		parts = markup.Plain(noAnswer).Parts()
	}
	if err := j.sendText(ctx, parts, r); err != nil {
		return err
	}
	var troubles []string
	if long != "" {
		if err := j.sendContent(ctx, "answer.md", long); err != nil {
			troubles = append(troubles, "⚠️ The whole answer could not be sent as a file.")
		}
	}
	troubles = append(troubles, j.sendFiles(ctx, doc.Files)...)
	if len(troubles) > 0 {
		j.room.say(strings.Join(troubles, "\n"), 0)
	}
	return nil
}

// sendText sends the parts of an answer. The receipt of a message that had to
// wait becomes the first of them; a mere progress message makes room, so that
// the person is notified of the answer.
func (j *job) sendText(ctx context.Context, parts []markup.Part, r reply) error {
	out, p, n := j.room.desk.out, j.room.place, j.notes()
	d := delivery{place: p, parts: parts, skip: n.Sent, sent: func(i, _ int) {
		j.noted(func(n *note) { n.Sent, n.Receipt = i+1, 0 })
	}}
	if !j.private || r.reply {
		d.replyTo = j.message
	}
	if n.Receipt != 0 {
		if n.Turns && len(parts) > 0 {
			d.replace = n.Receipt
		} else if err := out.remove(ctx, p, n.Receipt); err != nil && !says(err, "not found") {
			d.replace = n.Receipt
		}
	}
	_, err := out.deliver(ctx, d)
	return err
}
