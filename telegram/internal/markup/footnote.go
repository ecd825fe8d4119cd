package markup

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxLabel is the longest label of a footnote, as of CommonMark's links.
const maxLabel = 999

// footnoteLabel reads [^label] at the start of line and returns the label and
// the length of all of it, or 0.
func footnoteLabel(line []byte) (label []byte, size int) {
	rest, ok := bytes.CutPrefix(line, []byte("[^"))
	if !ok {
		return nil, 0
	}
	end := bytes.IndexAny(rest[:min(len(rest), maxLabel)], "]\n[")
	if end < 1 || rest[end] != ']' || len(bytes.TrimSpace(rest[:end])) == 0 {
		return nil, 0
	}
	return rest[:end], end + len("[^]")
}

// footnoteMark reads a reference to a footnote, whether its text exists or not.
type footnoteMark struct{}

// Trigger returns the byte that begins one.
func (footnoteMark) Trigger() []byte { return []byte{'['} }

// Parse shows [^label] as [label].
func (footnoteMark) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	label, size := footnoteLabel(line)
	if size == 0 {
		return nil
	}
	block.Advance(size)
	shown := ast.NewString([]byte("[" + string(label) + "]"))
	shown.SetCode(true)
	return shown
}

// footnoteText reads the text of a footnote, [^label]: and what follows. It is
// shown where it stands.
type footnoteText struct{}

// footnote is its node.
type footnote struct {
	ast.BaseBlock
	label []byte
}

var kindFootnote = ast.NewNodeKind("Note")

// Kind returns the kind of node.
func (*footnote) Kind() ast.NodeKind { return kindFootnote }

// Dump prints the node for debugging.
func (f *footnote) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// Trigger returns the byte that begins one.
func (footnoteText) Trigger() []byte { return []byte{'['} }

// Open begins a footnote's text.
func (footnoteText) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	pos := pc.BlockOffset()
	if pos < 0 || segment.Padding != 0 {
		return nil, parser.NoChildren
	}
	label, size := footnoteLabel(line[pos:])
	pos += size
	if size == 0 || pos >= len(line) || line[pos] != ':' {
		return nil, parser.NoChildren
	}
	reader.Advance(pos + 1)
	return &footnote{label: bytes.Clone(label)}, parser.HasChildren
}

// footnoteIndent is how far the later paragraphs of a footnote stand in.
const footnoteIndent = 4

// Continue tells whether a further line belongs to the footnote.
func (footnoteText) Continue(_ ast.Node, reader text.Reader, _ parser.Context) parser.State {
	line, _ := reader.PeekLine()
	if len(bytes.TrimSpace(line)) == 0 {
		return parser.Continue | parser.HasChildren
	}
	if !bytes.HasPrefix(line, bytes.Repeat([]byte(" "), footnoteIndent)) {
		return parser.Close
	}
	reader.Advance(footnoteIndent)
	return parser.Continue | parser.HasChildren
}

// Close does nothing.
func (footnoteText) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph tells that a footnote needs no empty line before it.
func (footnoteText) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine tells that an indented line is code.
func (footnoteText) CanAcceptIndentedLine() bool { return false }
