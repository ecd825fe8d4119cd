package markup

import (
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
)

// The numbers are the precedence of each syntax: lower comes first. Those of
// CommonMark and GitHub are the parser library's own.
const (
	precedenceTag      = 50  // before links
	precedenceFootnote = 101 // before links
	precedenceEmphasis = 500
	precedenceNote     = 999
)

func newParser(opts Options) parser.Parser {
	inline := []util.PrioritizedValue{
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(footnoteMark{}, precedenceFootnote),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewRawHTMLParser(), 400),
		util.Prioritized(emphasis{}, precedenceEmphasis),
		util.Prioritized(extension.NewLinkifyParser(), 999),
	}
	if opts.Files {
		inline = append(inline, util.Prioritized(tagParser{}, precedenceTag))
	}
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithBlockParsers(util.Prioritized(footnoteText{}, precedenceNote)),
		parser.WithInlineParsers(inline...),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200),
		),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}
