package jsonanswer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxNames is how many names a description lists.
const maxNames = 12

// describe tells in a few words what a value is.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "the number " + shorten(v.String())
	case string:
		return "the string " + quote(v)
	case []any:
		return "an array of " + count(len(v), "item")
	case map[string]any:
		return describeObject(v)
	}
	return fmt.Sprintf("%T", value)
}

func describeObject(v map[string]any) string {
	if len(v) == 0 {
		return "an object without properties"
	}
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	return "an object with " + properties(names)
}

// properties lists names as "the property" or "the properties".
func properties(names []string) string {
	if len(names) == 1 {
		return "the property " + quote(names[0])
	}
	return "the properties " + quoted(names)
}

// quoted lists names in quotes, a dozen at most.
func quoted(names []string) string {
	var list []string
	for _, name := range names[:min(len(names), maxNames)] {
		list = append(list, quote(name))
	}
	text := strings.Join(list, ", ")
	if more := len(names) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// literal writes a value of a schema as JSON, cut short.
func literal(value any) string {
	switch v := value.(type) {
	case json.Number:
		return shorten(v.String())
	case string:
		return quoteWithin(v, 200)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return describe(value)
	}
	return shorten(string(data))
}

// literals lists the values of an enum.
func literals(values []any) string {
	var b strings.Builder
	for i, value := range values {
		if b.Len() > 600 {
			fmt.Fprintf(&b, " or %d more", len(values)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(literal(value))
	}
	return b.String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// shorten cuts a text of more than 80 bytes.
func shorten(text string) string {
	if len(text) <= 80 {
		return text
	}
	return strings.ToValidUTF8(text[:80], "") + "…"
}

// pointer writes the tokens of a path as a JSON pointer.
func pointer(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteString("/" + escapeToken(token))
	}
	return b.String()
}

var tokenEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func escapeToken(token string) string { return tokenEscaper.Replace(token) }
