package fakemodel

import "testing"

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, prompt, want string }{
		{"alone", "SAY:hello", "SAY:hello"},
		{"several", "THINK:a ;; SAY:b", "THINK:a ;; SAY:b"},
		{"the last line counts", "SAY:old\n\nassistant: old\n\nuser: SAY:new", "SAY:new"},
		{"instructions after it", "SAY:{\"a\":1}\n\nAnswer with JSON that fits this schema:\n{\"type\":\"object\"}", `SAY:{"a":1}`},
		{"words before it", "Please do this: TOOL:echo hi", "TOOL:echo hi"},
		{"a tag around it", "<user>SAY:x</user>", "SAY:x"},
		{"a tag inside it", "SAY:<b>x</b>", "SAY:<b>x</b>"},
		{"a JSON transcript", `[{"role":"user","content":"SAY:say \"it\" ;; LEN"},{"role":"assistant","content":"ok"}]`, `SAY:say "it" ;; LEN`},
		{"a JSON line of an indented transcript", "{\n  \"content\": \"SAY:a\\tb\",\n  \"role\": \"user\"\n}", "SAY:a\tb"},
		{"a bare command", "HANG", "HANG"},
		{"a bare command with a role", "User: EMPTY", "EMPTY"},
		{"a bare command first", "HANG ;; SAY:x", "HANG ;; SAY:x"},
		{"carriage return", "SAY:x\r\n", "SAY:x"},
		{"a word in a sentence", "do not HANG there, CUT it", ""},
		{"a longer word", "ERRATA:1 and XSAY:2", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := find(c.prompt); got != c.want || ok != (c.want != "") {
				t.Errorf("find(%q) = %q, %t; want %q", c.prompt, got, ok, c.want)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	f.Add("SAY:x ;; TOOL:y")
	f.Add(`{"a":["HANG","ERR:500x2"]}`)
	f.Add(`"SEQ:a|b`)
	f.Fuzz(func(t *testing.T, prompt string) {
		if line, ok := find(prompt); ok && len(newScript(line).steps) == 0 {
			t.Errorf("the script %q has no step", line)
		}
		New().Answer(Request{Messages: []Message{{Role: "user", Text: prompt}}})
	})
}
