package jsonanswer

import "strings"

// maxCandidates bounds how many pieces of a text are tried. The last ones
// count.
const maxCandidates = 1000

// prose finds the outermost objects and arrays in a text that holds other
// things besides.
//
// A bracket may be one of prose ("{title}", "[see below]"): what follows it
// then is looked at on its own. Or it begins JSON that is broken: then nothing
// inside it is an answer, since a piece of an answer may satisfy a schema that
// the whole does not. The search goes on where the broken value ends, or at a
// line that begins another one.
//
// Each character is looked at a bounded number of times.
type prose struct {
	scanner
	found  []span
	broken fault // the last thing found broken; its reason is empty if nothing is
	line   int   // where the line begins on which the last value was tried
	seen   int   // up to where lines were looked for
}

// findProse searches the whole of text. Of very many values it returns the
// last, and besides them the last thing that is broken.
func findProse(text string) (found []span, broken fault) {
	p := prose{scanner: scanner{text: text}}
	for i := 0; i < len(text); {
		if isOpener(text[i]) && p.plausible(i) {
			i = p.try(i)
		} else {
			i++
		}
	}
	return p.found, p.broken
}

func isOpener(c byte) bool { return c == '{' || c == '[' }

// plausible tells whether what follows the bracket at i may stand there in a
// value or in code that is meant as one. Most brackets of prose fail this.
func (p *prose) plausible(i int) bool {
	next := skipSpace(p.text, i+1)
	if next == len(p.text) {
		return true
	}
	if p.text[i] == '{' {
		return p.text[next] == '"' || p.text[next] == '}' || p.text[next] == '\'' || isLetter(p.text[next])
	}
	return strings.IndexByte(`{["]-0123456789tfnNI`, p.text[next]) >= 0
}

// try reads the value that may begin at i, and returns where to go on.
func (p *prose) try(i int) int {
	end, ok := p.scan(i)
	switch {
	case ok:
		p.add(span{i, end})
		return end
	case len(p.open) == maxOpen:
		return len(p.text)
	case p.solid || p.looksLikeCode():
		p.broken = p.bad
		return p.leave(i)
	default:
		return int(p.open[len(p.open)-1]) + 1
	}
}

func (p *prose) add(s span) {
	if len(p.found) == 2*maxCandidates {
		p.found = p.found[:copy(p.found, p.found[maxCandidates:])]
	}
	p.found = append(p.found, s)
}

// looksLikeCode tells whether the innermost open brace begins an object as
// JavaScript or Python would write it: {name: or {'name':.
func (p *prose) looksLikeCode() bool {
	start := int(p.open[len(p.open)-1])
	if p.text[start] != '{' || p.next != wantFirstKey {
		return false
	}
	i := skipSpace(p.text, start+1)
	quoted := i < len(p.text) && p.text[i] == '\''
	if quoted {
		i++
	}
	word := i
	for i < len(p.text) && (isLetter(p.text[i]) || isDigit(p.text[i])) {
		i++
	}
	if i == word {
		return false
	}
	if quoted && i < len(p.text) && p.text[i] == '\'' {
		i++
	}
	i = skipSpace(p.text, i)
	return i < len(p.text) && p.text[i] == ':'
}

// leave returns the offset at which the broken value that begins at start, and
// breaks at p.bad, is over: behind the bracket that closes it, or at a line that
// begins a value and is not indented more.
func (p *prose) leave(start int) int {
	limit := p.indent(start)
	depth, inString := len(p.open), p.bad.inString
	for i := p.bad.at; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '\n':
			inString = false
			line := i + 1
			for ; i+1 < len(p.text) && isSpace(p.text[i+1]); i++ {
				if p.text[i+1] == '\n' {
					line = i + 2
				}
			}
			if i+1 < len(p.text) && isOpener(p.text[i+1]) && i+1-line <= limit {
				return i + 1
			}
		case inString:
			if c == '\\' {
				i++
			}
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(p.text)
}

// indent returns how far the line of offset i is indented. The offsets it is
// asked for never go down.
func (p *prose) indent(i int) int {
	if n := strings.LastIndexByte(p.text[p.seen:i], '\n'); n >= 0 {
		p.line = p.seen + n + 1
	}
	p.seen = i
	n := p.line
	for n < i && (p.text[n] == ' ' || p.text[n] == '\t') {
		n++
	}
	return n - p.line
}
