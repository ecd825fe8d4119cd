package markup

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/util"
)

// unescape resolves Markdown's backslash escapes and character references, in
// one pass, so that neither can make the other.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
			continue
		case s[i] == '&':
			if text, size := reference(s[i:]); size > 0 {
				b.WriteString(text)
				i += size
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// maxReference is the longest character reference, with its & and ;.
const maxReference = 34

// reference reads a character reference at the start of s.
func reference(s string) (text string, size int) {
	end := strings.IndexByte(s[:min(len(s), maxReference)], ';')
	if end < 2 {
		return "", 0
	}
	name := s[1:end]
	if name[0] != '#' {
		if e, ok := util.LookUpHTML5EntityByName(name); ok {
			return string(e.Characters), end + 1
		}
		return "", 0
	}
	digits, base, most := name[1:], 10, 7
	if len(digits) > 0 && (digits[0] == 'x' || digits[0] == 'X') {
		digits, base, most = digits[1:], 16, 6
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || len(digits) > most {
		return "", 0
	}
	r := rune(n)
	if n == 0 || n > utf8.MaxRune || !utf8.ValidRune(r) {
		r = utf8.RuneError
	}
	if r == '\r' {
		r = '\n'
	}
	return string(r), end + 1
}
