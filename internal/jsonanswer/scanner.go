package jsonanswer

// span is a piece of a text, from start to before end.
type span struct{ start, end int }

// state is what a scanner expects next.
type state byte

const (
	wantValue     state = iota
	wantFirstItem       // a value, or the end of an array just begun
	wantItem            // a value, or the end of an array after a dangling comma
	wantFirstKey        // a property name, or the end of an object just begun
	wantKey             // the same after a comma
	wantColon
	wantNext // a comma or the end of what is open
)

// maxOpen bounds what a scanner keeps in mind. Text with so many brackets open
// at a time is no answer.
const maxOpen = 1 << 20

// scanner reads one JSON value by its grammar, without building it. It takes
// trailing commas and the words for numbers that JSON has not, needs no
// recursion, and can be used again.
type scanner struct {
	text string
	pos  int
	open []int32 // offsets of the brackets that are open
	next state

	// solid is set once what was read cannot be prose any more: a property
	// with its colon, a comma after an item, a bracket inside a bracket that
	// was closed.
	solid bool

	bad fault // what was wrong, after a scan that failed
}

// fault is where and why a text stops being JSON.
type fault struct {
	at       int
	reason   string
	inString bool
}

// scan reads the value that begins at start. It returns the offset behind it,
// or false, and s.bad says what is wrong.
func (s *scanner) scan(start int) (int, bool) {
	s.pos, s.open, s.next, s.solid = start, s.open[:0], wantValue, false
	for {
		s.pos = skipSpace(s.text, s.pos)
		if !s.step() {
			return 0, false
		}
		if s.next == wantNext && len(s.open) == 0 {
			return s.pos, true
		}
	}
}

// step reads one token.
func (s *scanner) step() bool {
	if s.pos >= len(s.text) {
		return s.fail("the text ends before the value does")
	}
	c := s.text[s.pos]
	switch s.next {
	case wantColon:
		return s.colon(c)
	case wantNext:
		return s.separator(c)
	case wantFirstKey, wantKey:
		if c == '}' {
			return s.close()
		}
		return s.key(c)
	case wantFirstItem, wantItem:
		if c == ']' {
			return s.close()
		}
	}
	return s.value(c)
}

func (s *scanner) fail(reason string) bool {
	s.bad = fault{at: s.pos, reason: reason}
	return false
}

func (s *scanner) value(c byte) bool {
	switch c {
	case '{':
		return s.begin(wantFirstKey)
	case '[':
		return s.begin(wantFirstItem)
	case '"':
		return s.str(wantNext)
	}
	end := lexWord(s.text, s.pos)
	if end == s.pos {
		return s.fail("a value was expected here")
	}
	s.pos, s.next = end, wantNext
	return true
}

func (s *scanner) begin(next state) bool {
	if len(s.open) == maxOpen {
		return s.fail("too many brackets are open")
	}
	s.open = append(s.open, int32(s.pos))
	s.pos++
	s.next = next
	return true
}

// close reads the bracket that closes the innermost open one.
func (s *scanner) close() bool {
	s.pos++
	s.open = s.open[:len(s.open)-1]
	s.solid = s.solid || len(s.open) > 0
	s.next = wantNext
	return true
}

func (s *scanner) str(next state) bool {
	end, reason := lexString(s.text, s.pos)
	if reason != "" {
		s.bad = fault{at: end, reason: reason, inString: true}
		return false
	}
	s.pos, s.next = end, next
	return true
}

func (s *scanner) key(c byte) bool {
	if c != '"' {
		return s.fail("a property name in double quotes was expected here")
	}
	return s.str(wantColon)
}

func (s *scanner) colon(c byte) bool {
	if c != ':' {
		return s.fail("a colon was expected here, after the property name")
	}
	s.pos++
	s.solid, s.next = true, wantValue
	return true
}

func (s *scanner) separator(c byte) bool {
	inObject := s.text[s.open[len(s.open)-1]] == '{'
	switch {
	case c == '}' && inObject, c == ']' && !inObject:
		return s.close()
	case c != ',':
		return s.fail(expected(inObject))
	}
	s.pos++
	s.solid, s.next = true, wantItem
	if inObject {
		s.next = wantKey
	}
	return true
}

func expected(inObject bool) string {
	if inObject {
		return "a comma or the closing brace was expected here"
	}
	return "a comma or the closing bracket was expected here"
}

// scanWhole reads the value that text[sp.start:sp.end] is, but for whitespace
// around it.
func scanWhole(text string, sp span) (span, *fault) {
	s := scanner{text: text[:sp.end]}
	start := skipSpace(s.text, sp.start)
	end, ok := s.scan(start)
	if !ok {
		return span{}, &s.bad
	}
	if rest := skipSpace(s.text, end); rest != sp.end {
		return span{}, &fault{at: rest, reason: "nothing may follow the value"}
	}
	return span{start, end}, nil
}
