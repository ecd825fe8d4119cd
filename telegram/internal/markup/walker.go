package markup

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// walker goes over the tree of one document and writes its spans.
type walker struct {
	source []byte
	opts   Options
	root   ast.Node
	out    *builder
	files  []string
	used   map[string]bool // link definitions that a link refers to
	quotes int             // block quotes so far
	tags   int             // file tags so far
}

func newWalker(source []byte, opts Options) *walker {
	w := &walker{source: source, opts: opts, out: &builder{}, used: map[string]bool{}}
	w.root = newParser(opts).Parse(text.NewReader(source))
	return w
}

// document writes everything.
func (w *walker) document() {
	w.references(w.root)
	w.blocks(w.root, style{}, 0)
}

// references notes which link definitions are used.
func (w *walker) references(n ast.Node) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			w.refer(n.Reference)
		case *ast.Image:
			w.refer(n.Reference)
		}
		return ast.WalkContinue, nil
	})
}

func (w *walker) refer(r *ast.ReferenceLink) {
	if r != nil {
		w.used[labelKey(r.Value)] = true
	}
}

func labelKey(label []byte) string {
	return strings.ToLower(strings.Join(strings.Fields(string(label)), " "))
}

// blocks writes the blocks in n. depth counts the lists around them.
func (w *walker) blocks(n ast.Node, st style, depth int) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		w.block(child, st, depth)
	}
}

// block writes one block with the gaps around it.
func (w *walker) block(n ast.Node, st style, depth int) {
	w.out.ask(gapBefore(n))
	w.content(n, st, depth)
	w.out.ask(kindLine)
}

func (w *walker) content(n ast.Node, st style, depth int) {
	switch n := n.(type) {
	case *ast.Heading:
		st.bold = true
		w.inlines(n, st)
		w.out.ask(kindGlue)
	case *ast.Blockquote:
		w.quote(n, st, depth)
	case *ast.List:
		w.list(n, st, depth)
	case *ast.FencedCodeBlock:
		w.fence(n, st)
	case *ast.CodeBlock:
		w.code(lines(n, w.source), "", st)
	case *ast.HTMLBlock:
		w.html(n, st)
	case *ast.ThematicBreak:
		w.out.text("──────────", st)
	case *ast.LinkReferenceDefinition:
		w.definition(n, st)
	case *east.Table:
		w.table(n, st)
	case *footnote:
		w.footnote(n, st, depth)
	default:
		w.inlines(n, st)
	}
}

// gapBefore is the gap between n and the block before it.
func gapBefore(n ast.Node) kind {
	switch n.(type) {
	case *ast.TextBlock:
		return kindLine
	case *ast.List:
		if _, tight := n.PreviousSibling().(*ast.TextBlock); tight {
			return kindLine
		}
	case *ast.LinkReferenceDefinition, *footnote:
		if p := n.PreviousSibling(); p != nil && p.Kind() == n.Kind() {
			return kindLine
		}
	}
	return kindBlock
}

func (w *walker) footnote(n *footnote, st style, depth int) {
	w.out.push("["+string(n.label)+"] ", "")
	w.item(n, st, depth)
	w.out.pop(st)
}

// definition shows a link definition that no link uses: models end answers
// with lists of sources in this form.
func (w *walker) definition(n *ast.LinkReferenceDefinition, st style) {
	if w.used[labelKey(n.Label)] {
		return
	}
	shown := "[" + string(n.Label) + "]: " + string(n.Destination)
	if len(n.Title) > 0 {
		shown += " \"" + string(n.Title) + "\""
	}
	w.out.text(shown, st)
}

// quote writes a block quote. Telegram knows no quote in a quote: an inner one
// is marked by a sign on each of its lines. Neighbours share one quote, which
// keeps many short ones from outgrowing a message.
func (w *walker) quote(n *ast.Blockquote, st style, depth int) {
	if st.quote != 0 {
		w.out.push("> ", "> ")
		w.blocks(n, st, depth)
		w.out.pop(st)
		return
	}
	if _, follows := n.PreviousSibling().(*ast.Blockquote); !follows || w.quotes == 0 {
		w.quotes++
	}
	st.quote = w.quotes
	w.blocks(n, st, depth)
}

var bullets = []string{"• ", "◦ ", "▪ "}

func (w *walker) list(n *ast.List, st style, depth int) {
	number := n.Start
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if child.PreviousSibling() != nil {
			w.out.ask(itemGap(n))
		}
		first, rest := bullets[depth%len(bullets)], "  "
		if n.IsOrdered() {
			first, rest = strconv.Itoa(number)+string(n.Marker)+" ", "   "
			number++
		}
		if box := checkBox(child); box != nil {
			first, rest = checkMark(box), "   "
		}
		tags := w.tags
		w.out.push(first, rest)
		w.item(child, st, depth+1)
		if w.tags > tags {
			w.out.drop() // an item of nothing but tags is no item
		} else {
			w.out.pop(st)
		}
	}
}

func checkMark(box *east.TaskCheckBox) string {
	if box.IsChecked {
		return "☑ "
	}
	return "☐ "
}

func itemGap(n *ast.List) kind {
	if n.IsTight {
		return kindLine
	}
	return kindBlock
}

// item writes the blocks of a list item. The first stands on the line of the
// item's marker.
func (w *walker) item(n ast.Node, st style, depth int) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if child.PreviousSibling() == nil {
			w.content(child, st, depth)
			continue
		}
		w.block(child, st, depth)
	}
}

// checkBox returns the box that a task's text begins with.
func checkBox(item ast.Node) *east.TaskCheckBox {
	if item.FirstChild() == nil || item.FirstChild().FirstChild() == nil {
		return nil
	}
	box, _ := item.FirstChild().FirstChild().(*east.TaskCheckBox)
	return box
}

// fence writes a fenced code block. Words after the language are kept as a
// line above it.
func (w *walker) fence(n *ast.FencedCodeBlock, st style) {
	content := lines(n, w.source)
	info := ""
	if n.Info != nil {
		info = strings.TrimSpace(unescape(string(n.Info.Value(w.source))))
	}
	first, rest, _ := strings.Cut(info, " ")
	lang := language(first)
	if lang != first || strings.TrimSpace(content) == "" {
		rest = info
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		w.out.text(rest, st)
		w.out.ask(kindLine)
	}
	w.code(content, lang, st)
}

// maxLanguage is the longest name of a language that is passed on.
const maxLanguage = 32

// language returns what of name can stand in a class attribute.
func language(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("+#_-.", r):
			return r
		}
		return -1
	}, name)
	return clean[:min(len(clean), maxLanguage)]
}

func (w *walker) code(content, lang string, st style) {
	content = strings.TrimRight(content, "\n")
	if strings.TrimSpace(content) == "" {
		return
	}
	st.pre, st.lang = true, lang
	w.out.marker(st)
	w.out.text(content, st)
}

// html shows raw HTML as text; tags for files count in it too.
func (w *walker) html(n *ast.HTMLBlock, st style) {
	content := lines(n, w.source)
	if n.HasClosure() {
		content += string(n.ClosureLine.Value(w.source))
	}
	if w.opts.Files {
		var files []string
		content, files = cutTags(content)
		w.addFiles(files...)
	}
	w.out.text(strings.TrimRight(content, "\n"), st)
}

func (w *walker) addFiles(files ...string) {
	w.tags += len(files)
	for _, f := range files {
		if !slices.Contains(w.files, f) {
			w.files = append(w.files, f)
		}
	}
}

// lines joins the raw lines of a block.
func lines(n ast.Node, source []byte) string {
	var b bytes.Buffer
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	return b.String()
}
