package openai

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// callsIn is what a model's text holds of calls, before they are checked.
type callsIn struct {
	calls    []rawCall
	beside   string // the text around the calls
	envelope bool   // an object with tool_calls was there, possibly with no calls
	broken   error  // what looks like such an object and cannot be read
}

// rawCall is a call as a model wrote it.
type rawCall struct {
	Name      string
	Arguments json.RawMessage // missing, an object, or a string that holds one
}

// findCalls reads the calls out of a model's text. The form that models are
// asked for is an object with tool_calls; understood are also the form of
// OpenAI's own messages, the single function_call, and an object or a list of
// objects with name and arguments, if the name is one that was offered. Prose
// and fences around them are no matter. hidden is text with the parts that the
// model only repeats blanked out, of the same length.
func findCalls(text, hidden string, offered func(string) bool) callsIn {
	spans, flaws := scan(hidden)
	var in callsIn
	var cuts []span
	for _, s := range spans {
		calls, content, envelope := classify(s.json, offered)
		if calls == nil && !envelope {
			continue
		}
		in.envelope = in.envelope || envelope
		in.add(calls)
		cuts = append(cuts, s)
		if content != "" {
			in.beside += content + "\n"
		}
	}
	for _, f := range flaws {
		if brokenEnvelope.MatchString(hidden[f.start:]) && startsLine(hidden, f.start) {
			in.broken = f.reason(hidden)
		}
	}
	in.beside = strings.TrimSpace(in.beside + without(text, cuts))
	return in
}

// brokenEnvelope matches the beginning of an object with calls.
var brokenEnvelope = regexp.MustCompile(`^\{\s*"(tool_calls?|function_call)"\s*:`)

func startsLine(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return strings.TrimSpace(line) == ""
}

// add takes calls, but not those that are there already: models like to show
// what they are about to do, and then do it.
func (in *callsIn) add(calls []rawCall) {
	for _, c := range calls {
		known := false
		for _, have := range in.calls {
			known = known || have.Name == c.Name && string(have.Arguments) == string(c.Arguments)
		}
		if !known {
			in.calls = append(in.calls, c)
		}
	}
}

// classify tells what a JSON value in a model's text has of calls.
func classify(data []byte, offered func(string) bool) (calls []rawCall, content string, envelope bool) {
	if data[0] == '[' {
		return loneList(data, offered), "", false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return nil, "", false
	}
	for _, name := range []string{"content", "text"} {
		if content == "" {
			_ = json.Unmarshal(fields[name], &content) // null and others leave it empty
		}
	}
	if list, ok := fields["tool_calls"]; ok {
		var items []json.RawMessage
		if list[0] != '[' || json.Unmarshal(list, &items) != nil {
			return nil, "", false
		}
		return readItems(items), content, true
	}
	for _, name := range []string{"tool_call", "function_call"} {
		if one, ok := fields[name]; ok && one[0] == '{' {
			return readItems([]json.RawMessage{one}), content, true
		}
	}
	if c, ok := lone(data, offered); ok {
		return []rawCall{c}, "", false
	}
	return nil, "", false
}

func readItems(items []json.RawMessage) []rawCall {
	calls := make([]rawCall, len(items))
	for i, item := range items {
		calls[i], _ = readItem(item)
	}
	return calls
}

// loneList reads a list of which every element is a call.
func loneList(data []byte, offered func(string) bool) []rawCall {
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		return nil
	}
	var calls []rawCall
	for _, item := range items {
		c, ok := lone(item, offered)
		if !ok {
			return nil
		}
		calls = append(calls, c)
	}
	return calls
}

// lone reads a call that stands by itself: it has arguments, and a name that
// was offered.
func lone(data []byte, offered func(string) bool) (rawCall, bool) {
	c, certain := readItem(data)
	return c, certain && offered(c.Name)
}

// readItem reads one call. certain tells that it has a name and arguments, and
// nothing that calls do not have.
func readItem(data []byte) (c rawCall, certain bool) {
	var fields map[string]json.RawMessage
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &fields) != nil {
		return rawCall{}, false
	}
	if inside, ok := fields["function"]; ok && inside[0] == '{' {
		return readItem(inside)
	}
	certain = true
	for name, field := range fields {
		switch name {
		case "name", "tool", "tool_name", "function", "function_name":
			if c.Name == "" || name == "name" {
				_ = json.Unmarshal(field, &c.Name) // no string leaves it empty
			}
		case "arguments", "parameters", "args", "input":
			c.Arguments = field
		case "id", "type", "call_id", "index":
		default:
			certain = false
		}
	}
	return c, certain && c.Name != "" && c.Arguments != nil
}

// without returns text with the spans cut out, and with them the fences and
// tags that were around nothing else.
func without(text string, cuts []span) string {
	var b strings.Builder
	from := 0
	for _, c := range cuts {
		before := text[from:c.start]
		if tag := openTag.FindStringIndex(before); tag != nil {
			before = before[:tag[0]]
		}
		after := closeTag.FindString(text[c.end:])
		if fence := openFence.FindStringIndex(before); fence != nil && len(fences.FindAllString(before, -1))%2 == 1 {
			before = before[:fence[0]]
			after += closeFence.FindString(text[c.end+len(after):])
		}
		b.WriteString(strings.TrimRight(before, " \t\r\n") + "\n")
		from = c.end + len(after)
	}
	return b.String() + strings.TrimSpace(text[from:])
}

// What models put around calls.
var (
	fences     = regexp.MustCompile("(?m)^[ \\t]*(?:`{3,}|~{3,})")
	openFence  = regexp.MustCompile("(?m)^[ \\t]*(?:`{3,}|~{3,})[a-zA-Z_]*[ \\t]*\\r?\\n?[ \\t]*\\z")
	closeFence = regexp.MustCompile("^\\s*(?:`{3,}|~{3,})")
	openTag    = regexp.MustCompile(`<(?:tool_calls?|function_calls?|tools?)>\s*\z`)
	closeTag   = regexp.MustCompile(`^\s*</(?:tool_calls?|function_calls?|tools?)>`)
)

// argumentsText returns the JSON text of a call's arguments, which models also
// write into a string. None are an empty object.
func (c rawCall) argumentsText() (string, error) {
	if len(c.Arguments) == 0 || string(c.Arguments) == "null" {
		return "{}", nil
	}
	switch c.Arguments[0] {
	case '{':
		return string(c.Arguments), nil
	case '"':
		var text string
		if err := json.Unmarshal(c.Arguments, &text); err != nil {
			return "", err
		}
		if strings.TrimSpace(text) == "" {
			return "{}", nil
		}
		return text, nil
	}
	return "", fmt.Errorf("the arguments must be an object, but they are %s", kindOf(c.Arguments))
}
