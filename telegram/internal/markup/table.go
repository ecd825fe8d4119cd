package markup

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"golang.org/x/text/width"
)

// table writes a table as aligned monospace text. What cannot stand in
// monospace, the links of its cells, follows below it.
func (w *walker) table(n *east.Table, st style) {
	t := grid{align: n.Alignments}
	var links []span
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			text, found := w.cell(cell)
			cells = append(cells, text)
			links = append(links, found...)
		}
		if extra := w.surplus(row); extra != "" {
			cells = append(cells, extra)
		}
		for len(cells) > 1 && cells[len(cells)-1] == "" {
			cells = cells[:len(cells)-1]
		}
		t.rows = append(t.rows, cells)
	}
	w.code(t.String(), "", st)
	for _, link := range links {
		w.out.ask(kindLine)
		inner := st
		inner.link = link.style.link
		w.out.text(link.text, inner)
	}
}

// cell returns the text of a cell in one line, and its links.
func (w *walker) cell(n ast.Node) (text string, links []span) {
	outer := w.out
	w.out = &builder{}
	w.inlines(n, style{})
	spans := w.out.finish()
	w.out = outer
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
		if s.style.link != "" {
			links = append(links, s)
		}
	}
	return strings.Join(strings.Fields(b.String()), " "), links
}

// surplus returns what a row holds beyond the columns of its table.
func (w *walker) surplus(row ast.Node) string {
	last, ok := row.LastChild().(*east.TableCell)
	if !ok || last.Lines().Len() == 0 {
		return ""
	}
	segment := last.Lines().At(last.Lines().Len() - 1)
	rest := w.source[segment.Stop:]
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	return strings.Trim(string(rest), " \t|")
}

// maxColumn is the width beyond which a cell no longer widens its column: one
// long text must not blow up all rows.
const maxColumn = 40

// grid is a table on its way to text.
type grid struct {
	align []east.Alignment
	rows  [][]string
}

// String draws the table, its first row underlined.
func (g grid) String() string {
	widths := g.widths()
	var b strings.Builder
	for i, row := range g.rows {
		b.WriteString(g.line(row, widths))
		b.WriteByte('\n')
		if i == 0 {
			b.WriteString(rule(widths))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (g grid) widths() []int {
	var widths []int
	for _, row := range g.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 1)
			}
			if n := columns(cell); n <= maxColumn {
				widths[i] = max(widths[i], n)
			}
		}
	}
	return widths
}

const columnGap = " │ "

func (g grid) line(row []string, widths []int) string {
	cells := make([]string, len(row))
	for i, cell := range row {
		space := max(widths[i]-columns(cell), 0)
		left := 0
		if i < len(g.align) {
			switch g.align[i] {
			case east.AlignRight:
				left = space
			case east.AlignCenter:
				left = space / 2
			}
		}
		cells[i] = strings.Repeat(" ", left) + cell + strings.Repeat(" ", space-left)
	}
	return strings.TrimRight(strings.Join(cells, columnGap), " ")
}

func rule(widths []int) string {
	parts := make([]string, len(widths))
	for i, n := range widths {
		parts[i] = strings.Repeat("─", n)
	}
	return strings.Join(parts, "─┼─")
}

// columns returns the width of s in a monospace font.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case extends(r) || unicode.Is(unicode.Cf, r):
		case wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func wide(r rune) bool {
	k := width.LookupRune(r).Kind()
	return k == width.EastAsianWide || k == width.EastAsianFullwidth
}
