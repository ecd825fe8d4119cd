package jsonanswer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// facts are what a schema says about the value itself, apart from what is in
// it: its type, and which values it can be. They are checked here rather than
// by the library, which computes with every number it meets, and compares with
// every value of an enum.
type facts struct {
	types     []string
	wrongType error
	sets      []*valueSet // of enum and const: the value has to be in each
	marks     []mark
}

// mark is a property that can have only certain values, by which one of
// several alternatives is told from the others. It is looked at first: where
// alternatives hold each other, that saves looking into those that do not fit,
// which would take exponential time.
type mark struct {
	name  string
	facts *facts
	wrong []error // for each of the sets of facts
}

// factError tells what a value would have to be. The library carries it.
type factError struct {
	want   string
	isType bool
}

func (e *factError) Error() string { return "expected " + e.want }

// typeNames are the types that JSON Schema knows.
var typeNames = []string{"null", "boolean", "number", "integer", "string", "array", "object"}

// takeFacts removes from n what can be checked as facts. What is no valid
// keyword stays, so that the meta-schema refuses it.
func (n *node) takeFacts() {
	f := &n.facts
	if types, ok := parseTypes(n.members["type"]); ok {
		f.types, f.wrongType = types, &factError{strings.Join(types, " or "), true}
		delete(n.members, "type")
	}
	if values, ok := n.members["enum"].([]any); ok {
		f.sets = append(f.sets, newValueSet(values))
		delete(n.members, "enum")
	}
	if value, ok := n.members["const"]; ok {
		f.sets = append(f.sets, newValueSet([]any{value}))
		delete(n.members, "const")
	}
}

// markAlternatives finds the schemas that are alternatives, if only by way of
// a reference.
func (d *document) markAlternatives() {
	var walk func(n *node)
	walk = func(n *node) {
		if n.among {
			return
		}
		n.among = true
		for _, e := range n.edges {
			if e.word == "$ref" || e.word == "allOf" {
				walk(e.to)
			}
		}
	}
	for _, n := range d.order {
		for _, e := range n.edges {
			if e.word == "anyOf" || e.word == "oneOf" {
				walk(e.to)
			}
		}
	}
}

// takeMarks finds the properties that tell n from other alternatives.
func (n *node) takeMarks() {
	if !n.among {
		return
	}
	for _, e := range n.edges {
		if e.word != "properties" || len(e.to.facts.sets) == 0 {
			continue
		}
		m := mark{name: lastToken(e.to.at), facts: &e.to.facts}
		for _, set := range m.facts.sets {
			m.wrong = append(m.wrong, &factError{set.want + " in the property " + quote(m.name), false})
		}
		n.facts.marks = append(n.facts.marks, m)
	}
}

func lastToken(at string) string {
	return tokenUnescaper.Replace(at[strings.LastIndexByte(at, '/')+1:])
}

// parseTypes reads the value of type: a name, or several.
func parseTypes(value any) ([]string, bool) {
	names, ok := value.([]any)
	if !ok {
		names = []any{value}
	}
	var types []string
	for _, v := range names {
		name, _ := v.(string)
		if !slices.Contains(typeNames, name) || slices.Contains(types, name) {
			return nil, false
		}
		types = append(types, name)
	}
	return types, len(types) > 0
}

// check returns what is wrong with value, and what it cost to find out.
func (f *facts) check(value any) (int, error) {
	if f.types != nil && !f.hasType(value) {
		return 0, f.wrongType
	}
	set, work := f.miss(value)
	if set >= 0 {
		return work, f.sets[set].wrong
	}
	object, _ := value.(map[string]any)
	for _, m := range f.marks {
		member, ok := object[m.name]
		if !ok {
			continue
		}
		set, more := m.facts.miss(member)
		work += more + 1
		if set >= 0 {
			return work, m.wrong[set]
		}
	}
	return work, nil
}

// miss returns the first of the sets that value is not in, or -1, and what it
// cost to find out.
func (f *facts) miss(value any) (set, work int) {
	if len(f.sets) == 0 {
		return -1, 0
	}
	form := f.canonical(value)
	for i, s := range f.sets {
		if !s.forms[form] {
			return i, len(form) / 16
		}
	}
	return -1, len(form) / 16
}

// canonical returns the canonical form of value, or something that is no form
// if a set holds no value of its kind.
func (f *facts) canonical(value any) string {
	kind := canonicalKind(value)
	for _, set := range f.sets {
		if !set.kinds[kind] {
			return ""
		}
	}
	return canonical(value)
}

func (f *facts) hasType(value any) bool {
	name := typeName(value)
	if slices.Contains(f.types, name) {
		return true
	}
	number, _ := value.(json.Number)
	return name == "number" && slices.Contains(f.types, "integer") && isInteger(number.String())
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// isInteger tells whether a number is whole, however it is written: 1.0 and
// 10e-1 are.
func isInteger(number string) bool {
	if !strings.ContainsAny(number, ".eE") {
		return true
	}
	form := canonicalNumber(number)
	i := strings.IndexByte(form, 'e')
	return i < 0 || form[i+1] != '-'
}

// valueSet is some values of a schema, by their canonical forms.
type valueSet struct {
	forms map[string]bool
	kinds [256]bool // the first bytes of the forms
	want  string
	wrong error // what a value that is not among them is told
}

func newValueSet(values []any) *valueSet {
	want := enumWant(values)
	s := &valueSet{forms: map[string]bool{}, want: want, wrong: &factError{want, false}}
	for _, value := range values {
		form := canonical(value)
		s.forms[form] = true
		s.kinds[form[0]] = true
	}
	return s
}

func canonical(value any) string {
	var b strings.Builder
	writeCanonical(&b, value)
	return b.String()
}

// numberWork is what computing with a number costs, in units of the budget.
func numberWork(number string) int {
	work := len(number) / 8
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		exponent, _ := strconv.Atoi(number[i+1:]) // bounded by the decoder
		work += max(exponent, -exponent) / 8
	}
	return work
}

func enumWant(values []any) string {
	if len(values) == 1 {
		return "the value " + literal(values[0])
	}
	return "one of " + literals(values)
}
