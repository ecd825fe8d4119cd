package markup_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/fakebotapi"
	"github.com/psyb0t/aicodebox/telegram/internal/markup"
)

// send renders in and has every part checked by the rules of Telegram. It
// returns the HTML, the text that a reader sees, and the entities, of each part.
func send(t *testing.T, in string) (html, texts []string, entities [][]fakebotapi.Entity) {
	t.Helper()
	doc := markup.Render(in, markup.Options{Files: true})
	for i, p := range doc.Parts() {
		text, found, err := fakebotapi.ParseHTML(p.HTML)
		if err != nil {
			t.Fatalf("part %d is refused: %v\n%s", i, err, p.HTML)
		}
		if n := len(utf16.Encode([]rune(text))); n > 4096 {
			t.Errorf("part %d has %d units", i, n)
		}
		if len(p.HTML) > 12<<10 || len(p.Text) > 12<<10 {
			t.Errorf("part %d has %d bytes of HTML, %d of text", i, len(p.HTML), len(p.Text))
		}
		if len(found) > 100 {
			t.Errorf("part %d has %d entities", i, len(found))
		}
		if diff := cmp.Diff(p.Text, text); diff != "" {
			t.Errorf("part %d differs from its plain text:\n%s", i, diff)
		}
		if strings.TrimSpace(text) == "" {
			t.Errorf("part %d is empty", i)
		}
		html, texts, entities = append(html, p.HTML), append(texts, text), append(entities, found)
	}
	return html, texts, entities
}

func one(t *testing.T, in string) string {
	t.Helper()
	html, _, _ := send(t, in)
	if len(html) != 1 {
		t.Fatalf("got %d parts, want 1", len(html))
	}
	return html[0]
}

