package fakemodel

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A script starts with a command after the start of the line, white space or
// punctuation. The commands that take nothing must be alone on the line, but
// for a role before them, or be followed by another command.
var (
	withRest = regexp.MustCompile(`(?:^|[\s"'>:)\]|])((?:SAY|THINK|TOOL|CALL|JSON|STREAM|SEQ|ERR|SLEEP):)`)
	alone    = regexp.MustCompile(`(?:^|[>:"]\s*)((?:HANG|EMPTY|CUT|LEN|REFUSE)(?:\s*$| ;; |"|</))`)
	tagEnd   = regexp.MustCompile(`\s*</([\w-]+)>\s*$`)
)

// find returns the script in the last line of text that has one.
func find(text string) (string, bool) {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if s, ok := findInLine(strings.TrimRight(lines[i], "\r")); ok {
			return s, true
		}
	}
	return "", false
}

func findInLine(line string) (string, bool) {
	if s, ok := findInJSON(line); ok {
		return s, true
	}
	start := -1
	for _, re := range []*regexp.Regexp{withRest, alone} {
		if m := re.FindStringSubmatchIndex(line); m != nil && (start < 0 || m[2] < start) {
			start = m[2]
		}
	}
	if start < 0 {
		return "", false
	}
	return strings.TrimSpace(unwrap(line, start)), true
}

// findInJSON looks at the texts of a line that is a JSON value, last first.
func findInJSON(line string) (string, bool) {
	line = strings.TrimSpace(line)
	if line == "" || !strings.ContainsAny(line[:1], `{["`) {
		return "", false
	}
	var texts []string
	decoder := json.NewDecoder(strings.NewReader(line))
	for {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		if s, ok := token.(string); ok {
			texts = append(texts, s)
		}
	}
	for i := len(texts) - 1; i >= 0; i-- {
		if s, ok := find(texts[i]); ok {
			return s, true
		}
	}
	return "", false
}

// unwrap takes what stands around a script off its end: the rest of a JSON text
// or a closing tag whose opening stands before it.
func unwrap(line string, start int) string {
	before, s := line[:start], line[start:]
	if strings.HasSuffix(before, `"`) {
		var value string
		if json.NewDecoder(strings.NewReader(line[start-1:])).Decode(&value) == nil {
			last, _, _ := strings.Cut(value, "\n")
			return last
		}
	}
	if m := tagEnd.FindStringSubmatchIndex(s); m != nil && strings.Contains(before, "<"+s[m[2]:m[3]]) {
		return s[:m[0]]
	}
	return s
}
