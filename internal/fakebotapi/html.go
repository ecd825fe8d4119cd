package fakebotapi

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Entity is formatting of a part of a message's text. Offset and Length count
// UTF-16 units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// ParseHTML reads text in parse mode HTML by the rules of the Bot API's page
// "Formatting options", as strictly as they are written there: known tags and
// attributes only, nested properly, with the entities that may not contain each
// other kept apart, and every <, > and & that is no markup escaped. The real
// server lets a few of these pass; a bot should not count on it. The error's
// text is worded like the server's.
func ParseHTML(s string) (text string, entities []Entity, err error) {
	p := htmlParser{in: s}
	if err := p.run(); err != nil {
		return "", nil, fmt.Errorf("can't parse entities: %w", err)
	}
	return p.out.String(), p.entities, nil
}

type htmlParser struct {
	in       string
	pos      int
	out      strings.Builder
	units    int
	stack    []openTag
	entities []Entity
}

type openTag struct {
	name   string
	entity Entity // Type is empty for a tag that makes none
}

func (p *htmlParser) run() error {
	if !utf8.ValidString(p.in) {
		return fmt.Errorf("strings must be encoded in UTF-8")
	}
	for p.pos < len(p.in) {
		var err error
		switch p.in[p.pos] {
		case '<':
			err = p.tag()
		case '&':
			err = p.reference()
		case '>':
			err = fmt.Errorf("character '>' is reserved and must be escaped at byte offset %d", p.pos)
		default:
			r, n := utf8.DecodeRuneInString(p.in[p.pos:])
			p.put(r)
			p.pos += n
		}
		if err != nil {
			return err
		}
	}
	if n := len(p.stack); n > 0 {
		return fmt.Errorf("can't find end tag corresponding to start tag %q", p.stack[n-1].name)
	}
	return nil
}

func (p *htmlParser) put(r rune) {
	p.out.WriteRune(r)
	p.units += max(utf16.RuneLen(r), 1)
}

// named are the only named references that the API knows.
var named = map[string]rune{"lt": '<', "gt": '>', "amp": '&', "quot": '"'}

func (p *htmlParser) reference() error {
	r, n := reference(p.in[p.pos:])
	if n == 0 {
		return fmt.Errorf("character '&' is reserved and must be escaped at byte offset %d", p.pos)
	}
	p.put(r)
	p.pos += n
	return nil
}

func reference(s string) (rune, int) {
	end := strings.IndexByte(s, ';')
	if end < 2 || end > 10 {
		return 0, 0
	}
	if r, ok := named[s[1:end]]; ok {
		return r, end + 1
	}
	digits, ok := strings.CutPrefix(s[1:end], "#")
	base := 10
	if hex, isHex := strings.CutPrefix(digits, "x"); isHex {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if !ok || err != nil || n == 0 || n > utf8.MaxRune {
		return 0, 0
	}
	return rune(n), end + 1
}

func (p *htmlParser) tag() error {
	start := p.pos
	end := tagEnd(p.in[start:])
	if end < 0 {
		return fmt.Errorf("unclosed start tag at byte offset %d", start)
	}
	inner := p.in[start+1 : start+end]
	p.pos = start + end + 1
	if name, ok := strings.CutPrefix(inner, "/"); ok {
		return p.endTag(strings.ToLower(strings.TrimSpace(name)), start)
	}
	return p.startTag(inner, start)
}

// tagEnd finds the > that ends a tag, outside quoted values.
func tagEnd(s string) int {
	var quote byte
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		}
	}
	return -1
}

func (p *htmlParser) endTag(name string, at int) error {
	n := len(p.stack)
	if n == 0 {
		return fmt.Errorf("unexpected end tag at byte offset %d", at)
	}
	top := p.stack[n-1]
	if name != top.name {
		return fmt.Errorf("unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", at, top.name, name)
	}
	p.stack = p.stack[:n-1]
	if e := top.entity; e.Type != "" && p.units > e.Offset {
		e.Length = p.units - e.Offset
		p.entities = append(p.entities, e)
	}
	return nil
}

