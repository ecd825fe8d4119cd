package markup

import "strings"

// span is a piece of visible text with its formatting.
type span struct {
	text  string
	style style
	kind  kind
}

// kind tells text from the gaps between texts, where a cut is welcome.
type kind uint8

const (
	kindText  kind = iota
	kindSpace      // white space inside a line
	kindGlue       // a gap whose sides should stay together, as after a heading
	kindLine       // a line end
	kindBlock      // the gap between two blocks
)

// style is the formatting of a span, from all its ancestors.
type style struct {
	bold, italic, strike, spoiler bool
	code, pre                     bool
	lang                          string // of pre
	link                          string
	quote                         int // the block quote it belongs to; 0 is none
}

// gap is the formatting of white space between spans of one quote.
func (s style) gap() style { return style{quote: s.quote} }

// settle solves what Telegram does not allow together: code holds and is part
// of nothing but a quote. What hides text goes before what only decorates it.
func (s style) settle() style {
	if s.code && (s.spoiler || s.link != "") {
		s.code = false
	}
	if s.code || s.pre {
		s.bold, s.italic, s.strike, s.spoiler, s.link = false, false, false, false, ""
	}
	return s
}

// indent is what stands before the lines of a list item or an inner quote.
type indent struct {
	first, rest string
	used        bool
}

// builder collects spans. Gaps are asked for before it is known whether
// anything follows, and are written only when it does.
type builder struct {
	spans   []span
	pending kind
	within  style // of a pending line end: the formatting it stands in
	indents []*indent
	started bool // something was written since the last line end
}

// ask asks for a gap before the next text; the widest one asked for wins.
func (b *builder) ask(k kind) {
	if k > b.pending && b.pending != kindGlue || k == kindGlue {
		b.pending, b.within = k, style{}
	}
}

// soft asks for a line end in the middle of a paragraph.
func (b *builder) soft(st style) {
	if b.pending < kindLine {
		b.pending, b.within = kindLine, st.settle()
	}
}

// text writes s, which may hold line ends.
func (b *builder) text(s string, st style) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.newline(st)
		}
		if line != "" {
			b.open(st)
			b.add(span{text: line, style: st.settle()})
		}
	}
}

// newline ends a line inside a block.
func (b *builder) newline(st style) {
	b.flush(st)
	end := st.gap()
	if st.pre {
		end = st.settle()
	}
	b.add(span{text: "\n", style: end, kind: kindLine})
	b.started = false
}

// open readies the line for text.
func (b *builder) open(st style) {
	b.flush(st)
	if b.started {
		return
	}
	b.started = true
	if st.pre {
		return
	}
	var lead strings.Builder
	for _, in := range b.indents {
		if in.used {
			lead.WriteString(in.rest)
			continue
		}
		lead.WriteString(in.first)
		in.used = true
	}
	if lead.Len() > 0 {
		b.add(span{text: lead.String(), style: st.gap()})
	}
}

// flush writes the pending gap.
func (b *builder) flush(st style) {
	k := b.pending
	b.pending = kindText
	if k == kindText || len(b.spans) == 0 {
		return
	}
	between := style{}
	switch last := b.spans[len(b.spans)-1].style; {
	case b.within != style{} && b.within == last && last == st.settle():
		between = last
	case last.quote == st.quote:
		between = st.gap()
	}
	text := "\n\n"
	if k == kindLine {
		text = "\n"
	}
	b.add(span{text: text, style: between, kind: k})
	b.started = false
}

func (b *builder) add(s span) {
	if n := len(b.spans); n > 0 && s.kind == kindText && b.spans[n-1].kind == kindText && b.spans[n-1].style == s.style {
		b.spans[n-1].text += s.text
		return
	}
	b.spans = append(b.spans, s)
}

// push adds an indentation for what follows.
func (b *builder) push(first, rest string) {
	b.indents = append(b.indents, &indent{first: first, rest: rest})
}

// pop ends the innermost indentation. One that was never shown is shown now.
func (b *builder) pop(st style) {
	last := b.indents[len(b.indents)-1]
	if !last.used {
		last.first = strings.TrimRight(last.first, " ")
		b.marker(st)
	}
	b.indents = b.indents[:len(b.indents)-1]
}

// drop ends the innermost indentation without showing it.
func (b *builder) drop() { b.indents = b.indents[:len(b.indents)-1] }

// marker shows an indentation on a line of its own if it has not been shown:
// what follows cannot stand on its line.
func (b *builder) marker(st style) {
	for _, in := range b.indents {
		if !in.used && strings.TrimSpace(in.first) != "" {
			b.open(style{quote: st.quote})
			last := &b.spans[len(b.spans)-1]
			last.text = strings.TrimRight(last.text, " ")
			b.ask(kindLine)
			return
		}
	}
}

func (b *builder) finish() []span { return b.spans }
