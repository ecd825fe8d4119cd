package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/psyb0t/aicodebox/internal/jsonanswer"
)

// tool is a function of the client's that the model may ask for.
type tool struct {
	name        string
	description string
	parameters  json.RawMessage // JSON Schema, as the client wrote it
	schema      *jsonanswer.Schema
}

// toolset is what a request says of functions.
type toolset struct {
	tools  []tool
	must   bool // an answer without a call will not do
	single bool // one call at most
	legacy bool // the request used functions and function_call
}

// active tells whether functions are on offer at all.
func (t toolset) active() bool { return len(t.tools) > 0 }

// find returns the tool of that name, or nil.
func (t toolset) find(name string) *tool {
	for i := range t.tools {
		if t.tools[i].name == name {
			return &t.tools[i]
		}
	}
	return nil
}

// names lists the functions for an error text.
func (t toolset) names() string {
	out := make([]string, len(t.tools))
	for i, tool := range t.tools {
		out[i] = tool.name
	}
	return strings.Join(out, ", ")
}

// The bounds of a toolset.
const (
	maxTools    = 1000
	maxToolName = 128
)

// noParameters is the schema of a function that does not tell its parameters.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// readTools reads tools, tool_choice and parallel_tool_calls, or functions and
// function_call, their old form.
func readTools(body members) (toolset, error) {
	var set toolset
	list, read := body.get(value{}, "tools"), readTool
	choice := body.get(value{}, "tool_choice")
	old := body.get(value{}, "functions")
	if (list.absent() || isEmptyList(list)) && !old.absent() {
		list, read, choice = old, readToolFunction, body.get(value{}, "function_call")
		set.legacy, set.single = true, true
	}
	if !list.absent() {
		if err := set.add(list, read); err != nil {
			return toolset{}, err
		}
	}
	parallel := body.get(value{}, "parallel_tool_calls")
	if !parallel.absent() {
		on, err := parallel.flag()
		if err != nil {
			return toolset{}, err
		}
		set.single = set.single || !on
	}
	return set, set.choose(choice)
}

func isEmptyList(v value) bool {
	list, err := v.list()
	return err == nil && len(list) == 0
}

func (t *toolset) add(v value, read func(value) (tool, error)) error {
	list, err := v.list()
	if err != nil {
		return err
	}
	if len(list) > maxTools {
		return badField(v.at, "there are %d tools; at most %d are accepted", len(list), maxTools)
	}
	for _, item := range list {
		one, err := read(item)
		if err != nil {
			return err
		}
		if t.find(one.name) != nil {
			return badField(item.at, "the name %q is given to two tools", one.name)
		}
		t.tools = append(t.tools, one)
	}
	return nil
}

// readTool reads one of tools.
func readTool(v value) (tool, error) {
	fields, err := v.object()
	if err != nil {
		return tool{}, err
	}
	word, err := fields.need(v, "type")
	if err != nil {
		return tool{}, err
	}
	kind, err := word.text()
	if err != nil {
		return tool{}, err
	}
	if kind != "function" {
		return tool{}, badField(word.at, "%q is not a tool this endpoint has; use function", clip(kind, 100))
	}
	function, err := fields.need(v, "function")
	if err != nil {
		return tool{}, err
	}
	return readToolFunction(function)
}

// readToolFunction reads name, description and parameters.
func readToolFunction(v value) (tool, error) {
	fields, err := v.object()
	if err != nil {
		return tool{}, err
	}
	field, err := fields.need(v, "name")
	if err != nil {
		return tool{}, err
	}
	t := tool{parameters: noParameters}
	if t.name, err = field.text(); err != nil {
		return tool{}, err
	}
	if err := checkToolName(field.at, t.name); err != nil {
		return tool{}, err
	}
	if t.description, err = fields.get(v, "description").optionalText(); err != nil {
		return tool{}, err
	}
	parameters := fields.get(v, "parameters")
	if !parameters.absent() {
		if !parameters.is('{') {
			return tool{}, parameters.wrong("a JSON Schema, which is an object")
		}
		t.parameters = parameters.raw
	}
	if t.schema, err = jsonanswer.Compile(t.parameters); err != nil {
		return tool{}, badField(parameters.at, "%s", err.Error())
	}
	return t, nil
}

