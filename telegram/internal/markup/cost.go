package markup

import "strings"

// The Markdown parser needs quadratic time for some inputs that no person
// writes but that a model, or who feeds it, can. A text beyond one of these
// counts, all outside fenced code, is not parsed. Each is far above what is
// met in answers, and keeps the worst case at about a second for the longest
// text.
const (
	maxBrackets  = 1000  // in one paragraph: every one may begin a link
	maxMarks     = 3000  // in one paragraph: every one may open or close emphasis
	maxNested    = 50    // list and quote markers at the start of one line
	maxIndent    = 200   // bytes of white space before a line
	maxCells     = 20000 // of all tables, as each row is filled up to its table's columns
	maxReferring = 5000  // lines that may define a link
	maxAddresses = 1000  // bare links in one line
)

// census counts what is costly.
type census struct {
	fence     string
	brackets  int
	marks     int
	columns   int // of the table that the paragraph may be
	cells     int
	referring int
}

// costly tells whether source is too expensive to parse.
func costly(source string) bool {
	var c census
	for line := range strings.Lines(source) {
		if c.code(line) {
			continue
		}
		if c.line(line) {
			return true
		}
	}
	return false
}

// code tells whether line is part of fenced code.
func (c *census) code(line string) bool {
	mark := fenceMark(line)
	if c.fence == "" {
		c.fence = mark
		return mark != ""
	}
	if strings.HasPrefix(mark, c.fence) && strings.TrimSpace(line) == mark {
		c.fence = ""
	}
	return true
}

// line counts one line and tells whether that was too much.
func (c *census) line(line string) bool {
	text := strings.TrimSpace(line)
	if text == "" {
		c.brackets, c.marks, c.columns = 0, 0, 0
		return len(line) > maxIndent*4
	}
	if strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "* ") || strings.HasPrefix(text, "+ ") {
		c.brackets, c.marks = 0, 0 // a list item is a paragraph of its own
	}
	c.brackets += strings.Count(text, "[")
	for _, mark := range []string{"*", "_", "~", "|"} {
		c.marks += strings.Count(text, mark)
	}
	if strings.Trim(text, "|:- \t") == "" {
		c.columns = max(c.columns, strings.Count(text, "|")+1)
	}
	if c.columns > 0 {
		c.marks = 0 // the cells of a table are parsed each by itself
		c.cells += c.columns
	}
	if text[0] == '[' {
		c.referring++
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	return c.brackets > maxBrackets || c.marks > maxMarks || c.cells > maxCells ||
		c.referring > maxReferring || strings.Count(text, "://") > maxAddresses || indent > maxIndent || nesting(text) > maxNested
}

// nesting counts the markers of lists and quotes at the start of a line.
func nesting(s string) int {
	n := 0
	for s != "" {
		switch {
		case s[0] == '>' || s[0] == ' ' || s[0] == '\t':
			if s[0] == '>' {
				n++
			}
			s = s[1:]
		case len(s) > 1 && strings.ContainsRune("-+*", rune(s[0])) && (s[1] == ' ' || s[1] == '\t'):
			n++
			s = s[2:]
		default:
			rest := strings.TrimLeft(s, "0123456789")
			if len(rest) == len(s) || len(rest) < 2 || rest[0] != '.' && rest[0] != ')' || rest[1] != ' ' {
				return n
			}
			n++
			s = rest[2:]
		}
	}
	return n
}
