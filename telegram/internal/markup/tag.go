package markup

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const tagStart = "[SEND_FILE:"

// maxTag is the longest tag, in bytes.
const maxTag = 4096

// readTag reads a [SEND_FILE: path] tag at the start of s, and returns its
// length, or 0. Brackets in the path must be balanced.
func readTag(s string) (path string, size int) {
	rest, ok := strings.CutPrefix(s, tagStart)
	if !ok {
		return "", 0
	}
	depth := 1
	for i := 0; i < len(rest) && i < maxTag; i++ {
		switch rest[i] {
		case '\n':
			return "", 0
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth == 0 {
			path = strings.Trim(strings.TrimSpace(rest[:i]), "`\"'")
			if path == "" || strings.ContainsAny(path, "<>") { // the second is talk about tags
				return "", 0
			}
			return path, len(tagStart) + i + 1
		}
	}
	return "", 0
}

// cutTags takes all tags out of s.
func cutTags(s string) (rest string, files []string) {
	var b strings.Builder
	for {
		i := strings.Index(s, tagStart)
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		path, size := readTag(s[i:])
		if size == 0 {
			b.WriteString(tagStart)
			size = len(tagStart)
		} else {
			files = append(files, path)
		}
		s = s[i+size:]
	}
	b.WriteString(s)
	return b.String(), files
}

// takeTags takes the tags out of a text that is too costly to parse, line by
// line: fenced blocks, indented lines and lines with a code span keep theirs.
func takeTags(s string) (rest string, files []string) {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(s) {
		mark := fenceMark(line)
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark {
				fence = ""
			}
		case mark != "":
			fence = mark
		case !strings.Contains(line, "`") && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t"):
			var found []string
			line, found = cutTags(line)
			files = append(files, found...)
		}
		b.WriteString(line)
	}
	return b.String(), unique(files)
}

// fenceMark returns the run of ` or ~ that makes line a fence, or nothing.
func fenceMark(line string) string {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 || s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 || s[0] == '`' && strings.Contains(s[n:], "`") {
		return ""
	}
	return s[:n]
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var kept []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			kept = append(kept, s)
		}
	}
	return kept
}

// tag is the node of a file tag.
type tag struct {
	ast.BaseInline
	path string
}

var kindTag = ast.NewNodeKind("SendFile")

// Kind returns the kind of node.
func (*tag) Kind() ast.NodeKind { return kindTag }

// Dump prints the node for debugging.
func (t *tag) Dump(source []byte, level int) { ast.DumpHelper(t, source, level, nil, nil) }

// tagParser reads file tags where Markdown has text, so that code, of all
// kinds, keeps them.
type tagParser struct{}

// Trigger returns the byte that begins one.
func (tagParser) Trigger() []byte { return []byte{'['} }

// Parse reads a tag.
func (tagParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if len(line) < len(tagStart) {
		return nil
	}
	path, size := readTag(string(line[:min(len(line), maxTag)]))
	if size == 0 {
		return nil
	}
	block.Advance(size)
	return &tag{path: path}
}
