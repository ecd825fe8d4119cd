package openai

import (
	"strings"
	"testing"
)

// In pieces or as a whole, a text is cut the same.
func FuzzCutter(f *testing.F) {
	f.Add("  hello \n world  ", "wor", "x", 3)
	f.Add("aaab", "aab", "", 1)
	f.Add("ab\n\n\n", "\n\n\n\n", " ", 2)
	f.Fuzz(func(t *testing.T, text, stop, other string, size int) {
		var stops []string
		for _, s := range []string{stop, other} {
			if s != "" {
				stops = append(stops, s)
			}
		}
		size = max(1, min(size, 10))
		c := cutter{stop: stops}
		var b strings.Builder
		for from := 0; from < len(text); from += size {
			b.WriteString(c.add(text[from:min(from+size, len(text))]))
		}
		b.WriteString(c.rest())
		whole := cut(text, stops)
		if isASCII(text) && b.String() != whole { // a piece of a rune is no text
			t.Errorf("%q stop %q: in pieces %q, whole %q", text, stops, b.String(), whole)
		}
		for _, s := range stops {
			if strings.Contains(whole, s) {
				t.Errorf("%q holds %q", whole, s)
			}
		}
		if strings.TrimSpace(whole) != whole {
			t.Errorf("white space around %q", whole)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

// A piece leaves at once unless a stop text may begin in it.
func TestCutterHoldsBackLittle(t *testing.T) {
	t.Parallel()
	c := cutter{stop: []string{"END"}}
	for i, step := range []struct{ in, out string }{
		{"  a", "a"}, {" b ", " b"}, {"c", " c"}, {"E", ""}, {"x", "Ex"}, {"EN", ""}, {"D more", ""}, {"x", ""},
	} {
		if got := c.add(step.in); got != step.out {
			t.Errorf("step %d: %q, want %q", i, got, step.out)
		}
	}
	if got := c.rest(); got != "" {
		t.Errorf("rest %q", got)
	}
}
