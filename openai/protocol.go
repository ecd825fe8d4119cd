package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/jsonanswer"
)

// protocol is how functions are offered to an agent that knows nothing of
// them: by an instruction, to which its answer is held. The runner asks again,
// with the complaint, when an answer does not keep to it.
type protocol struct {
	tools  toolset
	final  *jsonanswer.Schema // of an answer without calls, or nil
	schema json.RawMessage    // its text
	prompt string             // what is asked
	taken  map[string]bool    // ids of calls in the conversation

	answer reading // of the last answer that could be used
}

// reading is a model's answer, taken apart.
type reading struct {
	text       string
	structured bool // text is JSON that satisfies the final schema
	calls      []call
}

func newProtocol(tools toolset, f format, prompt string, messages []message) (*protocol, error) {
	p := &protocol{tools: tools, schema: f.schema, prompt: prompt, taken: callIDs(messages)}
	if f.schema == nil {
		return p, nil
	}
	var err error
	p.final, err = jsonanswer.Compile(f.schema)
	return p, err
}

// instruction tells the model what the functions are, how to call them, and
// what an answer without calls must be.
func (p *protocol) instruction() string {
	var b strings.Builder
	b.WriteString("How to answer: the program that you are talking to has functions of its own. You cannot run them yourself; " +
		"it runs those that you call and sends you their results in a later message. " +
		"These are the functions, one JSON object a line, with the JSON Schema of their arguments:\n\n")
	b.WriteString(p.tools.describe())
	b.WriteString("\nTo call functions, answer with one JSON object and nothing else:\n\n" + form + "\n\n")
	b.WriteString("Use only the names above, and arguments that satisfy the function's schema. " + p.howMany() + " " +
		"Do not make up results. Do not call a function again whose result you have been sent already.\n")
	b.WriteString(p.otherwise())
	return b.String()
}

// form is what a call looks like.
const form = `{"tool_calls":[{"name":"<function>","arguments":{"<argument>":"<value>"}}]}`

func (p *protocol) howMany() string {
	if p.tools.single {
		return "Call one function at a time: the list has exactly one element."
	}
	return "The list may have several elements; calls that do not need each other's results belong in one answer."
}

// otherwise tells when no call is needed and what the answer is then.
func (p *protocol) otherwise() string {
	switch {
	case p.tools.must && len(p.tools.tools) == 1:
		return "Your answer must call the function " + p.tools.tools[0].name + ". Do not answer in any other way."
	case p.tools.must:
		return "Your answer must call at least one function. Do not answer in any other way."
	case p.final != nil:
		return "When no function needs to be called, your answer must be one JSON value and nothing else, " +
			"without a Markdown fence, that satisfies this JSON Schema:\n\n" + string(compacted(p.schema))
	}
	return "When no function needs to be called, answer in plain text, without any such object."
}

// read takes a reply apart and checks it. Its errors are complaints for the
// model.
func (p *protocol) read(reply aicodebox.Reply) (_ json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the answer could not be read: %v", r)
		}
	}()
	in := findCalls(reply.Text, p.hide(reply.Text), func(name string) bool { return p.tools.find(name) != nil })
	if len(in.calls) > 0 && !in.envelope && p.isFinal(reply) == nil {
		return p.record(), nil
	}
	switch {
	case in.broken != nil:
		return nil, fmt.Errorf("it seems to call functions, but its JSON cannot be read: %w", in.broken)
	case len(in.calls) > 0:
		return p.take(in)
	case p.tools.must:
		return nil, errors.New("it calls no function, and it must; " + p.otherwise())
	case p.final != nil:
		if err := p.isFinal(reply); err != nil {
			return nil, fmt.Errorf("it calls no function, so it must be the final answer, but: %w", err)
		}
		return p.record(), nil
	}
	p.answer = reading{text: reply.Text}
	if in.envelope {
		p.answer.text = in.beside
	}
	return p.record(), nil
}

// hide blanks out what of the text is only what the model was sent.
func (p *protocol) hide(text string) string {
	told := p.instruction()
	for _, sent := range []string{p.prompt + "\n\n" + told, told} {
		if strings.Contains(text, sent) {
			text = strings.ReplaceAll(text, sent, strings.Repeat(" ", len(sent)))
		}
	}
	return text
}

// isFinal takes the reply as a final answer if it satisfies the schema.
func (p *protocol) isFinal(reply aicodebox.Reply) error {
	if p.final == nil || p.tools.must {
		return errors.New("there is no final schema")
	}
	text := reply.Text
	if len(reply.JSON) > 0 {
		text = string(reply.JSON)
	}
	found, err := jsonanswer.Read(text, p.final, p.prompt, p.instruction())
	if err == nil {
		p.answer = reading{text: string(found.JSON), structured: true}
	}
	return err
}

// take checks calls. Of several where only one may be, the first stays: the
// model can make the others when it has its result.
func (p *protocol) take(in callsIn) (json.RawMessage, error) {
	if p.tools.single {
		in.calls = in.calls[:1]
	}
	var (
		calls []call
		errs  []error
	)
	for i, raw := range in.calls {
		c, err := p.check(raw)
		if err != nil {
			errs = append(errs, fmt.Errorf("call %d: %w", i+1, err))
			continue
		}
		calls = append(calls, c)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p.answer = reading{text: in.beside, calls: calls}
	return p.record(), nil
}

// check holds a call against the function's parameters.
func (p *protocol) check(raw rawCall) (call, error) {
	t := p.tools.find(raw.Name)
	switch {
	case raw.Name == "":
		return call{}, errors.New(`it has no name; a call is an object with "name" and "arguments"`)
	case t == nil:
		return call{}, fmt.Errorf("there is no function %s; the functions are: %s", quoted(raw.Name), p.tools.names())
	}
	text, err := raw.argumentsText()
	if err != nil {
		return call{}, fmt.Errorf("function %s: %w", t.name, err)
	}
	found, err := jsonanswer.Read(text, t.schema)
	if err != nil {
		return call{}, fmt.Errorf("the arguments of %s do not satisfy its parameters: %w", t.name, err)
	}
	if found.JSON[0] != '{' {
		return call{}, fmt.Errorf("the arguments of %s must be an object, but they are %s", t.name, kindOf(found.JSON))
	}
	return call{ID: p.newID(), Name: t.name, Arguments: string(found.JSON)}, nil
}

// newID makes an id that no call of the conversation has.
func (p *protocol) newID() string {
	for {
		id := "call_" + rand.Text()[:24]
		if !p.taken[id] {
			p.taken[id] = true
			return id
		}
	}
}

// record is what the run's record keeps of the answer.
func (p *protocol) record() json.RawMessage {
	made := wireCalls{Calls: []wireCall{}}
	for _, c := range p.answer.calls {
		made.Calls = append(made.Calls, wireCall{ID: c.ID, Name: c.Name, Arguments: rawArguments(c.Arguments)})
	}
	return encode(made)
}

// compacted is JSON without white space between its tokens.
func compacted(data json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	return b.Bytes()
}
