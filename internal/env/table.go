// Package env reads the configuration: environment variables that are declared
// and read in one call.
//
// Order of events: New makes the table of one start; Group gives each part of
// the box its own view of it; the reading methods declare a variable, read it,
// check it, and return its value or its default; Errors tells everything that
// was found wrong, Warnings what looks wrong, and Rows what there is, for
// `box config` and the documentation.
//
// Every variable has a name without prefix. It is looked for in this order, and
// an empty value counts as unset:
//
//  1. AICODEBOX_<name>, and for a secret AICODEBOX_<name>_FILE
//  2. <BRAND>_<name>, and for a secret <BRAND>_<name>_FILE
//  3. the default
package env

import (
	"fmt"
	"slices"
	"strings"
)

// Prefix begins every variable of the box, whatever its brand.
const Prefix = "AICODEBOX_"

// Table is a view of the variables of one start: what is declared through it
// belongs to its group. All views made from one table share what was found.
// A Table is for one goroutine.
type Table struct {
	*state
	group string
}

type state struct {
	lookup   func(string) (string, bool)
	brand    string // "PIBOX_", or empty
	rows     []Row
	at       map[string]int // name -> index in rows
	faults   []fault
	warnings []string
	secrets  []secret
}

// fault is something wrong with the variable name, found by group.
type fault struct{ group, name, text string }

// secret is a value that must not be shown, declared by group.
type secret struct{ group, value string }

// New returns an empty table that reads through lookup. brand is the brand's
// name in lower case; "" and "aicodebox" mean that there is none.
func New(lookup func(string) (string, bool), brand string) *Table {
	s := &state{lookup: lookup, at: make(map[string]int)}
	if p := PrefixOf(brand); p != Prefix {
		s.brand = p
	}
	return &Table{state: s}
}

// PrefixOf returns the prefix that a brand's variables have: "PIBOX_" for
// "pibox". What cannot stand in a variable's name becomes an underscore.
func PrefixOf(brand string) string {
	if brand == "" {
		return Prefix
	}
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(brand)) + "_"
}

// Group returns a view for the part of the box called name.
func (t *Table) Group(name string) *Table { return &Table{t.state, name} }

// Name returns the full name a user would set: the brand's form of name.
func (t *Table) Name(name string) string {
	if t.brand != "" {
		return t.brand + name
	}
	return Prefix + name
}

// IsSet tells whether name has a value that is not empty. For a secret, its
// _FILE form counts.
func (t *Table) IsSet(name string) bool {
	if _, _, ok := t.find(name); ok {
		return true
	}
	if i, ok := t.at[name]; ok && t.rows[i].Secret {
		_, _, ok := t.find(name + fileSuffix)
		return ok
	}
	return false
}

// Value returns what name is set to and the full name of the variable it is in,
// without declaring it.
func (t *Table) Value(name string) (value, from string, ok bool) { return t.find(name) }

// find returns the value of name and the full name of the variable it is in.
func (t *Table) find(name string) (value, from string, ok bool) {
	for _, prefix := range t.prefixes() {
		if v, _ := t.lookup(prefix + name); v != "" {
			return v, prefix + name, true
		}
	}
	return "", "", false
}

func (t *Table) prefixes() []string {
	if t.brand == "" {
		return []string{Prefix}
	}
	return []string{Prefix, t.brand}
}

// Errorf records what is wrong with the variable name, given without prefix.
// The text follows the variable's name: "must be a port".
func (t *Table) Errorf(name, format string, args ...any) {
	full := t.Name(name)
	if i, ok := t.at[name]; ok && t.rows[i].From != "" {
		full = t.rows[i].From
	} else if _, from, ok := t.find(name); ok {
		full = from
	}
	t.fault(full, format, args...)
}

// fault records what is wrong with the variable whose full name is given.
func (t *Table) fault(full, format string, args ...any) {
	f := fault{t.group, full, fmt.Sprintf(format, args...)}
	if !slices.Contains(t.faults, f) {
		t.faults = append(t.faults, f)
	}
}

// Warnf records what looks wrong.
func (t *Table) Warnf(format string, args ...any) {
	text := t.Scrub(fmt.Sprintf(format, args...))
	if !slices.Contains(t.warnings, text) {
		t.warnings = append(t.warnings, text)
	}
}

// Errors returns what is wrong, one text for each fault, in the order found:
// everything that was found by a group for which fatal is true, once. A nil
// fatal means every group. No text holds the value of a secret.
func (t *Table) Errors(fatal func(group string) bool) []string {
	var texts []string
	for _, f := range t.faults {
		if fatal != nil && !fatal(f.group) {
			continue
		}
		text := f.name + " " + t.Scrub(f.text)
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// Faulty tells whether group has found something wrong.
func (t *Table) Faulty(group string) bool {
	return slices.ContainsFunc(t.faults, func(f fault) bool { return f.group == group })
}

// Warnings returns what looks wrong, in the order found.
func (t *Table) Warnings() []string { return slices.Clone(t.warnings) }

// shortest keeps a secret of a few letters, which hides nothing, from turning
// every text into stars, and from matching what is no secret.
const shortest = 6

// Secrets returns the values of the secrets that were read, except those of one
// group and those too short to be one.
func (t *Table) Secrets(except string) []string {
	var values []string
	for _, s := range t.secrets {
		if s.group != except && len(s.value) >= shortest {
			values = append(values, s.value)
		}
	}
	return values
}

// Scrub takes the values of secrets out of a text.
func (t *Table) Scrub(text string) string {
	for _, s := range t.secrets {
		if len(s.value) >= shortest {
			text = strings.ReplaceAll(text, s.value, mask)
		}
	}
	return text
}
