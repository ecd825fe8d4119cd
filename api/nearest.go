package api

import "strings"

// nearest returns the name among names that word is most likely a misspelling
// of, or "" when none is close.
func nearest(word string, names []string) string {
	if len(word) > 40 {
		return ""
	}
	word = strings.ToLower(strings.ReplaceAll(word, "_", ""))
	best, least := "", 3 // more than two slips are another word
	for _, name := range names {
		if d := distance(word, strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance counts the letters to change, add or drop between a and b
// (Levenshtein's distance).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