func (p *htmlParser) startTag(inner string, at int) error {
	name, rest := inner, ""
	if i := strings.IndexAny(inner, " \t\n"); i >= 0 {
		name, rest = inner[:i], inner[i:]
	}
	name = strings.ToLower(name)
	attributes, err := attributes(rest)
	if err != nil {
		return fmt.Errorf("%w of the tag %q at byte offset %d", err, name, at)
	}
	e, err := entityOf(name, attributes, p.stack)
	if err != nil {
		return fmt.Errorf("%w at byte offset %d", err, at)
	}
	if err := p.allowed(e); err != nil {
		return fmt.Errorf("%w at byte offset %d", err, at)
	}
	e.Offset = p.units
	p.stack = append(p.stack, openTag{name, e})
	return nil
}

// attributes reads name="value" pairs, and names alone.
func attributes(s string) (map[string]string, error) {
	list := map[string]string{}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := strings.IndexAny(s, "= \t\n")
		if end < 0 {
			end = len(s)
		}
		name := s[:end]
		s = strings.TrimLeft(s[end:], " \t\n")
		if name == "" {
			return nil, fmt.Errorf("empty attribute name")
		}
		value := ""
		if strings.HasPrefix(s, "=") {
			s = strings.TrimLeft(s[1:], " \t\n")
			if s == "" || s[0] != '"' && s[0] != '\'' {
				return nil, fmt.Errorf("unquoted attribute value")
			}
			end := strings.IndexByte(s[1:], s[0])
			if end < 0 {
				return nil, fmt.Errorf("unclosed attribute value")
			}
			raw := s[1 : 1+end]
			s = s[end+2:]
			var err error
			if value, err = attributeValue(raw); err != nil {
				return nil, err
			}
		}
		list[strings.ToLower(name)] = value
	}
	return list, nil
}

func attributeValue(raw string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '<', '>':
			return "", fmt.Errorf("unescaped %q in an attribute", raw[i])
		case '&':
			r, n := reference(raw[i:])
			if n == 0 {
				return "", fmt.Errorf("unescaped '&' in an attribute")
			}
			b.WriteRune(r)
			i += n
		default:
			b.WriteByte(raw[i])
			i++
		}
	}
	return b.String(), nil
}

var simple = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler",
	"pre": "pre", "code": "code",
}

// entityOf says what a start tag means. A code inside a pre names its language.
func entityOf(name string, attributes map[string]string, stack []openTag) (Entity, error) {
	e := Entity{Type: simple[name]}
	allowed := ""
	switch name {
	case "span":
		if attributes["class"] != "tg-spoiler" {
			return e, fmt.Errorf("tag \"span\" must have class \"tg-spoiler\"")
		}
		e.Type, allowed = "spoiler", "class"
	case "a":
		e.Type, e.URL, allowed = "text_link", attributes["href"], "href"
		if e.URL == "" {
			return e, fmt.Errorf("tag \"a\" must have attribute \"href\"")
		}
	case "blockquote":
		e.Type, allowed = "blockquote", "expandable"
		if _, ok := attributes["expandable"]; ok {
			e.Type = "expandable_blockquote"
		}
	case "code":
		allowed = "class"
		if class, ok := attributes["class"]; ok {
			lang, ok := strings.CutPrefix(class, "language-")
			if !ok || lang == "" || len(stack) == 0 || stack[len(stack)-1].name != "pre" {
				return e, fmt.Errorf("class of the tag \"code\" must be a language inside a \"pre\"")
			}
			stack[len(stack)-1].entity.Language = lang
			e.Type = ""
		}
	}
	if name != "code" && name != "span" && name != "a" && name != "blockquote" && e.Type == "" {
		return e, fmt.Errorf("unsupported start tag %q", name)
	}
	for a := range attributes {
		if a != allowed {
			return e, fmt.Errorf("unsupported attribute %q of the tag %q", a, name)
		}
	}
	return e, nil
}

// allowed applies the rules of which entities may stand in which.
func (p *htmlParser) allowed(e Entity) error {
	for _, t := range p.stack {
		outer := t.entity.Type
		switch {
		case outer == "" || e.Type == "":
		case outer == "pre" || outer == "code":
			return fmt.Errorf("entity %q can't be part of %q", e.Type, outer)
		case isQuote(outer) && isQuote(e.Type):
			return fmt.Errorf("quotes can't be nested")
		case (e.Type == "pre" || e.Type == "code") && !isQuote(outer):
			return fmt.Errorf("entity %q can't be part of %q", e.Type, outer)
		case outer == "text_link" && (e.Type == "text_link" || isQuote(e.Type)):
			return fmt.Errorf("entity %q can't be part of %q", e.Type, outer)
		}
	}
	return nil
}

func isQuote(t string) bool { return t == "blockquote" || t == "expandable_blockquote" }
