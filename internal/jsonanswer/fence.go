package jsonanswer

import "strings"

// findFences returns what stands inside the fenced blocks of a text, as
// CommonMark has them: a fence is three or more backticks or tildes at the
// start of a line, behind at most three spaces; it is closed by a line of at
// least as many of the same kind and nothing else, or by the end of the text.
// Of very many blocks the last are returned.
func findFences(text string) []span {
	var (
		found []span
		open  fence
		start int
	)
	for i := nextFence(text, 0); i < len(text); {
		end := lineEnd(text, i)
		switch f := parseFence(text[i:end]); {
		case open.n == 0 && f.n > 0 && f.opens():
			open, start = f, end
		case open.n > 0 && f.closes(open):
			found = addFence(found, span{start, i})
			open = fence{}
		}
		i = nextFence(text, end)
	}
	if open.n > 0 {
		found = addFence(found, span{start, len(text)})
	}
	return found
}

// nextFence returns the offset of the first line from i on, which is the start
// of a line, that may be a fence.
func nextFence(text string, i int) int {
	for i < len(text) {
		n := i
		for n < len(text) && text[n] == ' ' {
			n++
		}
		if n < len(text) && (text[n] == '`' || text[n] == '~') {
			return i
		}
		if n == len(text) {
			return n
		}
		if text[n] != '\n' {
			n = lineEnd(text, n) - 1
		}
		i = n + 1
	}
	return i
}

func addFence(found []span, s span) []span {
	if len(found) == 2*maxCandidates {
		found = found[:copy(found, found[maxCandidates:])]
	}
	return append(found, s)
}

// lineEnd returns the offset behind the line that i stands on.
func lineEnd(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(text)
}

// fence is a line that may open or close a fenced block.
type fence struct {
	kind byte
	n    int    // how many; 0 if the line is no fence
	info string // what follows
}

func parseFence(line string) fence {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	if i > 3 || i == len(line) || line[i] != '`' && line[i] != '~' {
		return fence{}
	}
	kind, start := line[i], i
	for i < len(line) && line[i] == kind {
		i++
	}
	if i-start < 3 {
		return fence{}
	}
	return fence{kind, i - start, strings.TrimSpace(line[i:])}
}

// opens tells whether the line can open a block: with backticks, no backtick
// may follow, since that would be code inside a line.
func (f fence) opens() bool { return f.kind != '`' || strings.IndexByte(f.info, '`') < 0 }

func (f fence) closes(open fence) bool {
	return f.kind == open.kind && f.n >= open.n && f.info == ""
}
