package markup

import (
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// emphasis reads *, _, ~~ and ||. It follows CommonMark's rules for what can
// open and close, and narrows them for _ and ||, which people write in names
// and in code.
type emphasis struct{}

// Trigger returns the bytes that may begin an emphasis.
func (emphasis) Trigger() []byte { return []byte{'*', '_', '~', '|'} }

// Parse reads a run of one of them.
func (emphasis) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, processor(line[0]))
	if d == nil || pair(d.Char) && (d.OriginalLength != 2 || before == rune(d.Char)) {
		return nil
	}
	switch rest := line[d.OriginalLength:]; d.Char {
	case '_', '|':
		narrow(d, before, rest)
	case '*':
		widen(d, before, rest)
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

// narrow takes from d what it can do only inside a name or a path.
func narrow(d *parser.Delimiter, before rune, rest []byte) {
	if joins(before) {
		d.CanOpen = false
	}
	after, size := utf8.DecodeRune(rest)
	if size == 0 {
		return
	}
	next, _ := utf8.DecodeRune(rest[size:])
	switch {
	case letter(after), after == '/', after == '\\', after == '(', after == '@':
		d.CanClose = false
	case (after == '.' || after == '-' || after == ':' || after == '=') && (letter(next) || next == '_' || next == '/'):
		d.CanClose = false
	}
}

// widen lets ** beside a punctuation mark open and close where words are not
// separated by spaces, which CommonMark's rules do not provide for.
func widen(d *parser.Delimiter, before rune, rest []byte) {
	after, _ := utf8.DecodeRune(rest)
	if d.OriginalLength < 2 {
		return
	}
	if unspaced(after) && unicode.IsPunct(before) {
		d.CanClose = true
	}
	if unspaced(before) && unicode.IsPunct(after) {
		d.CanOpen = true
	}
}

// unspaced tells whether r is of a script that is written without spaces.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// joins tells whether what follows r belongs to the same name.
func joins(r rune) bool {
	switch r {
	case '/', '\\', '.', '@', '$', '#', '=', '-', '&', '%':
		return true
	}
	return letter(r)
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// pair tells whether c counts only when it stands twice.
func pair(c byte) bool { return c == '~' || c == '|' }

func processor(c byte) parser.DelimiterProcessor {
	if pair(c) {
		return pairs{hides: c == '|'}
	}
	return delimiters{}
}

// delimiters makes the nodes of * and _.
type delimiters struct{}

// IsDelimiter tells whether b may be part of a run.
func (delimiters) IsDelimiter(b byte) bool { return b == '*' || b == '_' || b == '~' || b == '|' }

// CanOpenCloser tells whether two runs belong together.
func (delimiters) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch returns the node for n delimiters on both sides.
func (delimiters) OnMatch(n int) ast.Node { return ast.NewEmphasis(n) }

// pairs makes the nodes of ~~ and ||.
type pairs struct {
	delimiters
	hides bool
}

// OnMatch returns a node that is struck or hidden.
func (p pairs) OnMatch(int) ast.Node { return &mark{hides: p.hides} }

// mark is struck or hidden text.
type mark struct {
	ast.BaseInline
	hides bool
}

var kindMark = ast.NewNodeKind("Mark")

// Kind returns the kind of node.
func (*mark) Kind() ast.NodeKind { return kindMark }

// Dump prints the node for debugging.
func (m *mark) Dump(source []byte, level int) { ast.DumpHelper(m, source, level, nil, nil) }
