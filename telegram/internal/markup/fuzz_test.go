package markup_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/psyb0t/aicodebox/internal/fakebotapi"
	"github.com/psyb0t/aicodebox/telegram/internal/markup"
)

// FuzzRender checks, for any text, that Telegram would take every part, that
// cutting loses nothing, and that every letter of the source arrives.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{
		"**a** _b_ ~~c~~ ||d|| `e` [f](https://g.org) ![h](i)",
		"# a\n\n- b\n  1. c\n\n> d\n>> e\n\n```go\nf\n```\n\n|g|h|\n|-|-|\n|i|j|k|\n",
		"[a]: b\n[^c]: d\n[^c]\n<div>\n<e f=\"g\">\n- [x] h\n- [ ] i",
		"***a** b*c_d__e~~f||g", "&amp;&#65;&#0;&bogus;\\*\\", "a\u0301👨‍👩‍👧🇩🇪\xff\x00\r\r\n\t",
		"> - > 1. ```\n> - > x", strings.Repeat("> a\n\n", 50), "[SEND_FILE: a/b.txt] `[SEND_FILE: c]`",
		"    code\n\n\ttab", "a  \nb\\\nc\n===\nd\n---", "https://a.b/c_d_ www.e.f g@h.i <https://j.k>",
	} {
		f.Add(seed)
		f.Add(strings.Repeat(seed+"\n\n", 200))
	}
	f.Fuzz(func(t *testing.T, in string) {
		doc := markup.Render(in, markup.Options{Files: true})
		_, texts, entities := send(t, in)
		if got, want := squeeze(printable(strings.Join(texts, ""))), squeeze(printable(doc.Text())); got != want {
			t.Errorf("cutting changed the text:\n%q\n%q", got, want)
		}
		if !foldable(in) {
			lettersArrive(t, in, texts, entities, doc.Files)
		}
	})
}

// printable drops what nobody sees, which may be dropped at a cut.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, s)
}

// foldable tells whether in uses one of the spellings whose letters Markdown
// takes away by intent: character references, check boxes, link definitions.
func foldable(in string) bool {
	return strings.Contains(in, "&") || strings.Contains(in, "]:") || strings.Contains(in, "SEND_FILE") ||
		strings.Contains(in, "[x]") || strings.Contains(in, "[X]")
}

// lettersArrive counts every letter of the source in what was sent, the
// addresses of links and the languages of code included.
func lettersArrive(t *testing.T, in string, texts []string, entities [][]fakebotapi.Entity, files []string) {
	t.Helper()
	have := map[rune]int{}
	count := func(s string, n int) {
		for _, r := range s {
			if unicode.IsLetter(r) {
				have[r] += n
			}
		}
	}
	for i, text := range texts {
		count(text, 1)
		for _, e := range entities[i] {
			count(e.URL+e.Language, 1)
		}
	}
	count(strings.Join(files, ""), 1)
	count(strings.ToValidUTF8(in, string(utf8.RuneError)), -1)
	for r, n := range have {
		if n < 0 {
			t.Errorf("%d × %q got lost", -n, r)
		}
	}
}
