package telegram

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"
)

// command is a message that asks something of the bot, not of the agent.
type command struct {
	name string // lower case, without the slash
	args string
	here bool // it is for this bot
}

// commands are all of them, as Telegram's menu shows them.
var commands = []struct{ name, meaning string }{
	{"help", "what this bot does"},
	{"new", "begin a new conversation"},
	{"status", "what is being done here"},
	{"cancel", "stop what is being done; all: and what waits"},
	{"model", "show or set the model"},
	{"effort", "show or set how much it thinks"},
	{"system_prompt", "show or set the system prompt; reset clears it"},
	{"append_system_prompt", "show or set what is added to the system prompt"},
	{"fetch", "send a file of the workspace"},
	{"config", "show the settings of this chat"},
	{"reload", "read the bot's configuration again"},
	{"start", "say hello"},
}

func commandList() []models.BotCommand {
	var list []models.BotCommand
	for _, c := range commands {
		list = append(list, models.BotCommand{Command: c.name, Description: c.meaning})
	}
	return list
}

var commandShape = regexp.MustCompile(`(?s)^/([A-Za-z0-9_]{1,32})(@[A-Za-z0-9_]+)?(?:\s+(.*))?$`)

// command reads m as a command. In a group, one that is addressed to another
// bot, or that this bot does not know, is not for it.
func (d *desk) command(m *message) (command, bool) {
	found := commandShape.FindStringSubmatch(strings.TrimSpace(m.Text))
	if found == nil {
		return command{}, false
	}
	c := command{name: strings.ToLower(found[1]), args: strings.TrimSpace(found[3])}
	named := strings.EqualFold(found[2], "@"+*d.name.Load()) && len(found[2]) > 1
	c.here = named || found[2] == "" && (m.Chat.private() || c.known())
	return c, true
}

func (c command) known() bool {
	return slices.ContainsFunc(commands, func(k struct{ name, meaning string }) bool { return k.name == c.name })
}

// urgent tells whether c must not wait behind other messages.
func (c command) urgent() bool {
	return c.name == "cancel" || c.name == "status" || c.name == "help"
}

// obey does what a command asks for.
func (r *room) obey(it item) {
	c := it.command
	does := map[string]func(*message, string) string{
		"start":                r.start,
		"help":                 r.help,
		"new":                  r.renew,
		"status":               r.status,
		"cancel":               r.cancel,
		"reload":               r.reload,
		"config":               r.describe,
		"fetch":                r.fetch,
		"model":                r.pick("model"),
		"effort":               r.pick("effort"),
		"system_prompt":        r.setText("system_prompt", func(o *override) *string { return &o.System }),
		"append_system_prompt": r.setText("append_system_prompt", func(o *override) *string { return &o.AppendSystem }),
	}
	do := does[c.name]
	if do == nil {
		do = func(*message, string) string { return "I do not know /" + c.name + ". /help lists what I know." }
	}
	if text := do(it.message, c.args); text != "" {
		r.say(text, r.pointer(it.message))
	}
	r.desk.in.done(it.id)
}

// pointer is the message to reply to, where it is not clear without.
func (r *room) pointer(m *message) int {
	if m.Chat.private() {
		return 0
	}
	return m.ID
}

func (r *room) start(*message, string) string {
	return "Hello. Write what you want done, or send files; " + r.desk.box.Agent().Name +
		" works on it in the workspace " + r.desk.settings(r.place).workspace + ". /help says more."
}

func (r *room) help(*message, string) string {
	lines := []string{
		"Write what you want done. What you send while I work waits its turn.",
		"Files land in the workspace; a caption is a prompt. A reply carries what it replies to.", "",
	}
	for _, c := range commands {
		lines = append(lines, "/"+c.name+" – "+c.meaning)
	}
	return strings.Join(lines, "\n")
}

func (r *room) renew(*message, string) string {
	err := r.desk.overrides.change(r.place, func(o *override) { o.Fresh = true })
	return r.confirm(err, "🆕 Your next message begins a new conversation.")
}

// confirm says text, or that the setting could not be stored.
func (r *room) confirm(err error, text string) string {
	if err == nil {
		return text
	}
	r.desk.log.Error("a chat's setting could not be stored", "error", err)
	return "⚠️ That could not be stored; the box's log says why. Nothing was changed."
}

