package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// reader reads JSON values inside a text, strictly but for one thing: a comma
// before a closing bracket is let pass. What it reads it writes without white
// space, every number and string with the characters it came with.
type reader struct {
	text  string
	at    int
	out   []byte
	depth int
}

// maxDepth bounds nesting.
const maxDepth = 500

var (
	errEnd      = errors.New("it ends in the middle of a value")
	errTooDeep  = errors.New("it is nested too deeply")
	errNotJSON  = errors.New("what stands there is no JSON value")
	errBreak    = errors.New("a string holds a line break or another control character that must be escaped")
	errEscape   = errors.New("a string holds a backslash that escapes nothing")
	errNoName   = errors.New("a member of an object needs a name in double quotes")
	errNoColon  = errors.New("a name needs a colon after it")
	errNoComma  = errors.New("a comma or a closing bracket is missing")
	errNoNumber = errors.New("what stands there is not a number as JSON writes them")
)

// read reads the value that begins at r.at and moves past it.
func (r *reader) read() error {
	if r.at >= len(r.text) {
		return errEnd
	}
	switch c := r.text[r.at]; {
	case c == '{':
		return r.nested('}', r.member)
	case c == '[':
		return r.nested(']', r.read)
	case c == '"':
		return r.string()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(r.text)-r.at >= len(word) && r.text[r.at:r.at+len(word)] == word {
			r.take(len(word))
			return nil
		}
	}
	return errNotJSON
}

// take copies n bytes.
func (r *reader) take(n int) {
	r.out = append(r.out, r.text[r.at:r.at+n]...)
	r.at += n
}

// space moves past white space and tells the byte that follows, 0 at the end.
func (r *reader) space() byte {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// nested reads an object or an array up to its closing bracket.
func (r *reader) nested(end byte, element func() error) error {
	if r.depth++; r.depth > maxDepth {
		return errTooDeep
	}
	defer func() { r.depth-- }()
	r.take(1)
	for first := true; ; first = false {
		switch r.space() {
		case 0:
			return errEnd
		case end:
			r.take(1)
			return nil
		case ',':
			if first {
				return errNotJSON
			}
			if r.at++; r.space() == end {
				continue
			}
			r.out = append(r.out, ',')
		default:
			if !first {
				return errNoComma
			}
		}
		if err := element(); err != nil {
			return err
		}
	}
}

func (r *reader) member() error {
	if r.space() != '"' {
		return errNoName
	}
	if err := r.string(); err != nil {
		return err
	}
	if r.space() != ':' {
		return errNoColon
	}
	r.take(1)
	r.space()
	return r.read()
}

func (r *reader) string() error {
	for i := r.at + 1; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			r.take(i + 1 - r.at)
			return nil
		case c < 0x20:
			return errBreak
		case c == '\\':
			if i++; i < len(r.text) && !escapes[r.text[i]] {
				return errEscape
			}
		}
	}
	return errEnd
}

var escapes = map[byte]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true, 'u': true}

func (r *reader) number() error {
	end := r.at
	for end < len(r.text) && isNumberByte(r.text[end]) {
		end++
	}
	if !isNumber(r.text[r.at:end]) {
		return errNoNumber
	}
	r.take(end - r.at)
	return nil
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// isNumber tells whether s is a number by RFC 8259, section 6.
func isNumber(s string) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	skip := func(any string) bool {
		if i < len(s) && (s[i] == any[0] || s[i] == any[len(any)-1]) {
			i++
			return true
		}
		return false
	}
	skip("-")
	if !skip("0") && !digits() {
		return false
	}
	if skip(".") && !digits() {
		return false
	}
	if skip("eE") {
		skip("+-")
		if !digits() {
			return false
		}
	}
	return i == len(s)
}

// span is a JSON value found in a text.
type span struct {
	start, end int
	json       []byte // without white space
}

// flaw is the beginning of a value that cannot be read.
type flaw struct {
	start int
	at    int // where reading ended
	err   error
}

// scan finds the outermost objects and arrays in a text, in order, and objects
// that cannot be read. The work is bounded by a multiple of the text's length:
// what is left after that is not looked at.
func scan(text string) (found []span, flaws []flaw) {
	budget := 8*len(text) + 1<<16
	for at := 0; at < len(text) && budget > 0; {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		r := reader{text: text, at: at}
		err := r.read()
		budget -= r.at - at
		if err == nil && !json.Valid(r.out) {
			err = errEscape
		}
		if err == nil {
			found = append(found, span{at, r.at, r.out})
			at = r.at
			continue
		}
		if text[at] == '{' {
			flaws = append(flaws, flaw{at, r.at, err})
		}
		at++
	}
	return found, flaws
}

// reason tells what is wrong, and where.
func (f flaw) reason(text string) error {
	from := max(f.start, f.at-20)
	for from < f.at && !utf8.RuneStart(text[from]) {
		from++
	}
	return fmt.Errorf("%w (after %s)", f.err, encode(text[from:f.at]))
}
