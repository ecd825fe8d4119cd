package fakemodel

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// conversation makes a request of turns: "u:" user, "a:" assistant, "t:" tool.
func conversation(turns ...string) Request {
	roles := map[string]string{"u": "user", "a": "assistant", "t": "tool"}
	req := Request{Tools: []Tool{{Name: "bash", Parameters: json.RawMessage(
		`{"properties":{"command":{"type":"string"},"description":{"type":"string"},"n":{"type":"integer"}},"required":["command","description","n"]}`)}}}
	for _, turn := range turns {
		role, words, _ := strings.Cut(turn, ":")
		req.Messages = append(req.Messages, Message{Role: roles[role], Text: words})
	}
	return req
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	call := func(name, args string) Part {
		return Part{Call: &Call{Name: name, Arguments: json.RawMessage(args)}}
	}
	shell := call("bash", `{"command":"echo hi","description":"x","n":1}`)
	for _, c := range []struct {
		name string
		req  Request
		want Response
	}{
		{"text", conversation(`u:SAY:a\nb`), Say("a\nb")},
		{"JSON keeps its escapes", conversation(`u:SAY:{"a":"x\ny"}`), Say(`{"a":"x\ny"}`)},
		{"thinking and text", conversation("u:THINK:hm ;; SAY:a"), Response{Parts: []Part{{Thinking: "hm"}, {Text: "a"}}}},
		{"tool", conversation("u:TOOL:echo hi ;; SAY:done"), Response{Parts: []Part{shell}}},
		{"after the tool", conversation("u:TOOL:echo hi ;; SAY:done", "a:", "t:hi"), Say("done")},
		{"tool with nothing left", conversation("u:TOOL:echo hi", "a:", "t:hi\n"), Say("tool said: hi")},
		{"call", conversation(`u:CALL:read:{"path":"x"}`), Response{Parts: []Part{call("read", `{"path":"x"}`)}}},
		{"call with a space", conversation(`u:CALL:read {"path":"x"}`), Response{Parts: []Part{call("read", `{"path":"x"}`)}}},
		{"stream", conversation("u:STREAM:2@5"), Response{Parts: []Part{{
			Text: "w1 w2 ", Deltas: []string{"w1 ", "w2 "}, Gap: 5 * time.Millisecond,
		}}}},
		{"limit", conversation("u:SAY:a ;; LEN"), Response{Parts: []Part{{Text: "a"}}, Stop: StopLength}},
		{"limit goes on", conversation("u:SAY:a ;; LEN", "a:a", "u:go on"), Response{Parts: []Part{{Text: "a"}}, Stop: StopLength}},
		{"refusal", conversation("u:REFUSE"), Response{Stop: StopRefuse}},
		{"cut", conversation("u:SAY:a ;; CUT"), Response{Parts: []Part{{Text: "a"}}, Cut: true}},
		{"error", conversation("u:ERR:429"), Fail(429)},
		{"quota", conversation("u:ERR:429q"), Response{Status: 429, Code: codeQuota}},
		{"no script", conversation("u:hello"), Say("you said 5 bytes")},
		{"script used up", conversation("u:SAY:a", "a:a", "u:hello"), Say("you said 5 bytes")},
		{"newer script", conversation("u:SAY:a", "a:a", "u:SAY:b"), Say("b")},
		{"JSON as text", conversation(`u:JSON:{"a":1}`), Say(`{"a":1}`)},
		{"wait", conversation("u:SLEEP:0.5 ;; SAY:a"), Response{Parts: []Part{{Wait: 500 * time.Millisecond}, {Text: "a"}}}},
		{"hang", conversation("u:HANG"), Response{Parts: []Part{{Hang: true}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, New().Answer(c.req)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswerCounts(t *testing.T) {
	t.Parallel()
	s := New()
	for i, want := range []string{"a", "b", "b"} {
		if got := s.Answer(conversation("u:SEQ:a|b")); !cmp.Equal(got, Say(want)) {
			t.Errorf("occurrence %d is %+v; want %q", i, got, want)
		}
	}
	var got []int
	for range 3 {
		got = append(got, s.Answer(conversation("u:ERR:500x2 ;; SAY:recovered")).Status)
	}
	if want := []int{500, 500, 0}; !cmp.Equal(got, want) {
		t.Errorf("statuses are %v; want %v", got, want)
	}
	if got := s.Answer(conversation("u:SEQ:ERR:401|x")).Status; got != 401 {
		t.Errorf("a command as an item gives status %d; want 401", got)
	}
}

func TestShellByAnyName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, parameters, want string }{
		{"exec_command", `{"properties":{"cmd":{"type":"string"}},"required":["cmd"]}`, `{"cmd":"ls"}`},
		{"shell", `{"properties":{"command":{"type":"array"}}}`, `{"command":["bash","-lc","ls"]}`},
		{"my_terminal", `{"properties":{"command":{"type":"string"},"mode":{"enum":["now","later"]}},"required":["mode"]}`, `{"command":"ls","mode":"now"}`},
	} {
		req := Request{
			Messages: []Message{{Role: "user", Text: "TOOL:ls"}},
			Tools:    []Tool{{Name: "read", Parameters: json.RawMessage(`{"properties":{"path":{}}}`)}, {c.tool, json.RawMessage(c.parameters)}},
		}
		got := New().Answer(req).Parts[0].Call
		if got == nil || got.Name != c.tool || string(got.Arguments) != c.want {
			t.Errorf("%s is called as %+v; want arguments %s", c.tool, got, c.want)
		}
	}
	if got := New().Answer(Request{Messages: []Message{{Role: "user", Text: "TOOL:ls"}}}); !cmp.Equal(got, Say("no shell tool is offered")) {
		t.Errorf("without tools the answer is %+v", got)
	}
}
