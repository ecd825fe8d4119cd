package jsonanswer

import (
	"encoding/json"
	"strings"
)

// sentValues returns the JSON values that were sent and are no answer: the
// schema, and texts that are a value as a whole. A value that says nothing,
// such as {}, may be an answer all the same.
func sentValues(s *Schema, sent []string) []any {
	var values []any
	if s != nil && members(s.value) > 0 {
		values = append(values, s.value)
	}
	for _, text := range sent {
		if value, ok := wholeValue(text); ok && members(value) > 0 {
			values = append(values, value)
		}
	}
	return values
}

// wholeValue returns the JSON value that text is.
func wholeValue(text string) (any, bool) {
	whole, f := scanWhole(text, span{0, len(text)})
	if f != nil {
		return nil, false
	}
	value, _, f := decode(text, whole, limits{maxDepth, maxValues})
	return value, f == nil
}

func (r *reading) wasSent(value any) bool {
	for _, sent := range r.sent {
		if equal(value, sent) {
			return true
		}
	}
	return false
}

// equal tells whether two JSON values are the same.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !equal(value, other) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && canonicalNumber(a.String()) == canonicalNumber(b.String())
	}
	return a == b
}

// withoutEchoes returns text with spaces in place of every repetition of a
// text that was sent, or of the task in front of our instruction in it. It
// tells whether there was any.
func withoutEchoes(text string, sent []string) (string, bool) {
	found := false
	for _, s := range sent {
		for _, piece := range pieces(s) {
			var ok bool
			if text, ok = withoutEcho(text, piece); ok {
				found = true
				break // what else is in s was part of it
			}
		}
	}
	return text, found
}

// pieces returns what of a text that was sent an agent may print: all of it,
// or the task alone. A task that is JSON itself can be repeated as an answer.
func pieces(sent string) []string {
	all := []string{sent}
	task, _, ok := strings.Cut(sent, promptIntro)
	if _, isJSON := wholeValue(task); ok && !isJSON {
		all = append(all, task)
	}
	return all
}

// withoutEcho blanks the repetitions of sent in text. They may differ in
// whitespace and in the marks of a quotation at line starts, and stand on
// lines of their own, perhaps behind a name as in "User: ".
func withoutEcho(text, sent string) (string, bool) {
	needle := strip(sent)
	if len(needle) == 0 || len(needle) > len(text) {
		return text, false
	}
	hay := strip(text)
	var blanks []span
	for from := 0; len(blanks) < maxCandidates; {
		i := strings.Index(hay[from:], needle)
		if i < 0 {
			break
		}
		blanks = append(blanks, span{from + i, from + i + len(needle)})
		from += i + len(needle)
	}
	return blank(text, blanks)
}

// strip drops whitespace and the marks of quotations.
func strip(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	w := stripper{fresh: true}
	for i := range len(text) {
		if w.keeps(text[i]) {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// stripper tells which bytes of a text strip keeps. It is asked for all of
// them in turn.
type stripper struct {
	fresh bool // nothing of the line was kept yet
}

func (w *stripper) keeps(c byte) bool {
	switch {
	case c == '\n':
		w.fresh = true
		return false
	case isSpace(c) || c == '>' && w.fresh:
		return false
	}
	w.fresh = false
	return true
}

// blank puts spaces in place of what stands, in the stripped text, in spans.
// Line ends stay.
func blank(text string, spans []span) (string, bool) {
	if len(spans) == 0 {
		return text, false
	}
	out, found := []byte(text), false
	w := stripper{fresh: true}
	kept, start := 0, 0
	for i := 0; i < len(text) && len(spans) > 0; i++ {
		if !w.keeps(text[i]) {
			continue
		}
		if kept == spans[0].start {
			start = i
		}
		if kept++; kept < spans[0].end {
			continue
		}
		if onItsOwn(text, start, i+1) {
			found = true
			erase(out[start : i+1])
		}
		spans = spans[1:]
	}
	return string(out), found
}

func erase(piece []byte) {
	for i, c := range piece {
		if c != '\n' {
			piece[i] = ' '
		}
	}
}

// maxLabel is how long what stands before an echo on its line may be.
const maxLabel = 24

// onItsOwn tells whether text[start:end] stands on lines of its own, but for a
// label before it.
func onItsOwn(text string, start, end int) bool {
	line := strings.LastIndexByte(text[max(0, start-maxLabel-1):start], '\n')
	label := text[max(0, start-maxLabel-1)+line+1 : start]
	if line < 0 && start > maxLabel || strings.ContainsAny(label, "{}[]\"'`,") {
		return false
	}
	for i := end; i < len(text) && text[i] != '\n'; i++ {
		if !isSpace(text[i]) {
			return false
		}
	}
	return true
}
