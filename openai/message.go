package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// message is one turn of a conversation, whatever wire form it came in.
type message struct {
	role   role
	at     string // where it stood in the body
	name   string // of a user, or the function a result is of; may be empty
	parts  []part
	calls  []call // of the assistant
	callID string // of a result
}

// role is whose a message is. The roles of the wire map to these: developer is
// system, function is tool.
type role string

const (
	roleSystem    role = "system"
	roleUser      role = "user"
	roleAssistant role = "assistant"
	roleTool      role = "tool"
)

// call is the wish of a model that a function be called.
type call struct {
	ID        string
	Name      string
	Arguments string // JSON, or what a client made of it
}

// maxMessages bounds the length of a conversation.
const maxMessages = 20_000

// readMessages reads the messages of a chat and checks that there is something
// to answer.
func readMessages(v value) ([]message, error) {
	list, err := v.list()
	if err != nil {
		return nil, err
	}
	switch {
	case len(list) == 0:
		return nil, badField(v.at, "there is no message; send at least one of the role user")
	case len(list) > maxMessages:
		return nil, badField(v.at, "there are %d messages; at most %d are accepted", len(list), maxMessages)
	}
	out := make([]message, 0, len(list))
	for _, item := range list {
		m, err := readMessage(item)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	nameResults(out)
	return out, needQuestion(v.at, out)
}

// needQuestion refuses a conversation in which nobody asks for anything.
func needQuestion(at string, messages []message) error {
	for _, m := range messages {
		if m.role == roleTool || m.role == roleUser && !m.empty() {
			return nil
		}
	}
	return badField(at, "there is no message of the role user with any content")
}

// empty tells whether m says nothing.
func (m message) empty() bool {
	for _, p := range m.parts {
		if p.kind != partText || strings.TrimSpace(p.text) != "" {
			return false
		}
	}
	return len(m.calls) == 0
}

// text returns what m says, with what stands for its attachments.
func (m message) text() string {
	texts := make([]string, len(m.parts))
	for i, p := range m.parts {
		texts[i] = p.text
	}
	return strings.Join(texts, "\n")
}

func readMessage(v value) (message, error) {
	fields, err := v.object()
	if err != nil {
		return message{}, err
	}
	word, err := fields.need(v, "role")
	if err != nil {
		return message{}, err
	}
	name, err := word.text()
	if err != nil {
		return message{}, err
	}
	read, ok := roles[name]
	if !ok {
		return message{}, badField(word.at, "%q is not a role; use system, developer, user, assistant, tool or function", clip(name, 100))
	}
	m := message{role: read, at: v.at}
	if m.name, err = fields.get(v, "name").optionalText(); err != nil {
		return message{}, err
	}
	if m.parts, err = readContent(fields.get(v, "content"), read); err != nil {
		return message{}, err
	}
	return m, m.readRest(v, fields, name)
}

// roles are the words of the wire.
var roles = map[string]role{
	"system": roleSystem, "developer": roleSystem, "user": roleUser,
	"assistant": roleAssistant, "tool": roleTool, "function": roleTool,
}

// readRest reads what only some roles have.
func (m *message) readRest(v value, fields members, word string) error {
	var err error
	switch word {
	case "tool":
		var id value
		if id, err = fields.need(v, "tool_call_id"); err == nil {
			m.callID, err = id.text()
		}
	case "function":
		if m.name == "" {
			_, err = fields.need(v, "name")
		}
	case "assistant":
		if m.calls, err = readCalls(fields.get(v, "tool_calls")); err != nil {
			return err
		}
		err = m.readOld(v, fields)
	}
	return err
}

// readOld reads what a message of the assistant may have besides: the single
// call of the old form, and a refusal.
func (m *message) readOld(v value, fields members) error {
	if old := fields.get(v, "function_call"); !old.absent() {
		c, err := readFunction(old)
		if err != nil {
			return err
		}
		m.calls = append(m.calls, c)
	}
	refusal, err := fields.get(v, "refusal").optionalText()
	if err == nil && refusal != "" {
		m.parts = append(m.parts, part{kind: partText, text: refusal})
	}
	return err
}

// readCalls reads the calls in a message of the assistant.
func readCalls(v value) ([]call, error) {
	if v.absent() {
		return nil, nil
	}
	list, err := v.list()
	if err != nil {
		return nil, err
	}
	var out []call
	for _, item := range list {
		fields, err := item.object()
		if err != nil {
			return nil, err
		}
		function, err := fields.need(item, "function")
		if err != nil {
			return nil, err
		}
		c, err := readFunction(function)
		if err != nil {
			return nil, err
		}
		if c.ID, err = fields.get(item, "id").optionalText(); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// readFunction reads name and arguments. Arguments are a string by the book;
// an object is what some clients send.
func readFunction(v value) (call, error) {
	fields, err := v.object()
	if err != nil {
		return call{}, err
	}
	name, err := fields.need(v, "name")
	if err != nil {
		return call{}, err
	}
	var c call
	if c.Name, err = name.text(); err != nil {
		return call{}, err
	}
	arguments := fields.get(v, "arguments")
	if arguments.is('{') {
		var compact bytes.Buffer
		if err := json.Compact(&compact, arguments.raw); err != nil {
			return call{}, badField(arguments.at, "%s", jsonReason(err))
		}
		c.Arguments = compact.String()
		return c, nil
	}
	c.Arguments, err = arguments.optionalText()
	return c, err
}

// nameResults gives results the name of the function that was called, which
// only the call tells.
func nameResults(messages []message) {
	names := make(map[string]string)
	for _, m := range messages {
		for _, c := range m.calls {
			names[c.ID] = c.Name
		}
	}
	for i := range messages {
		if m := &messages[i]; m.role == roleTool && m.name == "" {
			m.name = names[m.callID]
		}
	}
}

// callIDs returns the ids of all calls in messages.
func callIDs(messages []message) map[string]bool {
	ids := make(map[string]bool)
	for _, m := range messages {
		for _, c := range m.calls {
			ids[c.ID] = true
		}
	}
	return ids
}

// systemText joins what all system messages say, in order.
func systemText(messages []message) string {
	var texts []string
	for _, m := range messages {
		if m.role == roleSystem && !m.empty() {
			texts = append(texts, m.text())
		}
	}
	return strings.Join(texts, "\n\n")
}

// turns returns the messages that are not system's and say something.
func turns(messages []message) []message {
	out := make([]message, 0, len(messages))
	for _, m := range messages {
		if m.role != roleSystem && (m.role == roleTool || !m.empty()) {
			out = append(out, m)
		}
	}
	return out
}

// sinceAnswer returns what was said after the assistant's last message: all
// that is new to a session that goes on.
func sinceAnswer(messages []message) ([]message, error) {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].role != roleAssistant {
			continue
		}
		if i == len(messages)-1 {
			return nil, badField("messages", "the last message is the assistant's; a session that goes on (%scontinue, %sresume) needs something new after it", headerPrefix, headerPrefix)
		}
		return messages[i+1:], nil
	}
	return messages, nil
}

// label is how a transcript calls the author of m.
func (m message) label() string {
	switch {
	case m.role == roleTool && m.name == "":
		return "result of the call " + quoted(m.callID)
	case m.role == roleTool && m.callID != "":
		return fmt.Sprintf("result of %s (call %s)", quoted(m.name), quoted(m.callID))
	case m.role == roleTool:
		return "result of " + quoted(m.name)
	case m.role == roleUser && m.name != "":
		return "user " + quoted(m.name)
	}
	return string(m.role)
}

// quoted is a client's word on one line.
func quoted(s string) string { return string(encode(clip(s, 300))) }
