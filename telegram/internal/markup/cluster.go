package markup

import (
	"unicode"
	"unicode/utf8"
)

const zeroWidthJoiner = '\u200d'

// cluster returns the length in bytes of the first character of s as a person
// sees it: a letter with its marks, an emoji with its skin tone, a family, a
// flag. It follows the rules of Unicode's UAX 29 that matter for model text.
func cluster(s string) int {
	first, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return 0
	}
	last, flags := first, 0
	if regional(first) {
		flags = 1
	}
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case extends(r), last == zeroWidthJoiner && pictograph(r), hangul(last, r):
		case regional(r) && flags == 1:
			flags = 2
		default:
			return n
		}
		last = r
		n += size
	}
	return n
}

// extends tells whether r belongs to the character before it.
func extends(r rune) bool {
	return r == zeroWidthJoiner || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) ||
		r >= 0x1f3fb && r <= 0x1f3ff || // skin tones
		r >= 0xe0020 && r <= 0xe007f || // tags of regional flags
		r == 0xff9e || r == 0xff9f // halfwidth voiced sound marks
}

// regional tells whether r is one half of a flag.
func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// pictograph tells whether r may follow a joiner in an emoji.
func pictograph(r rune) bool {
	return unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r) || r >= 0x1f000
}

// hangul tells whether b goes on with the syllable that a is part of.
func hangul(a, b rune) bool {
	lead, vowel := a >= 0x1100 && a <= 0x115f, a >= 0x1160 && a <= 0x11a7
	tail, block := a >= 0x11a8 && a <= 0x11ff, a >= 0xac00 && a <= 0xd7a3
	switch {
	case b >= 0x1100 && b <= 0x115f, b >= 0xac00 && b <= 0xd7a3:
		return lead
	case b >= 0x1160 && b <= 0x11a7:
		return lead || vowel || block && (a-0xac00)%28 == 0
	case b >= 0x11a8 && b <= 0x11ff:
		return vowel || tail || block
	}
	return false
}

// units returns the length of s in UTF-16 units, which Telegram counts.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16Len(r)
	}
	return n
}

func utf16Len(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}
