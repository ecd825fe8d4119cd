package markup

import "strings"

// element is one tag around text.
type element struct {
	open, close string
	plain       bool // it makes no entity of its own
}

// elements returns the tags of a style, outermost first. The order is fixed,
// so that neighbours share as many as they can.
func (s style) elements(expandable map[int]bool) []element {
	var list []element
	if s.quote != 0 {
		open := "<blockquote>"
		if expandable[s.quote] {
			open = "<blockquote expandable>"
		}
		list = append(list, element{open: open, close: "</blockquote>"})
	}
	if s.pre {
		list = append(list, element{open: "<pre>", close: "</pre>"})
		if s.lang != "" {
			list = append(list, element{open: `<code class="language-` + s.lang + `">`, close: "</code>", plain: true})
		}
	}
	if s.link != "" {
		list = append(list, element{open: `<a href="` + escape(s.link) + `">`, close: "</a>"})
	}
	for _, m := range []struct {
		on   bool
		name string
	}{{s.bold, "b"}, {s.italic, "i"}, {s.strike, "s"}, {s.spoiler, "tg-spoiler"}, {s.code, "code"}} {
		if m.on {
			list = append(list, element{open: "<" + m.name + ">", close: "</" + m.name + ">"})
		}
	}
	return list
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escape(s string) string { return escaper.Replace(s) }

// escapedLen is len(escape(s)).
func escapedLen(s string) int {
	n := len(s)
	for i := range len(s) {
		switch s[i] {
		case '&':
			n += len("&amp;") - 1
		case '<', '>':
			n += len("&lt;") - 1
		case '"':
			n += len("&quot;") - 1
		}
	}
	return n
}

// palette remembers the tags of each style of a document.
type palette struct {
	expandable map[int]bool
	known      map[style]*painted
}

// painted is a style's tags. Styles are compared by the address of their
// painted, which is one for each style.
type painted struct{ list []element }

func (p *palette) paint(s style) *painted {
	if known, ok := p.known[s]; ok {
		return known
	}
	made := &painted{s.elements(p.expandable)}
	p.known[s] = made
	return made
}

// shared returns how many of the outermost tags of a and b are the same and
// may stay open between them.
func shared(a, b *painted) int {
	if a == b {
		return len(a.list)
	}
	n := 0
	for n < len(a.list) && n < len(b.list) && a.list[n] == b.list[n] {
		n++
	}
	return n
}

var bare = &painted{}

// write renders tokens as HTML.
func write(tokens []token) string {
	var b strings.Builder
	open := bare
	for _, t := range tokens {
		keep := shared(open, t.paint)
		for i := len(open.list) - 1; i >= keep; i-- {
			b.WriteString(open.list[i].close)
		}
		for _, e := range t.paint.list[keep:] {
			b.WriteString(e.open)
		}
		open = t.paint
		b.WriteString(escape(t.text))
	}
	for i := len(open.list) - 1; i >= 0; i-- {
		b.WriteString(open.list[i].close)
	}
	return b.String()
}
