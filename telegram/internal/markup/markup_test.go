package markup_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/telegram/internal/markup"
)

func TestRender(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"paragraphs", "one\ntwo\n\nthree", "one\ntwo\n\nthree"},
		{"emphasis", "**b** *i* __b__ _i_ ~~s~~ ||h||", "<b>b</b> <i>i</i> <b>b</b> <i>i</i> <s>s</s> <tg-spoiler>h</tg-spoiler>"},
		{"both", "***x***", "<b><i>x</i></b>"},
		{"bold over lines", "**a\nb**", "<b>a\nb</b>"},
		{"escapes", `\*a\* &lt;b&gt; & < > "q" \&amp;`, `*a* &lt;b&gt; &amp; &lt; &gt; &quot;q&quot; &amp;amp;`},
		{"code", "a `b<c` d", "a <code>b&lt;c</code> d"},
		{"code in bold", "**run `go` now**", "<b>run </b><code>go</code><b> now</b>"},
		{"code in link", "[`go`](https://go.dev)", `<a href="https://go.dev">go</a>`},
		{"code in spoiler", "||`go`||", `<tg-spoiler>go</tg-spoiler>`},
		{"fence", "x\n```go\na < b\n\n\tc\n```\ny", "x\n\n<pre><code class=\"language-go\">a &lt; b\n\n\tc</code></pre>\n\ny"},
		{"fence with more", "```c++ title=\"x.cc\"\nint i;\n```", "title=&quot;x.cc&quot;\n<pre><code class=\"language-c++\">int i;</code></pre>"},
		{"fence without end", "```\na", "<pre>a</pre>"},
		{"empty fence", "a\n\n```\n```\n\nb", "a\n\nb"},
		{"indented", "a\n\n    b\n", "a\n\n<pre>b</pre>"},
		{"heading", "# T `c`\ntext", "<b>T </b><code>c</code>\n\ntext"},
		{"setext", "T\n===\n\nx", "<b>T</b>\n\nx"},
		{"rule", "a\n\n---\n\nb", "a\n\n──────────\n\nb"},
		{"list", "- a\n- b\n  - c\n    - d\n\n3. x\n4. y", "• a\n• b\n  ◦ c\n    ▪ d\n\n3. x\n4. y"},
		{"loose list", "- a\n\n- b", "• a\n\n• b"},
		{"list of lists", "- - a\n- b", "• ◦ a\n• b"},
		{"list item with code", "1. do\n   ```sh\n   ls\n   ```\n2. next", "1. do\n\n<pre><code class=\"language-sh\">ls</code></pre>\n2. next"},
		{"list item of code", "- ```\n  x\n  ```", "•\n<pre>x</pre>"},
		{"empty item", "1.\n2. b", "1.\n2. b"},
		{"item lines", "- a\n  b", "• a\n  b"},
		{"tasks", "- [x] done\n- [ ] open", "☑ done\n☐ open"},
		{"quote", "> a\n> **b**\n\nc", "<blockquote>a\n<b>b</b></blockquote>\n\nc"},
		{"quotes join", "> a\n\n> b", "<blockquote>a\n\nb</blockquote>"},
		{"inner quote", "> a\n>> b\n>> c", "<blockquote>a\n\n&gt; b\n&gt; c</blockquote>"},
		{"quote with code", "> ```\n> x\n> ```", "<blockquote><pre>x</pre></blockquote>"},
		{"link", "[a *b*](https://x.org/?a=1&b=\"2\")", `a <i>b</i> (https://x.org/?a=1&amp;b=&quot;2&quot;)`},
		{"link ok", "[a *b*](https://x.org/?a=1&b=2)", `<a href="https://x.org/?a=1&amp;b=2">a <i>b</i></a>`},
		{"link title", "[a](https://x.org \"t\")", `<a href="https://x.org">a</a> (t)`},
		{"link empty", "[](https://x.org)", `<a href="https://x.org">https://x.org</a>`},
		{"link elsewhere", "[a](docs/x.md) [b](http://localhost:80) [c](javascript:x)", `a (docs/x.md) b (http://localhost:80) c (javascript:x)`},
		{"image", "![alt](https://x.org/i.png)", `<a href="https://x.org/i.png">alt</a>`},
		{"badge", "[![b](https://x.org/i.png)](https://x.org)", `<a href="https://x.org">b (https://x.org/i.png)</a>`},
		{"bare link", "see https://x.org/a_b_c_ and <https://y.org>", "see https://x.org/a_b_c_ and https://y.org"},
		{"reference", "[a][1] and [b]\n\n[1]: https://x.org\n[b]: https://y.org", `<a href="https://x.org">a</a> and <a href="https://y.org">b</a>`},
		{"sources", "text [1]\n\n[2]: https://y.org\n[3]: https://z.org \"Z\"", "text [1]\n\n[2]: https://y.org\n[3]: https://z.org &quot;Z&quot;"},
		{"html", "<div>\n<b>x</b>\n</div>\n\na <br> <i>b</i>", "&lt;div&gt;\n&lt;b&gt;x&lt;/b&gt;\n&lt;/div&gt;\n\na &lt;br&gt; &lt;i&gt;b&lt;/i&gt;"},
		{"footnotes", "a[^1] b[^n]\n\n[^1]: one\n[^n]: two\n    more\n", "a[1] b[n]\n\n[1] one\n[n] two\nmore"},
		{"table", "| a | bb |\n|--:|:-:|\n| 1 | x |\n| 22 | 日本 | extra |", "<pre> a │  bb\n───┼──────┼──────\n 1 │  x\n22 │ 日本 │ extra</pre>"},
		{"table with link", "|a|\n|-|\n|[l](https://x.org) **b** `c\\|d`|", "<pre>a\n───────\nl b c|d</pre>\n<a href=\"https://x.org\">l</a>"},
		{"spoiler not code", "if a || b || c", "if a || b || c"},
		{"tilde", "~5 and ~6, ~a~", "~5 and ~6, ~a~"},
		{"names", "a_b_c __init__.py /__x__/ _id = self._name", "a_b_c __init__.py /__x__/ _id = self._name"},
		{"no spaces between words", "这是**重点。**然后", "这是<b>重点。</b>然后"},
		{"nothing", " \n\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var parts []string
			for _, p := range markup.Render(test.in, markup.Options{}).Parts() {
				parts = append(parts, p.HTML)
			}
			if diff := cmp.Diff(test.want, strings.Join(parts, "\n--\n")); diff != "" {
				t.Errorf("Render(%q) (-want +got):\n%s", test.in, diff)
			}
		})
	}
}
