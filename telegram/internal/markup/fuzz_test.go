package markup_test

import (
	"flag"
	"math/rand/v2"
	"regexp"
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
	}
	f.Fuzz(checkRender)
}

// TestRenderAnything makes what the fuzzer makes too seldom: long texts out of
// pieces of Markdown, which have to be cut.
func TestRenderAnything(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"**", "*", "_", "__", "~~", "||", "`", "``", "```", "```go\n", "~~~\n", "[", "](https://x.org)", "](y)", "![", "<b>", "<", "&", ">",
		"> ", "- ", "1. ", "  ", "    ", "\t", "\n", "\n\n", "# ", "---\n", "|", "|-|-|\n", "[^1]", "[^1]: ", "- [ ] ", "\\", "word ", "word, ",
		"日本", "👨‍👩‍👧", "e\u0301", "🇩🇪", "https://x.org/a_b ", "snake_case ", "\"", "'", "(", ")", ".", strings.Repeat("long", 60) + " ",
	}
	rnd := rand.New(rand.NewPCG(1, uint64(*rounds)))
	for range *rounds {
		var in strings.Builder
		for range 1 << rnd.IntN(11) {
			piece := pieces[rnd.IntN(len(pieces))]
			in.WriteString(strings.Repeat(piece, 1+rnd.IntN(3)))
			if rnd.IntN(3) > 0 {
				in.WriteString("text ")
			}
		}
		checkRender(t, in.String())
		if t.Failed() {
			t.Fatalf("with %q", in.String())
		}
	}
}

// rounds is how many texts TestRenderAnything makes.
var rounds = flag.Int("rounds", 150, "random texts to render")

func checkRender(t *testing.T, in string) {
	t.Helper()
	doc := markup.Render(in, markup.Options{Files: true})
	_, texts, entities := send(t, in)
	if got, want := squeeze(printable(strings.Join(texts, ""))), squeeze(printable(doc.Text())); got != want {
		t.Errorf("cutting changed the text:\n%q\n%q", got, want)
	}
	if !foldable(in) {
		lettersArrive(t, in, texts, entities, doc.Files)
	}
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
func foldable(in string) bool { return folded.MatchString(in) }

var folded = regexp.MustCompile(`&[#A-Za-z0-9]+;|\[[^^][^\]]*\]:|SEND_FILE|\[[xX]\]`)

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
			count(e.Language, 1)
			if e.URL != "" { // neighbours that lead to one place are one link
				in = strings.ReplaceAll(in, e.URL, "")
			}
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
