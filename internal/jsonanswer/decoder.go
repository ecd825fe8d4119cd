package jsonanswer

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// limits bound a value that is decoded.
type limits struct {
	depth  int // arrays and objects in each other
	values int // values in all
}

// Bounds on one number. More digits, or a larger exponent, are no use to a
// reader and expensive to compare exactly.
const (
	maxDigits   = 4000
	maxExponent = 1000
)

// decoder builds the value of a text that the scanner has found well formed.
// Numbers are kept as they are written (json.Number), a trailing comma is
// passed over, and what JSON has not or leaves open is refused: NaN and its
// kin, a property given twice, numbers and nesting beyond reason.
type decoder struct {
	text   string
	pos    int
	depth  int
	values int
	deep   int // the greatest depth so far
	limits limits
}

// decode builds the value at sp, or says where it cannot be built and why.
func decode(text string, sp span, l limits) (value any, d *decoder, f *fault) {
	d = &decoder{text: text, pos: sp.start, limits: l}
	value, f = d.value()
	return value, d, f
}

func (d *decoder) fault(at int, reason string) *fault { return &fault{at: at, reason: reason} }

func (d *decoder) space() { d.pos = skipSpace(d.text, d.pos) }

func (d *decoder) value() (any, *fault) {
	d.space()
	if d.values++; d.values > d.limits.values {
		return nil, d.fault(d.pos, "there are more than "+strconv.Itoa(d.limits.values)+" values")
	}
	switch d.text[d.pos] {
	case '{':
		return d.nested(d.object)
	case '[':
		return d.nested(d.array)
	case '"':
		return d.str(), nil
	}
	return d.word()
}

// nested builds an array or object, one level deeper.
func (d *decoder) nested(build func() (any, *fault)) (any, *fault) {
	if d.depth++; d.depth > d.limits.depth {
		return nil, d.fault(d.pos, "the nesting is deeper than "+strconv.Itoa(d.limits.depth)+" levels")
	}
	d.deep = max(d.deep, d.depth)
	d.pos++
	value, f := build()
	d.depth--
	return value, f
}

func (d *decoder) array() (any, *fault) {
	items := []any{}
	for !d.closed(']') {
		item, f := d.value()
		if f != nil {
			return nil, f
		}
		items = append(items, item)
		d.comma()
	}
	return items, nil
}

func (d *decoder) object() (any, *fault) {
	members := map[string]any{}
	for !d.closed('}') {
		at := d.pos
		name := d.key()
		if _, twice := members[name]; twice {
			return nil, d.fault(at, "the property "+quote(name)+" is given twice")
		}
		d.space()
		d.pos++ // the colon
		value, f := d.value()
		if f != nil {
			return nil, f
		}
		members[name] = value
		d.comma()
	}
	return members, nil
}

// closed passes over a closing bracket, if one is next.
func (d *decoder) closed(bracket byte) bool {
	d.space()
	if d.text[d.pos] != bracket {
		return false
	}
	d.pos++
	return true
}

// comma passes over a comma, if one is next.
func (d *decoder) comma() {
	d.space()
	if d.text[d.pos] == ',' {
		d.pos++
	}
}

// str reads a string. Half of a surrogate pair, which no text can hold, becomes
// the replacement character.
func (d *decoder) str() string { return strings.ToValidUTF8(d.key(), string(utf8.RuneError)) }

// key reads a string and keeps halves of surrogate pairs apart, so that two
// different names never count as one.
func (d *decoder) key() string {
	start := d.pos + 1
	escaped := false
	for d.pos = start; d.text[d.pos] != '"'; d.pos++ {
		if d.text[d.pos] == '\\' {
			escaped = true
			d.pos++
		}
	}
	raw := d.text[start:d.pos]
	d.pos++
	if !escaped {
		return raw
	}
	return unescape(raw)
}

func (d *decoder) word() (any, *fault) {
	start := d.pos
	d.pos = lexWord(d.text, start)
	switch word := d.text[start:d.pos]; word {
	case "true", "false":
		return word == "true", nil
	case "null":
		return nil, nil
	case "NaN", "Infinity", "-Infinity":
		return nil, d.fault(start, word+" is no JSON value; a number or null has to stand here")
	default:
		if reason := numberFault(word); reason != "" {
			return nil, d.fault(start, reason)
		}
		return json.Number(word), nil
	}
}

// numberFault tells what is beyond reason in a number, or nothing.
func numberFault(number string) string {
	mantissa, exponent := number, ""
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa, exponent = number[:i], strings.TrimLeft(number[i+1:], "+-")
		exponent = strings.TrimLeft(exponent, "0")
	}
	n := 0
	for _, c := range exponent {
		if n = n*10 + int(c-'0'); n > maxExponent {
			return "the exponent of this number is beyond 1000"
		}
	}
	if len(mantissa) > maxDigits {
		return "this number has more than 4000 digits"
	}
	return ""
}
