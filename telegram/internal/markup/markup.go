// Package markup turns the Markdown of a model into messages that Telegram
// accepts.
//
// Render parses the text with a real Markdown parser (CommonMark with GitHub's
// tables, task lists, strikethrough and bare links, and besides footnotes and
// ||spoilers||) and flattens the tree into spans: visible text, each with the
// formatting of all its ancestors. Document.Parts cuts the spans into messages
// and writes each as Telegram's HTML. Because tags are written from the
// formatting of the spans and never cut from a finished text, every part is
// well-formed by itself, whatever the model wrote.
//
// Three things differ from CommonMark on purpose: underscores and bars beside
// letters, slashes and dots are never formatting, so that identifiers survive
// (pkg/__init__.py); a line break stays a line break; and what a renderer for
// the web would swallow (raw HTML, unused link definitions, surplus table
// cells) is shown as text, since nothing of an answer may get lost.
package markup

import (
	"strings"
	"unicode/utf8"
)

// MaxSource is the longest text, in bytes, that is parsed as Markdown. A longer
// one is shown as it is, and is better sent as a file.
const MaxSource = 256 << 10

// Document is a rendered text.
type Document struct {
	// Files are the paths of the [SEND_FILE: path] tags outside code, in
	// order, each once. The tags are not part of the text.
	Files []string

	spans []span
}

// Options are the choices of Render.
type Options struct {
	Files bool // take [SEND_FILE: path] tags out of the text
}

// Render parses source. It never fails: text that would cost too much to parse,
// or that the parser cannot stand, is shown as it is.
func Render(source string, opts Options) (doc Document) {
	source = clean(source)
	defer func() {
		if recover() != nil {
			doc = plain(source, opts)
		}
	}()
	if len(source) > MaxSource || costly(source) {
		return plain(source, opts)
	}
	w := newWalker([]byte(source+"\n"), opts) // the parser needs a whole last line
	w.document()
	return Document{Files: w.files, spans: w.out.finish()}
}

// Plain returns source as a document without any formatting.
func Plain(source string) Document { return plain(clean(source), Options{}) }

func plain(source string, opts Options) Document {
	var files []string
	if opts.Files {
		source, files = takeTags(source)
	}
	var b builder
	b.text(source, style{})
	return Document{Files: files, spans: b.finish()}
}

// clean makes source valid UTF-8 with plain line ends.
func clean(source string) string {
	source = strings.ToValidUTF8(source, string(utf8.RuneError))
	source = strings.ReplaceAll(source, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch r {
		case '\r':
			return '\n'
		case 0:
			return utf8.RuneError
		}
		return r
	}, source)
}
