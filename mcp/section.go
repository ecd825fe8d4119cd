package mcp

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// section picks some lines out of a text without holding the rest. At most
// maxText bytes are kept; only a line that is longer than that alone is broken.
type section struct {
	first, count int64
	lines        int64 // seen so far
	last         int64 // the last line that is kept
	text         strings.Builder
	more         bool // there are lines after the last one
	broken       bool // the last one is cut
}

func newSection(first, count int64) *section {
	return &section{first: first, count: count, last: first}
}

// read takes lines until the section is full or the text ends.
func (s *section) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		full, err := s.line(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if full {
			return s.finish(in)
		}
	}
}

// line takes the next line, of any length. It is full when nothing more is to
// be kept.
func (s *section) line(in *bufio.Reader) (full bool, err error) {
	var kept []byte
	number, any, cut := s.lines+1, false, false
	for {
		piece, err := in.ReadSlice('\n')
		any = any || len(piece) > 0
		if number >= s.first {
			room := maxText - len(kept)
			cut = cut || len(piece) > room
			kept = append(kept, piece[:min(len(piece), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if !any {
			return false, io.EOF
		}
		s.lines = number
		return s.keep(kept, cut), nil
	}
}

// keep adds a line, if it has a place in the section.
func (s *section) keep(line []byte, cut bool) (full bool) {
	if s.lines < s.first {
		return false
	}
	if s.text.Len() > 0 && s.text.Len()+len(line) > maxText {
		s.more = true
		return true
	}
	if cut {
		line, s.broken = wholeRunes(line), true
	}
	s.text.Write(line)
	s.last = s.lines
	return s.lines-s.first+1 == s.count || s.broken
}

// finish finds out whether there is more.
func (s *section) finish(in *bufio.Reader) error {
	if s.more {
		return nil
	}
	_, err := in.ReadByte()
	if errors.Is(err, io.EOF) {
		return nil
	}
	s.more = err == nil
	return err
}

// wholeRunes takes the beginning of a character off the end of a text.
func wholeRunes(text []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(text)); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
