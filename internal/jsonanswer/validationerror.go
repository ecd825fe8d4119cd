package jsonanswer

import (
	"fmt"
	"strings"
)

// maxLeaves is how many violations of a schema are told of.
const maxLeaves = 10

// Leaf is one violation of a schema.
type Leaf struct {
	Path string // JSON pointer (RFC 6901) to the bad value; empty is the whole answer
	Want string // what was expected there
	Got  string // what was there, cut short; empty if Want says it
}

func (l Leaf) String() string {
	place := "at " + l.Path
	if l.Path == "" {
		place = "at the top level"
	}
	text := place + ": expected " + l.Want
	if l.Got != "" {
		text += ", got " + l.Got
	}
	return text
}

// ValidationError tells where a value does not satisfy a schema. Its text is
// meant for the model that wrote the answer as much as for people.
type ValidationError struct {
	Leaves []Leaf // ten at most, ordered by path; at least one
	More   int    // how many violations were left out
}

// Error lists the violations, one on a line if there are several.
func (e *ValidationError) Error() string {
	const intro = "the answer does not satisfy the schema"
	if len(e.Leaves) == 1 && e.More == 0 {
		return intro + ": " + e.Leaves[0].String()
	}
	var b strings.Builder
	b.WriteString(intro + ":")
	for _, l := range e.Leaves {
		b.WriteString("\n- " + l.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n- and %d more", e.More)
	}
	return b.String()
}

// atRoot tells whether the answer as a whole is of the wrong kind.
func (e *ValidationError) atRoot() bool {
	return len(e.Leaves) == 1 && e.Leaves[0].Path == ""
}
