package markup

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// inlines writes the text in n.
func (w *walker) inlines(n ast.Node, st style) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		w.inline(child, st)
	}
}

func (w *walker) inline(n ast.Node, st style) {
	switch n := n.(type) {
	case *ast.Text:
		w.leaf(n, st)
	case *ast.String:
		w.out.text(string(n.Value), st)
	case *ast.CodeSpan:
		st.code = true
		w.out.text(w.span(n), st)
	case *ast.Emphasis:
		if n.Level >= 2 {
			st.bold = true
		} else {
			st.italic = true
		}
		w.inlines(n, st)
	case *mark:
		st.spoiler = st.spoiler || n.hides
		st.strike = st.strike || !n.hides
		w.inlines(n, st)
	case *ast.Link:
		w.link(n, n.Destination, n.Title, st)
	case *ast.Image:
		w.link(n, n.Destination, n.Title, st)
	case *ast.AutoLink:
		w.out.text(string(n.Label(w.source)), st)
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			w.out.text(string(segment.Value(w.source)), st)
		}
	case *tag:
		w.addFiles(n.path)
	case *east.TaskCheckBox: // the item's marker shows it
	default:
		w.inlines(n, st)
	}
}

func (w *walker) leaf(n *ast.Text, st style) {
	value := string(n.Segment.Value(w.source))
	if !n.IsRaw() {
		value = unescape(value)
	}
	w.out.text(value, st)
	if n.SoftLineBreak() || n.HardLineBreak() {
		w.out.soft(st)
	}
}

// span returns the text of an inline code, its line ends made spaces.
func (w *walker) span(n *ast.CodeSpan) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			b.Write(child.Segment.Value(w.source))
		case *ast.String:
			b.Write(child.Value)
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// link writes a link, or an image as a link. A destination that Telegram does
// not take is shown behind the text.
func (w *walker) link(n ast.Node, destination, title []byte, st style) {
	dest := unescape(string(destination))
	inner := st
	linked := st.link == "" && linkable(dest)
	if linked {
		inner.link = dest
	}
	if n.FirstChild() == nil {
		w.out.text(dest, inner)
	} else {
		w.inlines(n, inner)
		if !linked && dest != "" {
			w.out.text(" ("+dest+")", st)
		}
	}
	if len(title) > 0 {
		w.out.text(" ("+unescape(string(title))+")", st)
	}
}

// maxLink is the longest address, in bytes, that is made a link.
const maxLink = 2048

// linkable tells whether Telegram makes dest a link. It takes only a few
// schemes, and hosts with a dot.
func linkable(dest string) bool {
	if len(dest) > maxLink || strings.ContainsAny(dest, " \n\t\"<>") {
		return false
	}
	u, err := url.Parse(dest)
	if err != nil {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		host := u.Hostname()
		return strings.Contains(strings.Trim(host, "."), ".")
	case "tg":
		return u.Host != "" || u.Opaque != ""
	case "mailto":
		return strings.Contains(u.Opaque, "@")
	}
	return false
}
