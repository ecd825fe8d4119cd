package markup

import (
	"strings"
	"testing"
	"time"
)

func TestCostly(t *testing.T) {
	t.Parallel()
	const size = 64 << 10
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	tests := map[string]string{
		"links":     fill("[a]("),
		"brackets":  fill("["),
		"images":    fill("!["),
		"footnotes": fill("[^a]:"),
		"emphasis":  fill("*a **b "),
		"quotes":    fill(">"),
		"lists":     fill("- "),
		"numbers":   fill("1. "),
		"indented":  "-" + strings.Repeat(" ", 1000) + "a\n" + strings.Repeat(" ", 1000) + "b",
		"table":     "|" + strings.Repeat("a|", 800) + "\n|" + strings.Repeat("-|", 800) + "\n" + strings.Repeat("|\n", 3000),
		"addresses": fill("http://a.b "),
		"defines":   fill("[a]: b\n"),
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			doc := Render(in, Options{Files: true})
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if got := doc.Text(); got != in {
				t.Errorf("text changed: %d bytes became %d", len(in), len(got))
			}
		})
	}
}

func TestCostlyKeepsAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"json in a fence":  "**x**\n```json\n" + strings.Repeat("[[1, 2], [3, 4]],\n", 2000) + "```\n",
		"long list":        strings.Repeat("- **item** one [a](https://x.org)\n", 900),
		"many paragraphs":  strings.Repeat("some *text* with `code` and [a link](https://x.org)\n\n", 4000),
		"table":            "|a|b|\n|-|-|\n" + strings.Repeat("|**1**|2|\n", 3000),
		"ruler":            strings.Repeat("-", 500) + "\n\n" + strings.Repeat("* ", 40),
		"fence in a quote": "> ```\n> " + strings.Repeat("[", 900) + "\n> ```",
	}
	for name, in := range tests {
		if costly(in) {
			t.Errorf("%s is taken for costly", name)
		}
	}
}
