package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox"
)

// protocolFor is the protocol of a request with the two tools of these tests.
func protocolFor(t testing.TB, fields ...m) *protocol {
	t.Helper()
	r, err := readChat([]byte(text(ask("the prompt", append([]m{tools}, fields...)...))))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProtocol(r.tools, r.format, "the prompt", r.messages)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What models write, and what is read.
func TestReadCalls(t *testing.T) {
	t.Parallel()
	const (
		oslo = `{"name":"get_weather","arguments":{"city":"Oslo"}}`
		sum  = `{"name":"add","arguments":{"x":1}}`
	)
	fence := "```"
	for name, tt := range map[string]struct {
		answer string
		text   string
		calls  []string // name and arguments
		fields m
	}{
		"text":           {answer: "It is sunny.", text: "It is sunny."},
		"empty":          {},
		"call":           {answer: `{"tool_calls":[` + oslo + `]}`, calls: []string{`get_weather {"city":"Oslo"}`}},
		"two":            {answer: `{"tool_calls":[` + oslo + `,` + sum + `]}`, calls: []string{`get_weather {"city":"Oslo"}`, `add {"x":1}`}},
		"pretty":         {answer: "{\n  \"tool_calls\": [\n    {\"name\": \"add\", \"arguments\": {\"x\": 1}}\n  ]\n}\n", calls: []string{`add {"x":1}`}},
		"prose around":   {answer: "I will look.\n{\"tool_calls\":[" + oslo + "]}\nOne moment.", text: "I will look.\nOne moment.", calls: []string{`get_weather {"city":"Oslo"}`}},
		"prose, braces":  {answer: `Template {title} filled. {"tool_calls":[` + oslo + `]} :}`, text: "Template {title} filled.\n:}", calls: []string{`get_weather {"city":"Oslo"}`}},
		"fence":          {answer: "Sure:\n" + fence + "json\n{\"tool_calls\":[" + oslo + "]}\n" + fence + "\n", text: "Sure:", calls: []string{`get_weather {"city":"Oslo"}`}},
		"fence, open":    {answer: fence + "\n{\"tool_calls\":[" + oslo + "]}", calls: []string{`get_weather {"city":"Oslo"}`}},
		"two fences":     {answer: fence + "json\n{\"tool_calls\":[" + oslo + "]}\n" + fence + "\nand\n" + fence + "json\n{\"tool_calls\":[" + sum + "]}\n" + fence, text: "and", calls: []string{`get_weather {"city":"Oslo"}`, `add {"x":1}`}},
		"said twice":     {answer: `{"tool_calls":[` + oslo + `]} {"tool_calls":[` + oslo + `]}`, calls: []string{`get_weather {"city":"Oslo"}`}},
		"text's code":    {answer: fence + "go\nfunc() {}\n" + fence + "\n{\"tool_calls\":[" + sum + "]}", text: fence + "go\nfunc() {}\n" + fence, calls: []string{`add {"x":1}`}},
		"OpenAI's":       {answer: `{"role":"assistant","content":"Wait.","tool_calls":[{"id":"x","type":"function","function":{"name":"add","arguments":"{\"x\":1}"}}]}`, text: "Wait.", calls: []string{`add {"x":1}`}},
		"old form":       {answer: `{"function_call":{"name":"add","arguments":"{\"x\":1}"}}`, calls: []string{`add {"x":1}`}},
		"tags":           {answer: "<tool_call>\n" + oslo + "\n</tool_call>\n<tool_call>\n" + sum + "\n</tool_call>", calls: []string{`get_weather {"city":"Oslo"}`, `add {"x":1}`}},
		"alone":          {answer: oslo, calls: []string{`get_weather {"city":"Oslo"}`}},
		"list alone":     {answer: "[" + oslo + "," + sum + "]", calls: []string{`get_weather {"city":"Oslo"}`, `add {"x":1}`}},
		"other words":    {answer: `{"tool":"add","parameters":{"x":1}}`, calls: []string{`add {"x":1}`}},
		"string inside":  {answer: `{"tool_calls":[{"name":"add","arguments":"{\"x\": 1}"}]}`, calls: []string{`add {"x":1}`}},
		"no arguments":   {answer: `{"tool_calls":[{"name":"add"}]}`, calls: []string{`add {}`}},
		"null, empty":    {answer: `{"tool_calls":[{"name":"add","arguments":null},{"name":"add","arguments":""}]}`, calls: []string{`add {}`, `add {}`}},
		"comma":          {answer: `{"tool_calls":[{"name":"add","arguments":{"x":[1,],},},],}`, calls: []string{`add {"x":[1]}`}},
		"no calls":       {answer: `{"tool_calls":[],"content":"done"}`, text: "done"},
		"not a list":     {answer: `{"tool_calls":"none"}`, text: `{"tool_calls":"none"}`},
		"other JSON":     {answer: `{"name":"Ann","arguments":{"x":1}}`, text: `{"name":"Ann","arguments":{"x":1}}`},
		"name only":      {answer: `{"name":"add"}`, text: `{"name":"add"}`},
		"more than that": {answer: `{"name":"add","arguments":{},"price":5}`, text: `{"name":"add","arguments":{},"price":5}`},
		"explanation":    {answer: `Write {"tool_calls": [...]} to call.`, text: `Write {"tool_calls": [...]} to call.`},
		"one at a time":  {answer: `{"tool_calls":[` + oslo + `,` + sum + `]}`, calls: []string{`get_weather {"city":"Oslo"}`}, fields: m{"parallel_tool_calls": false}},
		"final":          {answer: `so: {"a":5}`, text: `{"a":5}`, fields: schemaA},
		"final or call":  {answer: `{"name":"add","arguments":{},"a":1}`, text: `{"name":"add","arguments":{},"a":1}`, fields: schemaA},
		"call or final":  {answer: `{"tool_calls":[` + sum + `],"a":1}`, calls: []string{`add {"x":1}`}, fields: schemaA},
		"must":           {answer: `{"tool_calls":[` + sum + `]}`, calls: []string{`add {"x":1}`}, fields: m{"tool_choice": "required"}},
		"named":          {answer: `{"tool_calls":[` + sum + `]}`, calls: []string{`add {"x":1}`}, fields: m{"tool_choice": m{"type": "function", "function": m{"name": "add"}}}},
		"allowed": {
			answer: `{"tool_calls":[` + sum + `]}`, calls: []string{`add {"x":1}`},
			fields: m{"tool_choice": m{"type": "allowed_tools", "allowed_tools": m{"mode": "required", "tools": []m{{"type": "function", "function": m{"name": "add"}}}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields := tt.fields
			if fields == nil {
				fields = m{}
			}
			p := protocolFor(t, fields)
			if _, err := p.read(aicodebox.Reply{Text: tt.answer}); err != nil {
				t.Fatal(err)
			}
			var got []string
			ids := make(map[string]bool)
			for _, c := range p.answer.calls {
				got = append(got, c.Name+" "+c.Arguments)
				ids[c.ID] = true
			}
			if diff := cmp.Diff(tt.calls, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if p.answer.text != tt.text {
				t.Errorf("text %q, want %q", p.answer.text, tt.text)
			}
			if len(ids) != len(got) {
				t.Error("ids are not unique")
			}
		})
	}
}

// What cannot be used is told to the model in words that help it.
func TestComplaints(t *testing.T) {
	t.Parallel()
	named := m{"tool_choice": m{"type": "function", "function": m{"name": "get_weather"}}}
	required := m{"tool_choice": "required"}
	for _, tt := range []struct {
		answer string
		fields m
		want   []string
	}{
		{`{"tool_calls":[{"name":"rm_rf","arguments":{}}]}`, m{}, []string{`call 1`, `"rm_rf"`, "get_weather, add"}},
		{`{"tool_calls":[{"name":"get_weather","arguments":{"town":1}}]}`, m{}, []string{"get_weather", "city"}},
		{`{"tool_calls":[{"name":"get_weather","arguments":{"city":5}}]}`, m{}, []string{"/city", "string"}},
		{`{"tool_calls":[{"name":"add","arguments":[1]}]}`, m{}, []string{"add", "object", "a list"}},
		{`{"tool_calls":[{"name":"add","arguments":"[1]"}]}`, m{}, []string{"add", "object"}},
		{`{"tool_calls":[{"name":"add","arguments":"x"}]}`, m{}, []string{"add", "no JSON"}},
		{`{"tool_calls":[{"arguments":{}}]}`, m{}, []string{"no name"}},
		{`{"tool_calls":["add"]}`, m{}, []string{"no name"}},
		{`{"tool_calls":[{"name":"add","arguments":{}},{"name":"x"},{"name":"get_weather"}]}`, m{}, []string{"call 2", "call 3", "city"}},
		{`{"tool_calls":[{"name":"add","arguments":{"x":1}`, m{}, []string{"cannot be read", "ends in the middle"}},
		{"{\"tool_calls\":[{\"name\":\"add\",\"arguments\":{\"x\":\"a\nb\"}}]}", m{}, []string{"cannot be read", "line break"}},
		{`{"tool_calls":[{"name":"add","arguments":{}} {"name":"add"}]}`, m{}, []string{"cannot be read", "comma"}},
		{"no thanks", required, []string{"calls no function", "at least one"}},
		{`{"tool_calls":[]}`, required, []string{"calls no function"}},
		{"no thanks", named, []string{"must call the function get_weather"}},
		{`{"tool_calls":[{"name":"add","arguments":{}}]}`, named, []string{`no function "add"`, "get_weather"}},
		{"oops", schemaA, []string{"final answer", "no JSON"}},
		{`{"a":"x"}`, schemaA, []string{"final answer", "/a", "integer"}},
		{`{"a":1}`, m{"response_format": schemaA["response_format"], "tool_choice": "required"}, []string{"calls no function"}},
	} {
		_, err := protocolFor(t, tt.fields).read(aicodebox.Reply{Text: tt.answer})
		if err == nil {
			t.Errorf("%s: no complaint", tt.answer)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not tell %q", tt.answer, err, want)
			}
		}
	}
}

// An agent that prints its prompt calls nothing by that.
func TestEchoIsNoCall(t *testing.T) {
	t.Parallel()
	p := protocolFor(t)
	text := "> the prompt\n\n" + p.instruction() + "\n\nhello"
	if _, err := p.read(aicodebox.Reply{Text: text}); err != nil || len(p.answer.calls) > 0 || p.answer.text != text {
		t.Errorf("%v, %+v", err, p.answer)
	}
}

// A bad call is asked again, with the reason, and the good one is passed on;
// four bad ones are an error, never an answer in prose.
func TestCallsAreAskedAgain(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	bad, good := `{"tool_calls":[{"name":"nope"}]}`, `{"tool_calls":[{"name":"add","arguments":{}}]}`
	c := s.chat(ask(counted+"SEQ:"+bad+"|"+good, tools)).completion()
	if calls := c.Choices[0].Message.Calls; len(calls) != 1 || calls[0].Function.Name != "add" || c.Choices[0].Finish != "tool_calls" {
		t.Errorf("%+v", c)
	}
	if len(c.Attempts) != 2 || c.Usage.Completion != 14 || c.Attempts[0].ParseError == nil || !strings.Contains(*c.Attempts[0].ParseError, `"nope"`) {
		t.Errorf("%+v", c)
	}
	for name, body := range map[string]m{
		"prose":  ask("SAY:no thanks", tools, m{"tool_choice": "required"}),
		"stream": ask("SAY:no thanks", tools, m{"tool_choice": "required", "stream": true}),
		"bad":    ask("SAY:"+bad, tools),
		"schema": ask("SAY:oops", tools, schemaA),
	} {
		if e := s.chat(body, "x-aicodebox-workspace", "w-"+name).error(422); deref(e.Code) != "invalid_answer" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Two rounds of two parallel calls, with results in the other order.
func TestToolLoop(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	call := `SAY:{"tool_calls":[{"name":"get_weather","arguments":{"city":"Oslo"}},{"name":"add","arguments":{"x":1}}]}`
	messages := []m{{"role": "user", "content": call}}
	seen := make(map[string]bool)
	for round := range 2 {
		message := s.chat(m{"messages": messages, "tools": []m{weather, add}}).completion().Choices[0].Message
		if len(message.Calls) != 2 {
			t.Fatalf("round %d: %+v", round, message)
		}
		for _, c := range message.Calls {
			if seen[c.ID] {
				t.Errorf("the id %s is used twice", c.ID)
			}
			seen[c.ID] = true
		}
		messages = append(messages,
			m{"role": "assistant", "content": nil, "tool_calls": message.Calls},
			m{"role": "tool", "tool_call_id": message.Calls[1].ID, "content": "2"},
			m{"role": "tool", "tool_call_id": message.Calls[0].ID, "content": "sunny"})
	}
	messages[0]["content"] = "weather and sum?"
	messages = append(messages, m{"role": "user", "content": "ECHO"})
	got := echoOf(t, s.chat(m{"messages": messages, "tools": []m{weather, add}}).content())
	for _, want := range []string{`result of "add"`, "\n2\n", `result of "get_weather"`, "\nsunny\n"} {
		if !strings.Contains(got.Stdin, want) {
			t.Errorf("the agent was not told %q:\n%s", want, got.Stdin)
		}
	}
}

// The client's own tools may be written in many ways; what is read goes out in
// one.
func FuzzReadCalls(f *testing.F) {
	for _, seed := range []string{
		`{"tool_calls":[{"name":"add","arguments":{"x":1}}]}`, `[{"name":"add","arguments":{}}]`, "```json\n{\"tool_calls\":[]}\n```",
		`<tool_call>{"name":"add","arguments":"{}"}</tool_call>`, `{"tool_calls":[{"name":"add","arguments":{"x":"\u12G4"}}]}`, `{"a":1}`, "{{[[", `{"function_call":{}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		answer = strings.ToValidUTF8(answer, "\uFFFD")
		for _, fields := range []m{{}, schemaA, {"tool_choice": "required"}} {
			p := protocolFor(t, fields)
			value, err := p.read(aicodebox.Reply{Text: answer})
			if err != nil {
				continue
			}
			if !json.Valid(value) {
				t.Errorf("the record is not JSON: %s", value)
			}
			for _, c := range p.answer.calls {
				var arguments map[string]any
				if p.tools.find(c.Name) == nil || json.Unmarshal([]byte(c.Arguments), &arguments) != nil {
					t.Errorf("%q: call %+v", answer, c)
				}
			}
			if p.tools.must && len(p.answer.calls) == 0 {
				t.Errorf("%q: no call", answer)
			}
			if p.final != nil && len(p.answer.calls) == 0 && !p.answer.structured {
				t.Errorf("%q: no final answer", answer)
			}
		}
	})
}

// The scanner's work is bounded, whatever it is given: were it not, this would
// take longer than any test may.
func TestScanIsBounded(t *testing.T) {
	t.Parallel()
	const n = 1 << 16
	for _, text := range []string{
		strings.Repeat("{", n),
		strings.Repeat("[", n),
		strings.Repeat(`{"a":`, n/5),
		strings.Repeat(`{"`, n/2),
		strings.Repeat("[", n/2) + `"` + strings.Repeat("x", n/2),
		strings.Repeat(strings.Repeat("[", 400)+strings.Repeat("]", 399)+"!", n/800),
	} {
		scan(text)
	}
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.50,-0e+1,true,null,"\n\u00e9"],}`, `[,]`, `{"a":1,"a":2}`, `"x`, `01`, `-`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := reader{text: text}
		r.space()
		err := r.read()
		if r.at > len(text) {
			t.Fatalf("past the end of %q", text)
		}
		if json.Valid([]byte(text)) && r.space() != 0 && !errors.Is(err, errTooDeep) {
			t.Fatalf("%q is not read to its end: %v", text, err)
		}
	})
}
