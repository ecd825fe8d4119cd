package telegram

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v4"
)

// config is the operator's file: who may use the bot, and how.
//
//	allowed_chats: [123456789, -1001234567890]   # or ["*"]
//	default:
//	  model: fast
//	chats:
//	  -1001234567890:
//	    workspace: team
//	    allowed_users: [123456789]
//	    groups: mentions
type config struct {
	open    bool // everybody may
	chats   map[int64]bool
	usual   rules
	special map[int64]rules
}

// fileOf is the shape of the file.
type fileOf struct {
	Allowed []chatRef       `yaml:"allowed_chats"`
	Default rules           `yaml:"default"`
	Chats   map[int64]rules `yaml:"chats"`
}

// rules are the settings of a chat. What a chat's own do not say, the default
// ones do.
type rules struct {
	Workspace    word    `yaml:"workspace"`
	Model        word    `yaml:"model"`
	Effort       word    `yaml:"effort"`
	Thinking     word    `yaml:"thinking"` // another name of effort
	Continue     *bool   `yaml:"continue"`
	System       *string `yaml:"system_prompt"`
	AppendSystem *string `yaml:"append_system_prompt"`
	Users        []int64 `yaml:"allowed_users"`
	Busy         busy    `yaml:"busy"`
	Groups       groups  `yaml:"groups"`
}

// busy is what happens to a prompt while another of its place is at work.
type busy string

const (
	busyQueue     busy = "queue" // it waits; the default
	busyRefuse    busy = "refuse"
	busyInterrupt busy = "interrupt" // the one at work is cancelled
)

// groups is which messages of a group are prompts.
type groups string

const (
	groupsAll      groups = "all" // the default
	groupsMentions groups = "mentions"
)

// word is a text that remembers its line.
type word struct {
	text string
	line int
}

// UnmarshalYAML reads a single value.
func (w *word) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return errors.New("a single word is needed here")
	}
	w.text, w.line = strings.TrimSpace(n.Value), n.Line
	return nil
}

// UnmarshalYAML reads one of the choices.
func (b *busy) UnmarshalYAML(n *yaml.Node) error {
	*b = busy(n.Value)
	return choice("busy", n.Value, busyQueue, busyRefuse, busyInterrupt)
}

// UnmarshalYAML reads one of the choices.
func (g *groups) UnmarshalYAML(n *yaml.Node) error {
	*g = groups(n.Value)
	return choice("groups", n.Value, groupsAll, groupsMentions)
}

func choice[T ~string](key, value string, list ...T) error {
	if slices.Contains(list, T(value)) {
		return nil
	}
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return fmt.Errorf("%s is %q; it accepts %s", key, value, strings.Join(words, ", "))
}

// chatRef is a chat id, or "*" for all.
type chatRef struct {
	id  int64
	all bool
}

// UnmarshalYAML reads a chat id, quoted or not, or "*".
func (c *chatRef) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == "*" {
		c.all = true
		return nil
	}
	id, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || id == 0 {
		return fmt.Errorf("%q is no chat id; allowed_chats accepts whole numbers, or \"*\" for everybody", n.Value)
	}
	c.id = id
	return nil
}

// parseConfig reads the file and checks all of it. The error names every
// mistake with its line. models and efforts are those on offer; an empty list
// accepts anything.
func parseConfig(data []byte, models, efforts []string) (*config, error) {
	var f fileOf
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, readable(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file must hold one YAML document")
	}
	c := &config{chats: map[int64]bool{}, usual: f.Default, special: f.Chats}
	for _, ref := range f.Allowed {
		c.open = c.open || ref.all
		if !ref.all {
			c.chats[ref.id] = true
		}
	}
	return c, f.check(models, efforts)
}

var goType = regexp.MustCompile(` (not found) in type \S+| into \S+`)

