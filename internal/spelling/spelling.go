// Package spelling finds what a misspelt name was meant to be, for messages
// that ask "did you mean …?".
package spelling

import "strings"

// slips is how many letters two spellings of one word may differ in; more make
// another word.
const slips = 2

// longest bounds the names that are looked at, since the work grows with their
// square.
const longest = 60

// Nearest returns the one of names that name is most likely a misspelling of,
// or "" when none is close. Case and underscores do not count.
func Nearest(name string, names []string) string {
	if len(name) > longest {
		return ""
	}
	best, least := "", slips+1
	for _, candidate := range names {
		if d := Distance(plain(name), plain(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// Distance counts the letters to insert, delete or replace to turn a into b; a
// swap of two neighbours counts once (Damerau's restricted edit distance, over
// bytes).
func Distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
