package fakebotapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/fakebotapi"
)

func TestParseHTML(t *testing.T) {
	t.Parallel()
	text, entities, err := fakebotapi.ParseHTML(`😀<b>x <i>y</i></b> &lt;&#65;&amp; <a href="https://x.org/?a=1&amp;b">l</a>` +
		`<blockquote expandable><pre><code class="language-go">z</code></pre></blockquote><span class="tg-spoiler">s</span>`)
	if err != nil {
		t.Fatal(err)
	}
	if text != "😀x y <A& lzs" {
		t.Errorf("text %q", text)
	}
	want := []fakebotapi.Entity{
		{Type: "italic", Offset: 4, Length: 1},
		{Type: "bold", Offset: 2, Length: 3},
		{Type: "text_link", Offset: 10, Length: 1, URL: "https://x.org/?a=1&b"},
		{Type: "pre", Offset: 11, Length: 1, Language: "go"},
		{Type: "expandable_blockquote", Offset: 11, Length: 1},
		{Type: "spoiler", Offset: 12, Length: 1},
	}
	if diff := cmp.Diff(want, entities); diff != "" {
		t.Error(diff)
	}
}

func TestParseHTMLRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"<b>x":                               "can't find end tag",
		"x</b>":                              "unexpected end tag",
		"<b><i>x</b></i>":                    "unmatched end tag",
		"<p>x</p>":                           `unsupported start tag "p"`,
		"a < b":                              "unclosed start tag",
		"a > b":                              "must be escaped",
		"a & b":                              "must be escaped",
		"&nbsp;":                             "must be escaped",
		"<a>x</a>":                           "href",
		`<a href=x>x</a>`:                    "unquoted",
		`<a href="x" title="y">x</a>`:        "unsupported attribute",
		`<a href="a&b">x</a>`:                "unescaped '&'",
		"<code><b>x</b></code>":              "can't be part of",
		"<b><code>x</code></b>":              "can't be part of",
		"<pre><i>x</i></pre>":                "can't be part of",
		`<span class="x">x</span>`:           "tg-spoiler",
		`<code class="language-go">x</code>`: "inside a",
		"<blockquote><blockquote>x</blockquote></blockquote>": "can't be nested",
		"\xff": "UTF-8",
	} {
		_, _, err := fakebotapi.ParseHTML(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", in, err, want)
		}
	}
}
