package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// value is a piece of a request's body and where it stands, so that what is
// wrong with it can be told by name: messages[0].content[1].type. Its methods
// are strict: a word is no number, and "5" is not 5.
type value struct {
	at  string
	raw json.RawMessage
}

// readBody reads the top level of a body. A byte-order mark is let pass.
func readBody(body []byte) (members, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, badBody("the body is empty; send a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return nil, badBody("the body is not valid JSON: " + jsonReason(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, badBody("the body holds more than one JSON value")
	}
	if raw[0] != '{' {
		return nil, badBody("the body is " + kindOf(raw) + "; send a JSON object")
	}
	return value{raw: raw}.object()
}

func badBody(text string) *failure {
	return &failure{status: 400, kind: kindRequest, code: "invalid_json", message: text}
}

// jsonReason puts what is wrong with a JSON text into words.
func jsonReason(err error) string {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends in the middle of a value"
	case errors.As(err, &syntax):
		return fmt.Sprintf("%s (at byte %d)", syntax.Error(), syntax.Offset)
	}
	return err.Error()
}

// kindOf names the kind of a JSON value.
func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// absent tells whether the value is missing or null.
func (v value) absent() bool { return len(v.raw) == 0 || v.raw[0] == 'n' }

func (v value) is(first byte) bool { return len(v.raw) > 0 && v.raw[0] == first }

func (v value) wrong(want string) *failure {
	return badField(v.at, "expected %s, but it is %s", want, kindOf(v.raw))
}

// text returns a string.
func (v value) text() (string, error) {
	if !v.is('"') {
		return "", v.wrong("a string")
	}
	var s string
	if err := json.Unmarshal(v.raw, &s); err != nil {
		return "", badField(v.at, "%s", jsonReason(err))
	}
	return s, nil
}

// optionalText returns a string, or "" for a value that is absent.
func (v value) optionalText() (string, error) {
	if v.absent() {
		return "", nil
	}
	return v.text()
}

// flag returns a boolean, false for a value that is absent.
func (v value) flag() (bool, error) {
	switch {
	case v.absent():
		return false, nil
	case v.is('t'):
		return true, nil
	case v.is('f'):
		return false, nil
	}
	return false, v.wrong("true or false")
}

// integer returns a whole number, def for a value that is absent.
func (v value) integer(def int64) (int64, error) {
	if v.absent() {
		return def, nil
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0, v.wrong("a whole number")
	}
	return n, nil
}

// list returns the elements of an array.
func (v value) list() ([]value, error) {
	if !v.is('[') {
		return nil, v.wrong("a list")
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(v.raw, &raw); err != nil {
		return nil, badField(v.at, "%s", jsonReason(err))
	}
	out := make([]value, len(raw))
	for i, r := range raw {
		out[i] = value{v.at + "[" + strconv.Itoa(i) + "]", r}
	}
	return out, nil
}

// members are the fields of an object.
type members map[string]value

// object returns the fields of an object.
func (v value) object() (members, error) {
	if !v.is('{') {
		return nil, v.wrong("an object")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(v.raw, &raw); err != nil {
		return nil, badField(v.at, "%s", jsonReason(err))
	}
	out := make(members, len(raw))
	for name, r := range raw {
		out[name] = value{v.member(name), r}
	}
	return out, nil
}

func (v value) member(name string) string {
	if v.at == "" {
		return name
	}
	return v.at + "." + name
}

// get returns a field, absent if there is none, but with its place.
func (m members) get(of value, name string) value {
	if v, ok := m[name]; ok {
		return v
	}
	return value{at: of.member(name)}
}

// need returns a field that must be there.
func (m members) need(of value, name string) (value, error) {
	v := m.get(of, name)
	if v.absent() {
		return v, &failure{
			status: 400, kind: kindRequest, param: v.at, code: "missing_required_parameter",
			message: v.at + ": this field is required",
		}
	}
	return v, nil
}
