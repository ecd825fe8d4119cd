package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What Telegram takes in one message. The first is of the text after parsing,
// in UTF-16 units; the second, of the HTML, is not in its documentation, and a
// message of four-byte characters with markup needs less.
const (
	maxUnits    = 4096
	maxBytes    = 12 << 10
	maxEntities = 100 // more are dropped without a word
)

// Part is one message.
type Part struct {
	HTML string // for parse mode HTML
	Text string // the same without formatting, for when the HTML is refused
}

// Parts cuts the document into messages. Their texts, joined, are the text of
// the document but for white space where it was cut. A document without text
// has none.
func (d Document) Parts() []Part {
	tokens := d.tokens()
	var parts []Part
	for len(tokens) > 0 {
		n := 0
		for n < len(tokens) && tokens[n].leading() {
			n++
		}
		tokens = tokens[n:]
		var now []token
		now, tokens = cut(tokens)
		for len(now) > 0 && now[len(now)-1].blank() {
			now = now[:len(now)-1]
		}
		if seen(now) {
			parts = append(parts, Part{HTML: write(now), Text: visible(now)})
		}
	}
	return parts
}

// seen tells whether a message would show anything: Telegram refuses one that
// does not.
func seen(tokens []token) bool {
	for _, t := range tokens {
		if strings.IndexFunc(t.text, func(r rune) bool {
			return !unicode.IsSpace(r) && !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r)
		}) >= 0 {
			return true
		}
	}
	return false
}

// Text returns the text of the document without formatting.
func (d Document) Text() string {
	var b strings.Builder
	for _, s := range d.spans {
		b.WriteString(s.text)
	}
	return b.String()
}

func visible(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
	}
	return b.String()
}

// token is a word, or a gap between words: the smallest piece that stays whole
// if it can.
type token struct {
	text  string
	kind  kind
	pre   bool
	paint *painted
}

// blank tells whether t is not visible at the end of a message.
func (t token) blank() bool { return t.kind != kindText }

// leading tells whether t is not wanted at the start of a message. The
// indentation of code is.
func (t token) leading() bool { return t.blank() && (t.kind != kindSpace || !t.pre) }

// Quotes longer than this are folded by the client.
const (
	foldUnits = 700
	foldLines = 10
)

func (d Document) tokens() []token {
	p := &palette{expandable: d.folded(), known: map[style]*painted{}}
	var list []token
	for _, s := range d.spans {
		paint := p.paint(s.style)
		if s.kind != kindText {
			list = append(list, token{s.text, s.kind, s.style.pre, paint})
			continue
		}
		for text := s.text; text != ""; {
			n, k := word(text)
			list = append(list, token{text[:n], k, s.style.pre, paint})
			text = text[n:]
		}
	}
	return list
}

// folded tells which quotes are long.
func (d Document) folded() map[int]bool {
	size, height := map[int]int{}, map[int]int{}
	for _, s := range d.spans {
		if q := s.style.quote; q != 0 {
			size[q] += units(s.text)
			height[q] += strings.Count(s.text, "\n")
		}
	}
	long := map[int]bool{}
	for q := range size {
		long[q] = size[q] > foldUnits || height[q] >= foldLines
	}
	return long
}

// word returns the length and kind of the first word, or gap, of a line.
func word(s string) (int, kind) {
	first, _ := utf8.DecodeRuneInString(s)
	gap := unicode.IsSpace(first)
	end := strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) != gap })
	if end < 0 {
		end = len(s)
	}
	if gap {
		return end, kindSpace
	}
	return end, kindText
}

// gauge measures a message that grows.
type gauge struct {
	open     *painted
	bytes    int // of text and tags, without those that close what is open
	units    int
	entities int
}

func (g *gauge) add(t token) {
	keep := shared(g.open, t.paint)
	for _, e := range g.open.list[keep:] {
		g.bytes += len(e.close)
	}
	for _, e := range t.paint.list[keep:] {
		g.bytes += len(e.open)
		if !e.plain {
			g.entities++
		}
	}
	g.open = t.paint
	g.bytes += escapedLen(t.text)
	g.units += units(t.text)
}

func (g *gauge) fits() bool {
	closing := 0
	for _, e := range g.open.list {
		closing += len(e.close)
	}
	return g.bytes+closing <= maxBytes && g.units <= maxUnits && g.entities <= maxEntities
}

// cut takes the next message off tokens. It prefers to end at a block, then a
// line, then a word, unless the message would be very short.
func cut(tokens []token) (now, rest []token) {
	g := gauge{open: bare}
	var best [kindBlock + 1]boundary
	n := 0
	for ; n < len(tokens); n++ {
		next := g
		next.add(tokens[n])
		if !next.fits() {
			break
		}
		best[tokens[n].kind] = boundary{n + 1, g.share()}
		g = next
	}
	if n == len(tokens) {
		return tokens, nil
	}
	if tokens[n].blank() { // the message ends right before a gap
		best[tokens[n].kind] = boundary{n, g.share()}
	}
	for k, least := range atLeast {
		if b := best[kindBlock-kind(k)]; b.at > 0 && b.share >= least {
			return tokens[:b.at], tokens[b.at:]
		}
	}
	return divide(tokens, n, g)
}

// boundary is a place for a cut, and how full a message it makes, from 0 to 1.
type boundary struct {
	at    int
	share float64
}

// atLeast is how full a message must be to be cut at a block, a line, a gap
// that holds two things together, a word.
var atLeast = [...]float64{0.25, 0.25, 0.5, 0.25}

// share tells how full the message is.
func (g *gauge) share() float64 {
	return max(float64(g.units)/maxUnits, float64(g.bytes)/maxBytes, float64(g.entities)/maxEntities)
}

// divide cuts inside token n, between characters; inside a character only if
// it alone is longer than a message.
func divide(tokens []token, n int, g gauge) (now, rest []token) {
	t := tokens[n]
	size := fill(t, g, cluster)
	if size == 0 && n == 0 {
		size = fill(t, g, func(s string) int { _, k := utf8.DecodeRuneInString(s); return k })
	}
	if size == 0 {
		return tokens[:n], tokens[n:]
	}
	head, tail := t, t
	head.text, tail.text = t.text[:size], t.text[size:]
	now = append(tokens[:n:n], head)
	rest = append([]token{tail}, tokens[n+1:]...)
	return now, rest
}

// fill returns how much of t still fits, by steps.
func fill(t token, g gauge, step func(string) int) int {
	size := 0
	for size < len(t.text) {
		k := step(t.text[size:])
		next := g
		piece := t
		piece.text = t.text[size : size+k]
		next.add(piece)
		if !next.fits() {
			break
		}
		g = next
		size += k
	}
	return size
}
