package jsonanswer

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docsRow is a row of a table in the documentation whose second column is an
// example and whose third is what comes of it.
type docsRow struct{ section, what, example, result string }

// docsRows reads the tables of docs/structured-answers.md.
func docsRows(t *testing.T) []docsRow {
	t.Helper()
	text := readDocs(t)
	var rows []docsRow
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if !strings.HasPrefix(line, "|") || len(cells) != 3 || !strings.Contains(cells[1], "`") {
			continue
		}
		rows = append(rows, docsRow{section, cells[0], uncode(cells[1]), uncode(cells[2])})
	}
	return rows
}

func readDocs(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/structured-answers.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// uncode reads an example in a code span.
func uncode(cell string) string {
	cell = strings.TrimSpace(cell)
	ticks := len(cell) - len(strings.TrimLeft(cell, "`"))
	text := cell[ticks : len(cell)-ticks]
	if ticks > 1 && strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") {
		text = text[1 : len(text)-1]
	}
	return strings.NewReplacer("⏎", "\n", "<BOM>", "\ufeff").Replace(text)
}

// TestDocs runs the examples of the documentation.
func TestDocs(t *testing.T) {
	t.Parallel()
	schema := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindStringSubmatch(readDocs(t))
	if schema == nil {
		t.Fatal("the schema of the examples is missing")
	}
	s := mustCompile(t, schema[1])
	seen := map[string]int{}
	for _, row := range docsRows(t) {
		seen[row.section]++
		switch row.section {
		case "What is tolerated":
			reads(t, s, row.example, row.result)
		case "What is not":
			if got, err := Read(row.example, s); err == nil || !strings.Contains(err.Error(), row.result) {
				t.Errorf("%s: Read(%q) = %s, %v; want an error that says %q", row.what, row.example, got.JSON, err, row.result)
			}
		case "Schemas":
			if _, err := Compile([]byte(row.example)); err == nil || !strings.Contains(err.Error(), row.result) {
				t.Errorf("%s: Compile(%s): got %v, want an error that says %q", row.what, row.example, err, row.result)
			}
		}
	}
	if seen["What is tolerated"] < 14 || seen["What is not"] < 14 || seen["Schemas"] < 8 {
		t.Errorf("examples were found in these numbers: %v", seen)
	}
}
