package jsonanswer

import (
	"bytes"
	"errors"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on an answer.
const (
	maxText   = 64 << 20
	maxValues = 2_000_000
	maxDepth  = 10_000
)

// Schema is a JSON Schema ready to check answers. It is safe for concurrent
// use.
type Schema struct {
	value any // the schema as a JSON value

	mu      sync.Mutex
	checker *checker
}

// Compile readies a schema: an object, or true, of draft 2020-12 or draft-07.
// "$schema" says which; without it draft 2020-12 is meant, and draft-07's
// spellings are understood too. The error is a *SchemaError, which names what
// the schema's author has to mend: JSON that is broken, a schema that is no
// valid one, one that refers to another document (nothing is ever fetched),
// one over 1 MiB or over 20,000 values with its references followed.
//
// Schemas are remembered by their content: to compile one again costs nothing.
func Compile(schema []byte) (*Schema, error) {
	if len(schema) > maxSchemaBytes { // not to be kept as a key either
		return compile(schema, nil)
	}
	return compiled.load(string(schema), func() (*Schema, error) { return compile(schema, nil) })
}

// compile readies a schema. Documents outside it come from remote, if that is
// not nil.
func compile(schema []byte, remote loader) (*Schema, error) {
	d, err := readDocument(schema, remote != nil)
	if err != nil {
		return nil, err
	}
	if err := d.checkWeight(); err != nil {
		return nil, err
	}
	if remote == nil {
		remote = noLoader{}
	}
	checker, err := newChecker(d, remote)
	if err != nil {
		return nil, err
	}
	value, err := decodeSchema(string(bytes.TrimPrefix(schema, []byte(bom)))) // d's was changed
	if err != nil {
		return nil, err
	}
	return &Schema{value: value, checker: checker}, nil
}

// Validate checks one JSON text, as it is: nothing is tolerated or mended. The
// error is a *ParseError or a *ValidationError.
func (s *Schema) Validate(value []byte) error {
	text := string(value)
	whole, f := scanWhole(text, span{0, len(text)})
	if f != nil {
		return parseError(text, f)
	}
	if _, repaired := compact(text); repaired {
		return &ParseError{Reason: "the answer is not valid JSON: a comma stands before a closing bracket"}
	}
	decoded, d, f := decode(text, whole, limits{maxDepth, maxValues})
	if f != nil {
		return parseError(text, f)
	}
	left := grant(len(text))
	return s.check(decoded, d, &left)
}

// check checks a decoded value with the work that is left, and takes from it.
func (s *Schema) check(value any, d *decoder, left *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checker.budget.left = *left
	valid, err := s.checker.satisfied(value)
	*left = s.checker.budget.left
	switch {
	case err != nil:
		return workError()
	case valid:
		return nil
	}
	return s.checker.explain(value, d)
}

// validationError turns the library's error about value into ours. It is nil
// if err is not the library's.
func validationError(err error, value any) *ValidationError {
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return nil
	}
	leaves := explain(bad, value)
	if len(leaves) == 0 {
		return vagueError(value)
	}
	n := min(len(leaves), maxLeaves)
	return &ValidationError{Leaves: leaves[:n:n], More: len(leaves) - n}
}

// vagueError is for a value of which is only known that it is wrong.
func vagueError(value any) *ValidationError {
	return &ValidationError{Leaves: []Leaf{{
		Want: "a value that satisfies the schema in all its parts",
		Got:  describe(value),
	}}}
}

// workError tells the model that its answer is too expensive to check.
func workError() error {
	return &ValidationError{Leaves: []Leaf{{
		Want: "an answer that can be checked with reasonable effort: smaller, or less deeply nested",
	}}}
}
