package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// arguments are what a client passes to a tool, read one at a time. The names
// that were asked for are the names that are known; check names the others.
// Numbers and schemas keep the digits they came with.
//
// The first mistake is kept, so that a tool reads all its arguments and then
// checks once. Null counts as left out: models write it for what they do not
// need.
type arguments struct {
	given map[string]json.RawMessage
	known []string
	err   error
}

// readArguments reads the object of a call.
func readArguments(data json.RawMessage) (*arguments, error) {
	a := &arguments{given: map[string]json.RawMessage{}}
	if len(bytes.TrimSpace(data)) == 0 || string(data) == "null" {
		return a, nil
	}
	if err := json.Unmarshal(data, &a.given); err != nil {
		return nil, errors.New("the arguments must be a JSON object")
	}
	return a, nil
}

// take returns the value of name, if there is one.
func (a *arguments) take(name string) (json.RawMessage, bool) {
	a.known = append(a.known, name)
	value, ok := a.given[name]
	return value, ok && string(value) != "null"
}

func (a *arguments) wrong(name, want string, value json.RawMessage) {
	a.fail(fmt.Errorf("the argument %s must be %s, not %s", name, want, kind(value)))
}

func (a *arguments) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// text reads a text, "" if it is left out.
func (a *arguments) text(name string) string {
	value, ok := a.take(name)
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		a.wrong(name, "a string", value)
	}
	return s
}

// required reads a text that must be there; it may be empty.
func (a *arguments) required(name string) string {
	if value, ok := a.given[name]; !ok || string(value) == "null" {
		a.fail(fmt.Errorf("the argument %s is missing", name))
	}
	return a.text(name)
}

// flag reads true or false.
func (a *arguments) flag(name string, def bool) bool {
	value, ok := a.take(name)
	if !ok {
		return def
	}
	b := def
	if json.Unmarshal(value, &b) != nil {
		a.wrong(name, "true or false", value)
	}
	return b
}

// number reads a whole number from low to high, both included.
func (a *arguments) number(name string, def, low, high int64) int64 {
	value, ok := a.take(name)
	if !ok {
		return def
	}
	want := fmt.Sprintf("a whole number from %d to %d", low, high)
	if kind(value) != "a number" || len(value) > 40 || bytes.ContainsAny(value, "eE") {
		a.wrong(name, want, value)
		return def
	}
	n, ok := new(big.Rat).SetString(string(value))
	if !ok || !n.IsInt() || !n.Num().IsInt64() || n.Num().Int64() < low || n.Num().Int64() > high {
		a.fail(fmt.Errorf("the argument %s must be %s, not %s", name, want, value))
		return def
	}
	return n.Num().Int64()
}

// object reads a JSON object, nil if it is left out.
func (a *arguments) object(name string) json.RawMessage {
	value, ok := a.take(name)
	if !ok {
		return nil
	}
	if kind(value) != "an object" {
		a.wrong(name, "an object", value)
	}
	return value
}

// check returns the first mistake, a name that nobody knows among them.
func (a *arguments) check() error {
	if a.err != nil {
		return a.err
	}
	for _, name := range slices.Sorted(maps.Keys(a.given)) {
		if !slices.Contains(a.known, name) {
			return fmt.Errorf("the tool has no argument %.100q; it has: %s", name, strings.Join(a.known, ", "))
		}
	}
	return nil
}

// kind tells what a JSON value is.
func kind(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
