package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// Tools are never accepted and then ignored.
func TestCase_W01(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	ticket := m{"type": "function", "function": m{"name": "lookup_ticket", "parameters": m{
		"type": "object", "properties": m{"id": m{"type": "integer"}}, "required": []string{"id"},
	}}}
	const prompt = "Find ticket 7\nSEQ:I would look it up.|" + `{"tool_calls":[{"name":"lookup_ticket","arguments":{"id":7}}]}`
	c := s.chat(ask(prompt, m{"tools": []m{ticket}, "tool_choice": "required"})).completion().Choices[0]
	if c.Finish != "tool_calls" || len(c.Message.Calls) != 1 || c.Message.Calls[0].Function.Arguments != `{"id":7}` {
		t.Errorf("%+v", c)
	}
	e := s.chat(ask("SAY:I would look it up.", m{"tools": []m{ticket}, "tool_choice": "required"})).error(422)
	if !strings.Contains(e.Message, "calls no function") {
		t.Errorf("%+v", e)
	}
	if got := s.chat(ask("SAY:It is open.", m{"tools": []m{}, "tool_choice": "required"})).content(); got != "It is open." {
		t.Errorf("no tools: %q", got)
	}
}

// Two calls in a stream stay apart.
func TestCase_W02(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	long := func(c string) string { return strings.Repeat(c, 300) }
	prompt := `SAY:{"tool_calls":[{"name":"get_weather","arguments":{"city":"` + long("o") + `"}},{"name":"get_weather","arguments":{"city":"` + long("b") + `"}}]}`
	seen := make(map[string]bool)
	for range 2 {
		got := s.stream(ask(prompt, tools))
		arguments := map[int]string{}
		for _, c := range got.calls {
			if c.Index == nil {
				t.Fatal("a call without index")
			}
			if _, again := arguments[*c.Index]; again != (c.ID == "" && c.Type == "" && c.Function.Name == "") {
				t.Errorf("id, type and name belong into the first piece alone: %+v", c)
			}
			if c.ID != "" {
				if seen[c.ID] {
					t.Errorf("the id %s is used twice", c.ID)
				}
				seen[c.ID] = true
			}
			arguments[*c.Index] += c.Function.Arguments
		}
		for i, want := range []string{long("o"), long("b")} {
			var a struct{ City string }
			if err := json.Unmarshal([]byte(arguments[i]), &a); err != nil || a.City != want {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if len(arguments) != 2 || got.finish != "tool_calls" || !got.done {
			t.Errorf("%+v", got)
		}
	}
}

// One finish reason, with an empty delta, then the usage, then the end; or an
// error in their place. What is between is checked by assemble.
func TestCase_W04(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for prompt, text := range map[string]string{"SAY:a\nSAY:b": "a\nb", "@done": ""} {
		got := s.stream(ask(prompt, m{"stream_options": m{"include_usage": true}}))
		if got.finish != "stop" || !got.done || got.usage == nil || got.text != text {
			t.Errorf("%q: %+v", prompt, got)
		}
		if got := s.stream(ask(prompt)); got.usage != nil {
			t.Errorf("usage that nobody asked for: %+v", got)
		}
	}
	got := s.stream(ask("SAY:some text\nHANG"), "x-aicodebox-timeout-seconds", "1")
	if got.finish != "" || got.failure == nil || deref(got.failure.Code) != "timeout" || got.text != "some text" {
		t.Errorf("time-out: %+v", got)
	}
}

// Every error has the usual envelope. What concerns the token is in
// TestWholeBox, since the server checks it.
func TestCase_W06(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.chat(`{"model":`).error(400)
	s.chat(`{"model":"fast"}`).error(400)
	s.chat(ask("x", m{"model": "nope"})).error(404)
	s.do(http.MethodPost, "/v1/nope", "{}").error(404)
	s.chat(ask("EXIT:3")).error(500)
	s.chat(ask("x", m{"model": "missing"})).error(503)
	if got := s.stream(ask("EXIT:3")); got.failure == nil {
		t.Errorf("%+v", got)
	}
}

// Who hangs up ends the agent, whatever the form of the answer.
func TestCase_W07(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, fields := range map[string]m{
		"plain": {}, "stream": {"stream": true}, "tools": {"tools": []m{weather}}, "schema": schemaA,
		"tool stream": {"tools": []m{weather}, "stream": true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := strings.ReplaceAll(name, " ", "-")
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			req := s.request(ctx, http.MethodPost, chatPath, text(ask("BG:300\nTOUCH:begun\nHANG", fields)), "x-aicodebox-workspace", dir)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if res, err := http.DefaultClient.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}()
			await(t, filepath.Join(s.root, dir, "begun"))
			id := runIn(t, s, dir)
			hangUp()
			<-ended
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			result, err := runner.Await(ctx, s.box, id)
			if err != nil {
				t.Fatal(err)
			}
			if result.Status != ledger.Cancelled {
				t.Errorf("status %s", result.Status)
			}
			if e := s.chat(ask("SAY:free"), "x-aicodebox-workspace", dir).content(); e != "free" {
				t.Errorf("%q", e)
			}
		})
	}
}

// runIn returns the id of the run in a workspace.
func runIn(t *testing.T, s *server, dir string) string {
	t.Helper()
	infos, err := runner.List(t.Context(), s.box)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if filepath.Base(info.Workspace) == dir {
			if info.Surface != "openai" {
				t.Errorf("surface %q", info.Surface)
			}
			return info.ID
		}
	}
	t.Fatalf("no run in %s", dir)
	return ""
}