func TestCase_T01(t *testing.T) {
	t.Parallel()
	got := one(t, "Build ***green*** now. **left _mix** right_")
	if want := "Build <b><i>green</i></b> now. <b>left _mix</b> right_"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestCase_T03(t *testing.T) {
	t.Parallel()
	in := "Edit my_test_file.py, pkg/__init__.py and call max_retry_count(a_b, c_d)"
	if got := one(t, in); got != in {
		t.Errorf("got %s", got)
	}
}

func TestCase_T05(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{strings.Repeat("&", 4090) + " **end**", strings.Repeat("&", 4090) + " end"},
		{strings.Repeat("<", 4090), strings.Repeat("<", 4090)},
	} {
		_, texts, _ := send(t, test.in)
		if got := squeeze(strings.Join(texts, "")); got != squeeze(test.want) {
			t.Errorf("%.10s: text changed: %d bytes, want %d", test.in, len(got), len(test.want))
		}
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func TestCase_T07(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for i := range 400 {
		code.WriteString("x := " + strings.Repeat("a", i%40) + "()\n")
	}
	html, texts, _ := send(t, "**"+strings.Repeat("word ", 1199)+"word**\n\n```go\n"+code.String()+"```")
	for i, h := range html {
		if strings.Contains(texts[i], "x :=") && !strings.Contains(h, `<pre><code class="language-go">`) {
			t.Errorf("part %d lost the language", i)
		}
		if strings.HasSuffix(texts[i], "x") || strings.HasPrefix(texts[i], "=") {
			t.Errorf("part %d was not cut at a line", i)
		}
	}
	if got := strings.Count(strings.Join(texts, " "), "word"); got != 1200 {
		t.Errorf("%d words arrived, want 1200", got)
	}
	if got := strings.Join(texts[len(texts)-2:], "\n"); !strings.HasSuffix(got, strings.TrimRight(code.String(), "\n")[code.Len()/2:]) {
		t.Error("the code's lines changed")
	}
}

func TestCase_T08(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	for i := range 1300 {
		in.WriteString("> " + string(rune('a'+i%26)) + "\n\n")
	}
	_, texts, _ := send(t, in.String())
	if got := len(squeeze(strings.Join(texts, ""))); got != 1300 {
		t.Errorf("%d letters arrived, want 1300", got)
	}
	if len(texts) != 1 {
		t.Errorf("got %d parts, want 1", len(texts))
	}
}

func TestCase_T12(t *testing.T) {
	t.Parallel()
	got := one(t, "Use ```go test``` inline.\n\n~~~\n```go\nx\n```\n~~~\n\nafter")
	if want := "Use <code>go test</code> inline.\n\n<pre>```go\nx\n```</pre>\n\nafter"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	in := "a [SEND_FILE: out/my_file [1].pdf] b\n\n[SEND_FILE: `x.png`]\n[SEND_FILE: x.png]\n" +
		"- [SEND_FILE: y.txt]\n\n`[SEND_FILE: no1]`\n```\n[SEND_FILE: no2]\n```\n\n    [SEND_FILE: no3]\n\n" +
		"<div>\n[SEND_FILE: z.txt]\n</div>\n\n[SEND_FILE: ] [SEND_FILE: open"
	doc := markup.Render(in, markup.Options{Files: true})
	if diff := cmp.Diff([]string{"out/my_file [1].pdf", "x.png", "y.txt", "z.txt"}, doc.Files); diff != "" {
		t.Error(diff)
	}
	want := "a  b\n\n[SEND_FILE: no1]\n\n[SEND_FILE: no2]\n\n[SEND_FILE: no3]\n\n<div>\n\n</div>\n\n[SEND_FILE: ] [SEND_FILE: open"
	if diff := cmp.Diff(want, doc.Text()); diff != "" {
		t.Error(diff)
	}
	if got := markup.Render(in, markup.Options{}); len(got.Files) != 0 || !strings.Contains(got.Text(), "[SEND_FILE: x.png]") {
		t.Error("tags were taken without being asked for")
	}
	long := strings.Repeat("[", 2000) + "\n" + in
	if diff := cmp.Diff(doc.Files, markup.Render(long, markup.Options{Files: true}).Files); diff != "" {
		t.Errorf("files of a text that is not parsed: %s", diff)
	}
}

func TestCutKeepsCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301", "한", "각", "1\ufe0f\u20e3", "🏴\U000e0067\U000e0062\U000e007f"} {
		for _, lead := range []string{"", "x", "xy", "xyz"} {
			_, texts, _ := send(t, lead+strings.Repeat(c, 3000))
			for i, text := range texts {
				if i == 0 {
					text = strings.TrimPrefix(text, lead)
				}
				if rest := strings.ReplaceAll(text, c, ""); rest != "" {
					t.Errorf("%q was cut: %q is left in part %d", c, rest, i)
				}
			}
		}
	}
	_, texts, _ := send(t, "a"+strings.Repeat("\u0301", 9000))
	if n := len([]rune(strings.Join(texts, ""))); n != 9001 {
		t.Errorf("%d of 9001 marks arrived", n)
	}
}

func TestLongQuoteFolds(t *testing.T) {
	t.Parallel()
	html, _, _ := send(t, strings.Repeat("> line of a long quote\n", 500))
	for _, h := range html {
		if !strings.HasPrefix(h, "<blockquote expandable>") || !strings.HasSuffix(h, "</blockquote>") {
			t.Errorf("part %.60s is no folded quote", h)
		}
	}
}

func TestLongWordsAndLinks(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		strings.Repeat("x", 50000),
		"[a](https://x.org/" + strings.Repeat("y", 20000) + ")",
		strings.Repeat("[a](https://x.org/"+strings.Repeat("y", 1900)+") ", 50),
		strings.Repeat("`a` ", 900),
		"```go\n" + strings.Repeat(" ", 9000) + "x\n```",
		strings.Repeat("𝔘", 10000),
	} {
		_, texts, _ := send(t, in)
		if len(texts) == 0 {
			t.Errorf("nothing of %.20q arrived", in)
		}
	}
}
