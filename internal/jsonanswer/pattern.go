package jsonanswer

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxRegexpSize bounds all patterns of a schema together, in instructions of
// their compiled programs. A pattern of a few bytes can have ten thousand.
const maxRegexpSize = 100_000

// checkPatterns compiles the patterns under a keyword of n, to refuse those
// that cannot be matched in linear time.
func (d *document) checkPatterns(n *node, word string) error {
	switch v := n.members[word].(type) {
	case string:
		if word == "pattern" {
			return d.checkPattern(n.at+"/pattern", v)
		}
	case map[string]any:
		if word != "patternProperties" {
			return nil
		}
		for _, expr := range sorted(v) {
			if err := d.checkPattern(n.at+"/patternProperties/"+escapeToken(expr), expr); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *document) checkPattern(at, expr string) error {
	n, err := programSize(expr)
	if err != nil {
		return &SchemaError{at, "the pattern " + quote(expr) + " cannot be used: " + patternReason(err) +
			" (RE2 syntax; look-around and back-references are not known)"}
	}
	if d.regexpSize += n; d.regexpSize > maxRegexpSize {
		return &SchemaError{at, "the patterns of the schema are too large together"}
	}
	return nil
}

func patternReason(err error) string {
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return bad.Code.String() + " " + quote(bad.Expr)
	}
	return err.Error()
}

// programSize returns how many instructions a pattern has when compiled.
func programSize(expr string) (int, error) {
	parsed, err := syntax.Parse(fromECMA(expr), syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

// fromECMA rewrites the escapes \uXXXX and \cX, which JSON Schema's dialect of
// regular expressions (ECMA-262) has and Go's has not.
func fromECMA(expr string) string {
	if !strings.Contains(expr, `\u`) && !strings.Contains(expr, `\c`) {
		return expr
	}
	var b strings.Builder
	for i := 0; i < len(expr); i++ {
		if expr[i] != '\\' || i+1 == len(expr) {
			b.WriteByte(expr[i])
			continue
		}
		i += writeEscape(&b, expr[i:]) - 1
	}
	return b.String()
}

// writeEscape writes the escape that expr begins with, and returns its length.
func writeEscape(b *strings.Builder, expr string) int {
	if _, ok := hex4(expr[2:]); ok && expr[1] == 'u' {
		b.WriteString(`\x{` + expr[2:6] + "}")
		return 6
	}
	if expr[1] == 'c' && len(expr) > 2 && isLetter(expr[2]) {
		b.WriteString(`\x{` + string("01"[expr[2]>>4&1]) + string("0123456789abcdef"[expr[2]&0xf]) + "}")
		return 3
	}
	b.WriteString(expr[:2])
	return 2
}

// pattern is a compiled pattern that accounts for its work.
type pattern struct {
	*regexp.Regexp
	source string
	size   int
	budget *budget
}

// patterns compiles patterns, each once.
type patterns struct {
	budget *budget
	known  map[string]*pattern
}

func (p *patterns) compile(expr string) (jsonschema.Regexp, error) {
	if known, ok := p.known[expr]; ok {
		return known, nil
	}
	size, err := programSize(expr)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(fromECMA(expr))
	if err != nil {
		return nil, err
	}
	p.known[expr] = &pattern{re, expr, size, p.budget}
	return p.known[expr], nil
}

// MatchString tells whether text holds a match.
func (p *pattern) MatchString(text string) bool {
	p.budget.spend(1 + len(text)*p.size/16)
	return p.Regexp.MatchString(text)
}

// String returns the pattern as the schema has it.
func (p *pattern) String() string { return p.source }
