package jsonanswer

import "strings"

// The lexer knows the tokens of JSON (RFC 8259) and three words that models
// write although they are none: NaN, Infinity and -Infinity. They are taken
// for numbers here so that the value around them is found; decoding refuses
// them by name.

// skipSpace returns the first offset from i on that holds no JSON whitespace.
func skipSpace(text string, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' }

// lexString reads the string whose opening quote is at i. It returns the
// offset behind the closing quote, or the offset of what is wrong and why.
func lexString(text string, i int) (int, string) {
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1, ""
		case c == '\\':
			n := escapeLen(text[i:])
			if n == 0 {
				return i, `this backslash begins no escape that JSON knows; a backslash itself is written \\`
			}
			i += n - 1
		case c == '\n' || c == '\r':
			return i, `a string goes over the end of the line; a line break in a string is written \n`
		case c < 0x20:
			return i, "a control character stands in a string; it has to be escaped, as \\t is"
		}
	}
	return i, "a string is not closed"
}

// escapeLen returns the length of the escape text begins with, or 0.
func escapeLen(text string) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, text[1]) >= 0 {
			return 2
		}
		return 0
	}
	if _, ok := hex4(text[2:]); !ok {
		return 0
	}
	return 6
}

// hex4 reads four hexadecimal digits.
func hex4(text string) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	var r rune
	for i := range 4 {
		c := text[i]
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// lexWord reads a number or one of the words at i. It returns the offset
// behind it, or i if there is none.
func lexWord(text string, i int) int {
	for _, word := range [...]string{"true", "false", "null", "NaN", "Infinity", "-Infinity"} {
		if strings.HasPrefix(text[i:], word) && !continues(text, i+len(word)) {
			return i + len(word)
		}
	}
	end := lexNumber(text, i)
	if continues(text, end) {
		return i
	}
	return end
}

// continues tells whether a word that ends at i goes on, so that it is not
// the word it seemed.
func continues(text string, i int) bool {
	return i < len(text) && (isLetter(text[i]) || isDigit(text[i]) || text[i] == '.')
}

// lexNumber returns the offset behind the JSON number at i, or i.
func lexNumber(text string, i int) int {
	start, p := i, i
	if p < len(text) && text[p] == '-' {
		p++
	}
	end := digits(text, p)
	if end == p || text[p] == '0' && end > p+1 {
		return start
	}
	p = end
	if p < len(text) && text[p] == '.' {
		if end = digits(text, p+1); end == p+1 {
			return start
		}
		p = end
	}
	if p < len(text) && text[p]|0x20 == 'e' {
		q := p + 1
		if q < len(text) && (text[q] == '+' || text[q] == '-') {
			q++
		}
		if end = digits(text, q); end == q {
			return start
		}
		p = end
	}
	return p
}

func digits(text string, i int) int {
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i
}