// checkToolName refuses names that cannot be told apart from other words.
func checkToolName(at, name string) error {
	if name == "" || len(name) > maxToolName || strings.Trim(name, letters+"_-.:/") != "" {
		return badField(at, "%q is not a function's name: use letters, digits, underscores and dashes, at most %d", clip(name, 50), maxToolName)
	}
	return nil
}

// choose applies tool_choice or function_call.
func (t *toolset) choose(v value) error {
	switch {
	case v.absent():
		return nil
	case v.is('"'):
		return t.chooseWord(v)
	case !v.is('{'):
		return v.wrong("none, auto, required, or an object that names a function")
	}
	fields, err := v.object()
	if err != nil {
		return err
	}
	kind, err := fields.get(v, "type").optionalText()
	if err != nil {
		return err
	}
	switch {
	case kind == "allowed_tools":
		return t.chooseAllowed(v, fields)
	case kind == "function", kind == "" && t.legacy:
		name, err := chosenName(v, fields)
		if err != nil {
			return err
		}
		t.must = true
		return t.keep(v.at, []string{name})
	}
	return badField(v.at+".type", "%q is not a choice; use function or allowed_tools", clip(kind, 100))
}

func (t *toolset) chooseWord(v value) error {
	word, err := v.text()
	if err != nil {
		return err
	}
	switch {
	case word == "none":
		t.tools = nil
	case word == "auto":
	case word == "required" && !t.legacy:
		t.must = t.active()
	default:
		return badField(v.at, "%q is not a choice; use none, auto, required, or an object that names a function", clip(word, 100))
	}
	return nil
}

// chosenName reads {"type":"function","function":{"name":…}}, and the flat
// form {"name":…}.
func chosenName(v value, fields members) (string, error) {
	if function := fields.get(v, "function"); !function.absent() {
		inside, err := function.object()
		if err != nil {
			return "", err
		}
		v, fields = function, inside
	}
	name, err := fields.need(v, "name")
	if err != nil {
		return "", err
	}
	return name.text()
}

// chooseAllowed reads the choice that keeps some tools, of which one must be
// called or need not.
func (t *toolset) chooseAllowed(v value, fields members) error {
	field, inside, err := inner(v, fields, "allowed_tools")
	if err != nil {
		return err
	}
	mode, err := inside.get(field, "mode").optionalText()
	if err != nil {
		return err
	}
	if mode != "auto" && mode != "required" {
		return badField(field.at+".mode", "%q is not a mode; use auto or required", clip(mode, 100))
	}
	list, err := inside.get(field, "tools").list()
	if err != nil {
		return err
	}
	var names []string
	for _, item := range list {
		one, err := item.object()
		if err != nil {
			return err
		}
		name, err := chosenName(item, one)
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := t.keep(field.at+".tools", names); err != nil {
		return err
	}
	t.must = mode == "required" && t.active()
	return nil
}

// keep takes away the tools that are not named.
func (t *toolset) keep(at string, names []string) error {
	for _, name := range names {
		if t.find(name) == nil {
			return badField(at, "the function %q is not among the tools of this request", clip(name, 100))
		}
	}
	t.tools = slices.DeleteFunc(t.tools, func(one tool) bool { return !slices.Contains(names, one.name) })
	return nil
}

// describe lists the functions for the model, one JSON object a line.
func (t toolset) describe() string {
	var b strings.Builder
	for _, one := range t.tools {
		fmt.Fprintf(&b, `{"name":%s`, encode(one.name))
		if one.description != "" {
			fmt.Fprintf(&b, `,"description":%s`, encode(one.description))
		}
		fmt.Fprintf(&b, `,"parameters":%s}`+"\n", compacted(one.parameters))
	}
	return b.String()
}