// readable rewords an error of the YAML library for people who do not know Go.
func readable(err error) error {
	text := goType.ReplaceAllStringFunc(err.Error(), func(s string) string {
		if strings.HasPrefix(s, " not found") {
			return " is not known"
		}
		switch s = strings.TrimPrefix(s, " into "); {
		case strings.Contains(s, "int"):
			return ": a whole number is needed"
		case strings.Contains(s, "bool"):
			return ": true or false is needed"
		case strings.Contains(s, "[]"):
			return ": a list is needed"
		}
		return ": this is not what belongs here"
	})
	for _, prefix := range []string{"yaml: ", "construct errors: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return errors.New(strings.ReplaceAll(text, "cannot construct ", "cannot read "))
}

// check finds what a decoder cannot know.
func (f *fileOf) check(models, efforts []string) error {
	errs := f.Default.check("default", models, efforts)
	ids := make([]int64, 0, len(f.Chats))
	for id := range f.Chats {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		errs = append(errs, f.Chats[id].check(fmt.Sprintf("chats.%d", id), models, efforts)...)
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	if len(texts) > 0 {
		return errors.New(strings.Join(texts, "; "))
	}
	return nil
}

func (r rules) check(where string, models, efforts []string) []error {
	var errs []error
	listed := func(key string, w word, list []string) {
		if w.text != "" && len(list) > 0 && !slices.Contains(list, w.text) {
			errs = append(errs, fmt.Errorf("line %d: %s.%s is %q; this box offers %s", w.line, where, key, w.text, strings.Join(list, ", ")))
		}
	}
	listed("model", r.Model, models)
	listed("effort", r.Effort, efforts)
	listed("thinking", r.Thinking, efforts)
	if r.Effort.text != "" && r.Thinking.text != "" {
		errs = append(errs, fmt.Errorf("line %d: %s has both effort and thinking, which are one setting", r.Thinking.line, where))
	}
	if w := r.Workspace; strings.HasPrefix(w.text, "/") || slices.Contains(strings.Split(w.text, "/"), "..") {
		errs = append(errs, fmt.Errorf("line %d: %s.workspace is %q; it accepts a path below the workspace root", w.line, where, w.text))
	}
	return errs
}

// lets tells whether user may use the bot in chat. user is 0 when nobody is
// named.
func (c *config) lets(chat, user int64) bool {
	if !c.open && !c.chats[chat] {
		return false
	}
	users := c.usual.Users
	if own := c.special[chat].Users; own != nil {
		users = own
	}
	return users == nil || slices.Contains(users, user)
}

// settings is how prompts of a place are run.
type settings struct {
	workspace    string
	model        string
	effort       string
	goesOn       bool // in the workspace's last conversation
	system       string
	appendSystem string
	busy         busy
	groups       groups
}

// settings returns what the file says for p.
func (c *config) settings(p place) settings {
	s := settings{goesOn: true, busy: busyQueue, groups: groupsAll}
	s.take(c.usual)
	s.take(c.special[p.chat])
	if s.workspace == "" {
		s.workspace = p.workspace()
	}
	return s
}

func (s *settings) take(r rules) {
	set := func(to *string, values ...string) {
		for _, v := range values {
			if v != "" {
				*to = v
			}
		}
	}
	set(&s.workspace, r.Workspace.text)
	set(&s.model, r.Model.text)
	set(&s.effort, r.Effort.text, r.Thinking.text)
	set((*string)(&s.busy), string(r.Busy))
	set((*string)(&s.groups), string(r.Groups))
	if r.Continue != nil {
		s.goesOn = *r.Continue
	}
	if r.System != nil {
		s.system = *r.System
	}
	if r.AppendSystem != nil {
		s.appendSystem = *r.AppendSystem
	}
}

// workspace is the name of the workspace of a place that the file gives none.
func (p place) workspace() string {
	id := strconv.FormatInt(p.chat, 10)
	name := "chat_" + strings.TrimPrefix(id, "-")
	if p.topic != 0 {
		name += "_topic_" + strconv.Itoa(p.topic)
	}
	return name
}