func (r *room) status(*message, string) string {
	s := r.desk.settings(r.place)
	r.mu.Lock()
	defer r.mu.Unlock()
	state := "Idle."
	if r.current != nil {
		state = "⚙️ At work for " + elapsed(time.Since(r.current.begun)) + "."
	}
	if n := len(r.jobs); n > 0 {
		state += fmt.Sprintf(" Waiting: %d.", n)
	}
	return state + fmt.Sprintf("\nAgent: %s\nWorkspace: %s\nModel: %s\nEffort: %s",
		r.desk.box.Agent().Name, s.workspace, orDefault(s.model), orDefault(s.effort))
}

func orDefault(s string) string {
	if s == "" {
		return "the agent's own"
	}
	return s
}

// cancel stops the job at work; with "all", those that wait too. The job itself
// says that it was stopped.
func (r *room) cancel(_ *message, args string) string {
	r.mu.Lock()
	current := r.current
	var dropped []*job
	if strings.EqualFold(args, "all") {
		dropped, r.jobs = r.jobs, nil
	}
	left := len(r.jobs)
	r.mu.Unlock()
	if current != nil {
		text := "⏹ Cancelled."
		if left > 0 {
			text += fmt.Sprintf(" Still waiting: %d; /cancel all drops them too.", left)
		}
		current.stop(stopped{text})
	}
	for _, j := range dropped {
		<-j.announced
		j.finish(reply{plain: "⏹ Cancelled."})
	}
	if current == nil && len(dropped) == 0 {
		return "Nothing is being done here."
	}
	return ""
}

func (r *room) reload(*message, string) string {
	if err := r.desk.reload(); err != nil {
		r.desk.log.Error("the Telegram configuration stays as it was", "error", err)
		return "⚠️ The configuration stays as it was: " + r.desk.surface.withoutPath(err)
	}
	return "🔄 The configuration was read again."
}

// withoutPath takes the path of the operator's file out of an error.
func (s *surface) withoutPath(err error) string {
	return strings.ReplaceAll(err.Error(), s.file, "file")
}

// maxShown is how much of a prompt /config shows, in bytes.
const maxShown = 500

func (r *room) describe(*message, string) string {
	s := r.desk.settings(r.place)
	conversation := "each message begins a new one"
	if s.goesOn {
		conversation = "goes on"
	}
	lines := []string{
		"Workspace: " + s.workspace, "Model: " + orDefault(s.model), "Effort: " + orDefault(s.effort),
		"Conversation: " + conversation, "While busy: " + string(s.busy), "In groups: " + string(s.groups),
	}
	for _, t := range []struct{ name, value string }{{"System prompt", s.system}, {"Added to it", s.appendSystem}} {
		if t.value != "" {
			lines = append(lines, t.name+": "+clip(t.value, maxShown))
		}
	}
	return strings.Join(lines, "\n")
}

func (r *room) fetch(m *message, args string) string {
	if args == "" {
		return "Name a file: /fetch path/of/the/file"
	}
	j := r.job(m, note{})
	ctx, cancel := context.WithTimeout(r.desk.work, fileTime)
	defer cancel()
	return strings.Join(j.sendFiles(ctx, []string{args}), "\n")
}

// maxPrompt is the longest system prompt that a chat may set, in bytes.
const maxPrompt = 32 << 10

// setText returns the command that shows, sets or clears a text.
func (r *room) setText(name string, field func(*override) *string) func(*message, string) string {
	return func(_ *message, args string) string {
		if args == "" {
			o := r.desk.overrides.of(r.place)
			if text := *field(&o); text != "" {
				return "/" + name + " is set to:\n" + clip(text, maxShown) + "\n\n/" + name + " reset clears it."
			}
			return "Nothing is set. Set it with /" + name + " TEXT"
		}
		text, done := args, "✅ Set."
		if strings.EqualFold(args, "reset") {
			text, done = "", "✅ Cleared."
		}
		if len(text) > maxPrompt {
			return "⛔ That is too long."
		}
		return r.confirm(r.desk.overrides.change(r.place, func(o *override) { *field(o) = text }), done)
	}
}
