// Package jsonanswer reads JSON out of what a model wrote, checks it against a
// JSON Schema, and words the prompts that ask for it.
//
// Compile readies a caller's schema, once for each content; nothing is ever
// fetched, and a schema that could make checking endless is refused. Prompt is
// what is added to a task so that an agent answers with JSON alone. Read finds
// the answer in the agent's text: tolerant about what is wrapped around it,
// strict about what is in it, so that a value that was cut short or mended by
// guesswork never passes for an answer. Its errors say what is wrong and
// where, in words for the model; Correction and Retry make prompts of them.
//
// All work is bounded in proportion to the size of the text: no answer and no
// schema, however built, takes quadratic time or deep recursion.
package jsonanswer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// bom is the byte-order mark that some programs put before a text.
const bom = "\ufeff"

// Answer is a value found in a model's text.
type Answer struct {
	// JSON is the value without whitespace around its tokens. Names keep
	// their order, numbers their digits, strings their escapes.
	JSON json.RawMessage
	// Repaired tells that a comma before a closing bracket was dropped.
	Repaired bool
}

// Read finds the answer in text: a value that satisfies s or, if s is nil, any
// object. These are tried in turn, and the first that parses and satisfies the
// schema is the answer:
//
//  1. the whole text, without a byte-order mark and whitespace around it
//  2. what stands in fenced blocks, the last first
//  3. the outermost objects and arrays in the text, the last first
//
// sent is what the model was sent in this conversation. Where text repeats one
// of these texts, that part of it is passed over, and so is a value equal to
// the schema or to a whole text that was sent: agents print their prompt, and
// an example in it is not their answer.
//
// The error is a *ParseError or a *ValidationError, whichever helps the model
// more to answer better.
func Read(text string, s *Schema, sent ...string) (Answer, error) {
	if len(text) > maxText {
		return Answer{}, &ParseError{Reason: "the answer is too long; at most 64 MiB can be read"}
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, string(utf8.RuneError))
	}
	r := &reading{text: strings.TrimPrefix(text, bom), schema: s, left: grant(len(text))}
	r.sent = sentValues(s, sent)
	if answer, ok := r.whole(); ok {
		return answer, nil
	}
	if r.ended {
		return Answer{}, r.failure()
	}
	if quiet, ok := withoutEchoes(r.text, sent); ok {
		r.text, r.echoed = quiet, true
		if answer, ok := r.whole(); ok {
			return answer, nil
		}
	}
	return r.search()
}

// reading is the search for an answer in one text.
type reading struct {
	text   string
	schema *Schema
	sent   []any // values that are not an answer
	left   int   // the work that is left, see budget

	ended   bool // the whole text was JSON: there is nothing else to find
	echoed  bool // parts of the text repeated what was sent
	skipped bool // a value was passed over since it was sent

	rank int // how much err helps
	err  error
}

// whole tries the text as a whole.
func (r *reading) whole() (Answer, bool) {
	start := skipSpace(r.text, 0)
	if start == len(r.text) {
		return Answer{}, false
	}
	answer, parsed, ok := r.tryBlock(span{start, len(r.text)})
	r.ended = parsed
	return answer, ok
}

// search tries the parts of the text.
func (r *reading) search() (Answer, error) {
	fences := findFences(r.text)
	for i := len(fences) - 1; i >= 0; i-- {
		if answer, _, ok := r.tryBlock(fences[i]); ok {
			return answer, nil
		}
	}
	found, broken := findProse(r.text)
	for i := len(found) - 1; i >= 0; i-- {
		if answer, ok := r.try(found[i]); ok {
			return answer, nil
		}
	}
	if broken.reason != "" {
		r.fail(rankBroken, parseError(r.text, &broken))
	}
	return Answer{}, r.failure()
}

// tryBlock tries a piece of the text that is JSON only if all of it is.
func (r *reading) tryBlock(sp span) (answer Answer, parsed, ok bool) {
	value, f := scanWhole(r.text, sp)
	if f != nil {
		return Answer{}, false, false
	}
	answer, ok = r.try(value)
	return answer, true, ok
}

// try tries a piece of the text that is well formed.
func (r *reading) try(sp span) (Answer, bool) {
	value, d, f := decode(r.text, sp, limits{maxDepth, maxValues})
	if f != nil {
		r.fail(rankUnusable, parseError(r.text, f))
		return Answer{}, false
	}
	if r.wasSent(value) {
		r.skipped = true
		return Answer{}, false
	}
	if err := r.check(value, d); err != nil {
		r.fail(rankOf(err), err)
		return Answer{}, false
	}
	out, repaired := compact(r.text[sp.start:sp.end])
	return Answer{JSON: out, Repaired: repaired}, true
}

func (r *reading) check(value any, d *decoder) error {
	if r.schema != nil {
		return r.schema.check(value, d, &r.left)
	}
	if _, ok := value.(map[string]any); ok {
		return nil
	}
	return &ValidationError{Leaves: []Leaf{{Want: "object", Got: describe(value)}}}
}

// How much an error helps: a value that almost is the answer tells more than
// one of the wrong kind, and that more than broken JSON.
const (
	rankBroken = 1 + iota
	rankOtherKind
	rankUnusable
	rankInvalid
)

func rankOf(err error) int {
	if invalid, ok := err.(*ValidationError); ok && invalid.atRoot() { //nolint:errorlint // our own value, never wrapped
		return rankOtherKind
	}
	return rankInvalid
}

// fail notes why a candidate is none. Of two that help as much the first
// stays, which stands later in the text.
func (r *reading) fail(rank int, err error) {
	if rank > r.rank {
		r.rank, r.err = rank, err
	}
}

// failure returns the error to report.
func (r *reading) failure() error {
	switch {
	case r.err != nil:
		return r.err
	case r.skipped || r.echoed:
		return &ParseError{Reason: "the answer only repeats what was asked; it holds no JSON of its own"}
	case strings.TrimSpace(r.text) == "":
		return &ParseError{Reason: "the answer is empty"}
	}
	return &ParseError{Reason: fmt.Sprintf("the answer holds no JSON; it begins with %s", quote(strings.TrimSpace(r.text)))}
}
