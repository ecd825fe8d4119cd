package telegram

import (
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox/internal/boxtest"
)

func TestParseConfig(t *testing.T) {
	t.Parallel()
	c, err := parseConfig([]byte(`
allowed_chats: [1, "-100200", -3]
default:
  model: a
  busy: refuse
  allowed_users: [5]
chats:
  1: {workspace: one, thinking: low, continue: no, groups: mentions, allowed_users: []}
  -3: {effort: high, system_prompt: "", append_system_prompt: x}
`), []string{"a"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		chat, user int64
		want       bool
	}{{1, 5, false}, {-100200, 5, true}, {-100200, 6, false}, {2, 5, false}, {-3, 5, true}} {
		if got := c.lets(test.chat, test.user); got != test.want {
			t.Errorf("lets(%d, %d) = %v", test.chat, test.user, got)
		}
	}
	if got, want := c.settings(place{chat: 1}), (settings{workspace: "one", model: "a", effort: "low", busy: busyRefuse, groups: groupsMentions}); got != want {
		t.Errorf("settings %+v", got)
	}
	if got := c.settings(place{-100200, 9}); got.workspace != "chat_100200_topic_9" || !got.goesOn || got.groups != groupsAll {
		t.Errorf("settings %+v", got)
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "{}"} {
		if c, err := parseConfig([]byte(empty), nil, nil); err != nil || c.lets(1, 1) {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

func TestParseConfigErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		want []string
	}{
		{"allowed_chat: [1]\ndefault:\n  modle: x\n  continue: perhaps\n", []string{"line 1: field allowed_chat is not known", "line 3: field modle is not known", "line 4", "true or false"}},
		{"allowed_chats: [x]\ndefault: {busy: panic, groups: some}\n", []string{"line 1", `"x" is no chat id`, "line 2", "queue, refuse, interrupt", "all, mentions"}},
		{"default: {model: z}\nchats:\n  1:\n    effort: y\n    workspace: ../up\n", []string{`line 1: default.model is "z"`, `line 4: chats.1.effort is "y"`, "line 5: chats.1.workspace"}},
		{"chats:\n  one: {}\n", []string{"line 2", "whole number"}},
		{"default: {effort: low, thinking: low}\n", []string{"one setting"}},
		{"default: {model: [a]}\n", []string{"line 1", "single word"}},
		{"a: {\n", []string{"line"}},
		{"default: {}\n---\ndefault: {}\n", []string{"one YAML document"}},
	} {
		_, err := parseConfig([]byte(test.in), []string{"a"}, []string{"low"})
		if err == nil {
			t.Errorf("%q is accepted", test.in)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %q lacks %q", test.in, err, want)
			}
		}
		if strings.Contains(err.Error(), "telegram.") {
			t.Errorf("error %q talks of Go types", err)
		}
	}
}

func TestMissingConfig(t *testing.T) {
	t.Parallel()
	box := boxtest.New(t, nil)
	s := &surface{box: box, file: box.StateDir() + "/none.yml"}
	if _, err := s.readConfig(); err != nil {
		t.Errorf("a missing file at the default path: %v", err)
	}
	s.fileNamed = true
	if _, err := s.readConfig(); err == nil {
		t.Error("a missing file that was named is no error")
	}
}
