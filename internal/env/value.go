package env

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// read declares r and returns the value that is set.
func (t *Table) read(r Row) (value string, ok bool) {
	row := t.declare(r)
	value, from, ok := t.find(r.Name)
	if !ok {
		row.Value = row.show(row.Default)
		return "", false
	}
	row.Value, row.From = row.show(value), from
	return value, true
}

// refuse records that the value of name does not fit, and shows the default
// as what is in force.
func (t *Table) refuse(name, value string) {
	row := &t.rows[t.at[name]]
	row.Value = row.show(row.Default)
	t.Errorf(name, "is %s; it accepts %s", quote(value), row.Accepts)
}

// quote shows a value that was refused, cut to a readable length.
func quote(value string) string {
	const longest = 60
	if len(value) > longest {
		return strconv.QuoteToASCII(value[:longest]) + "..."
	}
	return strconv.Quote(value)
}

// String reads a text.
func (t *Table) String(name, def, meaning string) string {
	value, ok := t.read(Row{Name: name, Accepts: "a text", Default: def, Meaning: meaning})
	if !ok {
		return def
	}
	return value
}

// Required reads a text that must be set.
func (t *Table) Required(name, meaning string) string {
	value, ok := t.read(Row{Name: name, Accepts: "a text, which is required", Meaning: meaning})
	if !ok {
		t.Errorf(name, "is required and not set: %s", meaning)
	}
	return value
}

// The words of a switch, in any case.
var switches = map[string]bool{
	"1": true, "true": true, "yes": true, "on": true,
	"0": false, "false": false, "no": false, "off": false,
}

// Switch reads the word of a switch; ok is false for any other word.
func Switch(word string) (on, ok bool) {
	on, ok = switches[strings.ToLower(word)]
	return on, ok
}

// switchWords is what a switch accepts.
const switchWords = "1, true, yes, on, or 0, false, no, off"

// Bool reads a switch.
func (t *Table) Bool(name string, def bool, meaning string) bool {
	shown := "off"
	if def {
		shown = "on"
	}
	value, ok := t.read(Row{Name: name, Accepts: switchWords, Default: shown, Meaning: meaning})
	if !ok {
		return def
	}
	on, ok := Switch(value)
	if !ok {
		t.refuse(name, value)
		return def
	}
	return on
}

// Int reads a whole number from low to high, both included.
func (t *Table) Int(name string, def, low, high int64, meaning string) int64 {
	value, ok := t.read(Row{
		Name: name, Accepts: fmt.Sprintf("a whole number from %d to %d", low, high),
		Default: strconv.FormatInt(def, 10), Meaning: meaning,
	})
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < low || n > high {
		t.refuse(name, value)
		return def
	}
	return n
}

// longest is the most seconds a variable may ask for: a hundred years, which
// leaves room below the largest time.Duration.
const longest = 100 * 366 * 24 * 60 * 60

// Seconds reads a whole number of seconds, 0 or more.
func (t *Table) Seconds(name string, def time.Duration, meaning string) time.Duration {
	value, ok := t.read(Row{
		Name: name, Accepts: "a whole number of seconds, 0 or more",
		Default: strconv.FormatInt(int64(def/time.Second), 10), Meaning: meaning,
	})
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > longest {
		t.refuse(name, value)
		return def
	}
	return time.Duration(n) * time.Second
}

// Choice reads one of a few words, in any case.
func (t *Table) Choice(name, def string, choices []string, meaning string) string {
	value, ok := t.read(Row{Name: name, Accepts: words(choices), Default: def, Meaning: meaning})
	if !ok {
		return def
	}
	for _, c := range choices {
		if strings.EqualFold(c, value) {
			return c
		}
	}
	t.refuse(name, value)
	return def
}

// words joins "a, b or c".
func words(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// List reads words separated by commas; spaces around them and empty words are
// dropped. An unset variable gives nil, and so does one without any word.
func (t *Table) List(name, meaning string) []string {
	return t.ListOr(name, nil, meaning)
}

// ListOr reads as List does, and returns def when the variable is unset.
func (t *Table) ListOr(name string, def []string, meaning string) []string {
	value, ok := t.read(Row{
		Name: name, Accepts: "words separated by commas",
		Default: strings.Join(def, ","), Meaning: meaning,
	})
	if !ok {
		return def
	}
	var list []string
	for word := range strings.SplitSeq(value, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// Foreign reads a variable under its full name, without a prefix.
func (t *Table) Foreign(name, meaning string) string {
	row := t.declare(Row{Name: name, Accepts: "a text", Meaning: meaning, Foreign: true})
	value, _ := t.lookup(name)
	if value != "" {
		row.Value, row.From = row.show(value), name
	}
	return value
}
