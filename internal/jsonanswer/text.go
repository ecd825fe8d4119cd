package jsonanswer

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape replaces the escapes in the inside of a JSON string. Half of a
// surrogate pair becomes the three bytes UTF-8 would have for it.
func unescape(raw string) string {
	var b strings.Builder
	b.Grow(len(raw))
	for {
		i := strings.IndexByte(raw, '\\')
		if i < 0 {
			b.WriteString(raw)
			return b.String()
		}
		b.WriteString(raw[:i])
		raw = raw[i:]
		if raw[1] != 'u' {
			b.WriteByte(simpleEscape(raw[1]))
			raw = raw[2:]
			continue
		}
		r, n := unicodeEscape(raw)
		writeRune(&b, r)
		raw = raw[n:]
	}
}

func simpleEscape(c byte) byte {
	if i := strings.IndexByte("bfnrt", c); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	return c
}

// unicodeEscape reads the escape or the pair of escapes raw begins with.
func unicodeEscape(raw string) (rune, int) {
	r, _ := hex4(raw[2:])
	if utf16.IsSurrogate(r) && strings.HasPrefix(raw[6:], `\u`) {
		low, _ := hex4(raw[8:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}

func writeRune(b *strings.Builder, r rune) {
	if !utf16.IsSurrogate(r) {
		b.WriteRune(r)
		return
	}
	b.WriteByte(0xe0 | byte(r>>12))
	b.WriteByte(0x80 | byte(r>>6)&0x3f)
	b.WriteByte(0x80 | byte(r)&0x3f)
}

// compact writes well formed JSON without the whitespace and the trailing
// commas in it. All else keeps its order and its characters.
func compact(text string) (out []byte, repaired bool) {
	out = make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end, _ := lexString(text, i)
			out = append(out, text[i:end]...)
			i = end
			continue
		case isSpace(c):
		case (c == '}' || c == ']') && out[len(out)-1] == ',':
			repaired = true
			out[len(out)-1] = c
		default:
			out = append(out, c)
		}
		i++
	}
	return out, repaired
}

// quote writes a short form of text as a JSON string.
func quote(text string) string { return quoteWithin(text, 60) }

// quoteWithin writes text as a JSON string of at most about n bytes.
func quoteWithin(text string, n int) string {
	cut := ""
	if len(text) > n {
		text, cut = strings.ToValidUTF8(text[:n], ""), "…"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		writeQuoted(&b, r)
	}
	return b.String() + cut + `"`
}

func writeQuoted(b *strings.Builder, r rune) {
	const hex = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		b.WriteByte('\\')
		b.WriteRune(r)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r < 0x20 || r == 0x7f:
		b.WriteString(`\u00`)
		b.WriteByte(hex[r>>4])
		b.WriteByte(hex[r&0xf])
	default:
		b.WriteRune(r)
	}
}
