package env

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Row is a declared variable.
type Row struct {
	Group   string // the part of the box that declared it first
	Name    string // without prefix; the full name if Foreign
	Accepts string // what it accepts, in a few words
	Default string // as a user would write it; empty when there is none
	Meaning string
	Secret  bool   // has a _FILE form, and is never shown
	Foreign bool   // has no prefix
	Value   string // what is in force, masked if it is secret
	From    string // the full name of the variable the value is from; empty for the default
}

// mask stands for a secret.
const mask = "***"

// Rows returns what was declared, in the order declared.
func (t *Table) Rows() []Row { return slices.Clone(t.rows) }

// declare enters a variable. One that is declared twice stays as it was first.
func (t *Table) declare(r Row) *Row {
	if i, ok := t.at[r.Name]; ok {
		return &t.rows[i]
	}
	r.Group = t.group
	t.at[r.Name] = len(t.rows)
	t.rows = append(t.rows, r)
	return &t.rows[len(t.rows)-1]
}

// show returns value as it may be printed.
func (r *Row) show(value string) string {
	if value == "" {
		return ""
	}
	if r.Secret || r.Foreign && sounds.MatchString(r.Name) {
		return mask
	}
	if u, err := url.Parse(value); err == nil && u.User != nil {
		u.User = url.User(mask)
		return strings.Replace(u.String(), "%2A%2A%2A", mask, 1)
	}
	return value
}

// sounds finds the names of variables that are not ours and likely hold a secret.
var sounds = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth`)
