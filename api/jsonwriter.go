package api

import (
	"bufio"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// jsonWriter writes a JSON object as it goes, so that an answer of many
// megabytes is never in memory a second time. The first error sticks.
type jsonWriter struct {
	w     *bufio.Writer
	empty bool // nothing written in the innermost object or array yet
	err   error
}

func newJSONWriter(w io.Writer) *jsonWriter {
	return &jsonWriter{w: bufio.NewWriterSize(w, 8<<10)}
}

// open begins an object or array; closing ends it.
func (j *jsonWriter) open(c byte) { j.put(c); j.empty = true }

func (j *jsonWriter) closing(c byte) { j.put(c); j.empty = false }

// next separates the elements of an array.
func (j *jsonWriter) next() {
	if !j.empty {
		j.put(',')
	}
	j.empty = false
}

// name begins a member of an object.
func (j *jsonWriter) name(name string) {
	j.next()
	j.put('"')
	j.write(name)
	j.write(`":`)
}

// text writes a member whose value is s.
func (j *jsonWriter) text(name, s string) {
	j.name(name)
	j.put('"')
	j.escape(s)
	j.put('"')
}

// bytes writes a member whose value is the text p, a piece at a time.
func (j *jsonWriter) bytes(name string, p []byte) {
	j.name(name)
	j.put('"')
	for len(p) > 0 {
		n := pieceOf(p)
		j.escape(string(p[:n]))
		p = p[n:]
	}
	j.put('"')
}

// pieceOf returns how much of p to convert at once without cutting a character.
func pieceOf(p []byte) int {
	const size = 16 << 10
	if len(p) <= size {
		return len(p)
	}
	for n := size; n > size-utf8.UTFMax; n-- {
		if utf8.RuneStart(p[n]) {
			return n
		}
	}
	return size
}

// value writes a member of any type; a json.RawMessage goes out as it is.
func (j *jsonWriter) value(name string, v any) {
	j.name(name)
	j.element(v)
}

// element writes a value without a name.
func (j *jsonWriter) element(v any) {
	data, ok := v.(json.RawMessage)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			j.err = err
			return
		}
	}
	if j.err == nil {
		_, j.err = j.w.Write(data)
	}
}

// end sends what is left.
func (j *jsonWriter) end() error {
	if j.err != nil {
		return j.err
	}
	return j.w.Flush()
}

func (j *jsonWriter) put(c byte) {
	if j.err == nil {
		j.err = j.w.WriteByte(c)
	}
}

func (j *jsonWriter) write(s string) {
	if j.err == nil {
		_, j.err = j.w.WriteString(s)
	}
}

// escape writes the inside of a JSON string (RFC 8259, section 7). Bytes that
// are not UTF-8 become U+FFFD.
func (j *jsonWriter) escape(s string) {
	start := 0
	for i := 0; i < len(s) && j.err == nil; {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' || c == 0x7f {
				j.write(s[start:i])
				j.control(c)
				start = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			j.write(s[start:i])
			j.write("\ufffd")
			start = i + 1
		}
		i += n
	}
	j.write(s[start:])
}

func (j *jsonWriter) control(c byte) {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		j.put('\\')
		j.put(c)
	case '\n':
		j.write(`\n`)
	case '\r':
		j.write(`\r`)
	case '\t':
		j.write(`\t`)
	default:
		j.write(`\u00`)
		j.put(hex[c>>4])
		j.put(hex[c&15])
	}
}