// While an agent is silent, a comment and one line end keep the stream open.
func TestCase_W08(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(s *surface) { s.beat = 50 * time.Millisecond })
	res, err := http.DefaultClient.Do(s.request(t.Context(), http.MethodPost, chatPath,
		text(ask("AWAIT:go\nSAY:ok", m{"stream": true}))))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	var raw bytes.Buffer
	role, pings := false, 0
	for pings < 3 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		raw.WriteString(line)
		role = role || strings.Contains(line, `"role":"assistant"`)
		if line == ": ping\n" {
			pings++
		}
		if pings > 0 && !role {
			t.Fatal("the role does not come first")
		}
	}
	if err := os.WriteFile(filepath.Join(s.root, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	raw.Write(readAll(t, lines))
	body := raw.String()
	if strings.Contains(body, ": ping\n\n") || strings.Contains(body, "id:") || strings.Contains(body, "\n\n\n") {
		t.Errorf("%q", body)
	}
	if got := assemble(t, raw.Bytes()); got.text != "ok" || !got.done {
		t.Errorf("%+v", got)
	}
}

// A front end's chores keep out of the conversation's workspace, and do not
// wait for it.
func TestCase_W10(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	done := make(chan string, 1)
	go func() { done <- s.chat(ask("TOUCH:begun\nAWAIT:go\nSAY:done")).content() }()
	await(t, filepath.Join(s.root, "begun"))
	chore := `Create a concise three-word title for this chat and answer as JSON: {"title": "..."}` + "\n<chat_history>\nuser: hello\nassistant: hi\n</chat_history>\nTOUCH:polluted\nCWD"
	got := s.chat(ask(chore, m{"chat_id": "c1"})).content()
	if strings.HasPrefix(got, s.root) {
		t.Errorf("it ran in %s", got)
	}
	if _, err := os.Stat(filepath.Join(s.root, "polluted")); err == nil {
		t.Error("it wrote into the workspace")
	}
	if err := os.WriteFile(filepath.Join(s.root, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != "done" {
		t.Errorf("%q", got)
	}
}

// Numbers keep their digits.
func TestCase_J05(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const value = `{"id":9007199254740993,"big":123456789012345678901234567890,"f":1.10}`
	properties := m{"id": m{"type": "integer"}, "big": m{"type": "integer"}, "f": m{"type": "number"}}
	schema := m{"type": "object", "properties": properties}
	format := m{"response_format": m{"type": "json_schema", "json_schema": m{"name": "n", "schema": schema}}}
	if got := s.chat(ask("SAY:"+value, format)).content(); got != value {
		t.Errorf("answer: %s", got)
	}
	function := m{"tools": []m{{"type": "function", "function": m{"name": "f", "parameters": schema}}}}
	for _, arguments := range []string{value, string(encode(value))} {
		body := ask("SAY:"+strings.ReplaceAll(`{"tool_calls":[{"name":"f","arguments":ARGS}]}`, "ARGS", arguments), function)
		if got := s.chat(body).completion().Choices[0].Message.Calls[0].Function.Arguments; got != value {
			t.Errorf("arguments: %s", got)
		}
	}
	back := m{"messages": []m{
		{"role": "user", "content": "x"},
		{"role": "assistant", "tool_calls": []m{{"id": "c", "function": m{"name": "f", "arguments": value}}}},
		{"role": "tool", "tool_call_id": "c", "content": "ok"},
		{"role": "user", "content": "ECHO"},
	}}
	if got := echoOf(t, s.chat(back).content()).Stdin; !strings.Contains(got, value) {
		t.Errorf("transcript: %s", got)
	}
}

// Four attempts, each told the complaint; the usage is the sum.
func TestCase_J07(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	age := m{"response_format": m{"type": "json_schema", "json_schema": m{"name": "p", "schema": m{
		"type": "object", "properties": m{"age": m{"type": "integer"}}, "required": []string{"age"},
	}}}}
	e := s.chat(ask(counted+`SAY:{"age":"forty"}`, age)).error(422)
	if !strings.Contains(e.Message, "after 4 attempts") || !strings.Contains(e.Message, "/age") || !strings.Contains(e.Message, "integer") {
		t.Errorf("%+v", e)
	}
	c := s.chat(ask(counted+`SEQ:{"age":"forty"}|x|y|{"age":40}`, age), "x-aicodebox-workspace", "w").completion()
	if len(c.Attempts) != 4 || c.Usage.Completion != 28 || c.Attempts[0].ParseError == nil || c.Attempts[3].ParseError != nil {
		t.Errorf("%+v", c)
	}
	// Cancelled between two attempts.
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	ended := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(s.request(ctx, http.MethodPost, chatPath, text(ask("SEQ:bad|bad\nTOUCH:begun\nAWAIT:go", age)), "x-aicodebox-workspace", "c"))
		if err == nil {
			res.Body.Close()
		}
		ended <- err
	}()
	await(t, filepath.Join(s.root, "c", "begun"))
	id := runIn(t, s, "c")
	hangUp()
	if err := <-ended; err == nil {
		t.Error("a chat that was hung up on is answered")
	}
	if result, err := runner.Await(t.Context(), s.box, id); err != nil || result.Status != ledger.Cancelled || len(result.Attempts) > 1 {
		t.Errorf("%v, %+v", err, result)
	}
}
