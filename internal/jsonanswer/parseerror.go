package jsonanswer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ParseError tells that a text holds no JSON value that can be used: none at
// all, or one that is broken. Its text is meant for the model that wrote the
// answer as much as for people.
type ParseError struct {
	Line   int    // 1 is the first; 0 if no place can be named
	Column int    // in characters; 1 is the first
	Reason string // what is wrong there
	Near   string // the text from there on, cut short
}

// Error names the place and what is wrong.
func (e *ParseError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	text := fmt.Sprintf("the answer is not valid JSON: line %d, column %d: %s", e.Line, e.Column, e.Reason)
	if e.Near != "" {
		text += "; the text goes on with " + quoteWithin(e.Near, nearLength)
	}
	return text
}

const nearLength = 40

// parseError places f in text.
func parseError(text string, f *fault) *ParseError {
	at := min(f.at, len(text))
	line := strings.LastIndexByte(text[:at], '\n') + 1
	return &ParseError{
		Line:   strings.Count(text[:at], "\n") + 1,
		Column: utf8.RuneCountInString(text[line:at]) + 1,
		Reason: f.reason,
		Near:   text[at:min(len(text), at+nearLength+utf8.UTFMax)],
	}
}
