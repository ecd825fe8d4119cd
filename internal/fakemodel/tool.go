package fakemodel

import (
	"encoding/json"
	"slices"
	"strings"
)

// shells are the names under which agents offer a shell, best first.
var shells = []string{
	"bash", "Bash", "exec_command", "shell_command", "shell", "run_shell_command", "local_shell", "terminal", "execute",
}

// schema is the part of a tool's parameters that decides how it is called.
type schema struct {
	Properties map[string]struct {
		Type json.RawMessage   `json:"type"`
		Enum []json.RawMessage `json:"enum"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// shellPart calls the shell tool that req offers with a command.
func shellPart(req Request, line string) Part {
	line = unescape(line)
	for _, name := range shells {
		i := slices.IndexFunc(req.Tools, func(t Tool) bool { return t.Name == name })
		if i >= 0 {
			return Part{Call: req.Tools[i].run(line)}
		}
	}
	for _, t := range req.Tools {
		if t.schema().commandName() != "" {
			return Part{Call: t.run(line)}
		}
	}
	return Part{Text: "no shell tool is offered"}
}

func (t Tool) schema() schema {
	var s schema
	_ = json.Unmarshal(t.Parameters, &s) // a tool without a readable schema has no properties
	return s
}

// commandName is the property that takes a command line, or "".
func (s schema) commandName() string {
	for _, name := range []string{"command", "cmd", "script"} {
		if _, ok := s.Properties[name]; ok {
			return name
		}
	}
	return ""
}

// run returns a call of t that runs line and fills what else t requires.
func (t Tool) run(line string) *Call {
	s := t.schema()
	name := s.commandName()
	if name == "" {
		name = "command"
	}
	args := map[string]any{name: line}
	if strings.Contains(string(s.Properties[name].Type), "array") {
		args[name] = []string{"bash", "-lc", line}
	}
	for _, required := range s.Required {
		if required != name {
			args[required] = s.filler(required)
		}
	}
	return &Call{Name: t.Name, Arguments: encode(args)}
}

// filler is a value that fits a property nobody cares about.
func (s schema) filler(name string) any {
	p := s.Properties[name]
	if len(p.Enum) > 0 {
		return p.Enum[0]
	}
	switch kind := string(p.Type); {
	case strings.Contains(kind, "boolean"):
		return false
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return 1
	case strings.Contains(kind, "array"):
		return []any{}
	case strings.Contains(kind, "object"):
		return map[string]any{}
	}
	return "x"
}

// readCall reads "name:{json}" or "name {json}".
func readCall(rest string) *Call {
	rest = strings.TrimSpace(rest)
	name, args := rest, "{}"
	if i := strings.IndexAny(rest, "{"); i >= 0 {
		name, args = rest[:i], rest[i:]
	}
	return &Call{Name: strings.TrimRight(name, ": "), Arguments: arguments(args)}
}

// structured is the tool through which an agent wants an answer that has a
// schema.
const structured = "StructuredOutput"

func jsonPart(req Request, value string) Part {
	if slices.ContainsFunc(req.Tools, func(t Tool) bool { return t.Name == structured }) {
		return Part{Call: &Call{Name: structured, Arguments: arguments(value)}}
	}
	return Part{Text: value}
}

// encode encodes a value that is known to encode, without HTML escapes.
func encode(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
