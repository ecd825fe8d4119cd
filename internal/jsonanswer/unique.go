package jsonanswer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// uniqueFormat is the name of the format that stands for uniqueItems.
const uniqueFormat = "unique items"

// duplicateError tells which two items of an array are equal.
type duplicateError struct{ first, second int }

func (e *duplicateError) Error() string {
	return fmt.Sprintf("items %d and %d are equal", e.first, e.second)
}

// unique checks that all items of an array differ, by writing each in a form
// that equal values share.
func (c *checker) unique(value any) error {
	items, _ := value.([]any)
	seen := make(map[string]int, len(items))
	for i, item := range items {
		var b strings.Builder
		writeCanonical(&b, item)
		c.budget.spend(1 + b.Len()/16)
		if first, twice := seen[b.String()]; twice {
			return &duplicateError{first, i}
		}
		seen[b.String()] = i
	}
	return nil
}

// writeCanonical writes value so that two values are equal exactly if their
// forms are: names sorted, strings with their length, numbers by value.
func writeCanonical(b *strings.Builder, value any) {
	switch v := value.(type) {
	case json.Number:
		b.WriteString("n" + canonicalNumber(v.String()))
	case string:
		b.WriteString("s" + strconv.Itoa(len(v)) + ":" + v)
	case []any:
		b.WriteString("[" + strconv.Itoa(len(v)) + ":")
		for _, item := range v {
			writeCanonical(b, item)
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		b.WriteString("{" + strconv.Itoa(len(v)) + ":")
		for _, name := range names {
			writeCanonical(b, name)
			writeCanonical(b, v[name])
		}
	default:
		b.WriteByte(canonicalKind(v))
	}
}

// canonicalKind returns the first byte of a value's canonical form.
func canonicalKind(value any) byte {
	switch value {
	case true:
		return 't'
	case false:
		return 'f'
	case nil:
		return '0'
	}
	switch value.(type) {
	case json.Number:
		return 'n'
	case string:
		return 's'
	case []any:
		return '['
	}
	return '{'
}

// canonicalNumber writes a JSON number as its significant digits and an
// exponent.
func canonicalNumber(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	exponent := 0
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(number[i+1:]) // bounded by the decoder
		number = number[:i]
	}
	whole, fraction, _ := strings.Cut(number, ".")
	exponent -= len(fraction)
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0;"
	}
	exponent += len(digits) - len(significant)
	return sign + significant + "e" + strconv.Itoa(exponent) + ";"
}
