package cron

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// fault is one thing that is wrong with a cron file.
type fault struct {
	line int
	text string
}

// faults collects what is wrong, so that all of it is told at once.
type faults struct{ list []fault }

func (f *faults) add(line int, format string, args ...any) {
	f.list = append(f.list, fault{line, fmt.Sprintf(format, args...)})
}

// err joins what was found, in the order of lines. It is nil if nothing was.
func (f *faults) err() error {
	slices.SortStableFunc(f.list, func(a, b fault) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for _, x := range f.list {
		errs = append(errs, fmt.Errorf("line %d: %s", x.line, x.text))
	}
	return errors.Join(errs...)
}

// maxFile is how large a cron file may be, in bytes.
const maxFile = 1 << 20

var mark = []byte("\xef\xbb\xbf") // a byte-order mark

// parseDocument reads data as one YAML document. What is wrong with its syntax
// goes to f; then there is no node.
func parseDocument(data []byte, f *faults) *yaml.Node {
	if len(data) > maxFile {
		f.add(1, "the file has more than %d bytes, which is the most that is read", maxFile)
		return nil
	}
	data = bytes.TrimPrefix(data, mark)
	if len(bytes.TrimSpace(data)) == 0 {
		f.add(1, "jobs: the file is empty; it needs the key jobs with a list of at least one job")
		return nil
	}
	var doc yaml.Node
	err := yaml.Load(data, &doc)
	empty := err == nil && len(doc.Content) == 0 || err != nil && strings.Contains(err.Error(), "no documents")
	if err != nil && !empty {
		explain(err, data, f)
		return nil
	}
	if empty {
		f.add(1, "jobs: the file has no content; it needs the key jobs with a list of at least one job")
		return nil
	}
	return doc.Content[0]
}

// explain says what is wrong with the syntax. A schedule without quotes is the
// usual reason, and nobody would guess it from what the parser says.
func explain(err error, data []byte, f *faults) {
	if unquoted(data, f) {
		return
	}
	var le *yaml.LoadError
	line, text := 1, err.Error()
	if errors.As(err, &le) {
		if line = le.Mark.Line; line == 0 {
			line = max(1, le.ContextMark.Line)
		}
		text = strings.TrimPrefix(le.Message, "yaml: ")
		if le.ContextMsg != "" {
			text += " " + le.ContextMsg
		}
	}
	if strings.Contains(text, "found multiple") {
		f.add(secondDocument(data), "a second document begins here; a cron file is one document")
		return
	}
	f.add(line, "this is no YAML: %s", text)
}

var (
	bareSchedule = []*regexp.Regexp{
		regexp.MustCompile(`^\s*(?:-\s+)?["']?schedule["']?\s*:\s+([*@%].*?)\s*(?:\s#.*)?$`),
		regexp.MustCompile(`[{,]\s*["']?schedule["']?\s*:\s+([*@%][^,}]*?)\s*[,}]`), // in a mapping on one line
	}
	jobName  = regexp.MustCompile(`(?:^\s*(?:-\s+)?|[{,]\s*)["']?name["']?\s*:\s+["']?([A-Za-z0-9_-]+)`)
	jobStart = regexp.MustCompile(`^\s*-\s`)
)

// unquoted reports schedules that begin with a character that means something
// to YAML.
func unquoted(data []byte, f *faults) bool {
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	found := false
	for i, line := range lines {
		m := bareSchedule[0].FindStringSubmatch(line)
		if m == nil {
			m = bareSchedule[1].FindStringSubmatch(line)
		}
		if m == nil {
			continue
		}
		found = true
		f.add(i+1, "%sschedule: quote the schedule, since a %c at its start means something else in YAML: schedule: %q",
			nameNear(lines, i), m[1][0], m[1])
	}
	return found
}

// nameNear finds the name of the job that line i belongs to.
func nameNear(lines []string, i int) string {
	for at := i; at >= 0; at-- {
		if m := jobName.FindStringSubmatch(lines[at]); m != nil {
			return fmt.Sprintf("job %q: ", m[1])
		}
		if jobStart.MatchString(lines[at]) {
			break
		}
	}
	for at := i + 1; at < len(lines) && !jobStart.MatchString(lines[at]); at++ {
		if m := jobName.FindStringSubmatch(lines[at]); m != nil {
			return fmt.Sprintf("job %q: ", m[1])
		}
	}
	return ""
}

func secondDocument(data []byte) int {
	seen := false
	for i, line := range strings.Split(string(data), "\n") {
		begins := strings.HasPrefix(line, "---")
		if begins && seen {
			return i + 1
		}
		if text := strings.TrimSpace(line); begins || text != "" && text[0] != '#' && text[0] != '%' {
			seen = true
		}
	}
	return 1
}

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	line  int
	value *yaml.Node
}

// entries lists the keys of a mapping, those merged into it (<<) first unless
// the mapping itself has them. Keys given twice go to f.
func entries(node *yaml.Node, where string, f *faults) []entry {
	var merged, own []entry
	seen := make(map[string]int)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], follow(node.Content[i+1])
		if key.Tag == "!!merge" {
			merged = append(merged, mergedEntries(value, key.Line, where, f)...)
			continue
		}
		if first, twice := seen[key.Value]; twice {
			f.add(key.Line, "%s%s: the key is given twice, here and in line %d", where, key.Value, first)
			continue
		}
		seen[key.Value] = key.Line
		own = append(own, entry{key.Value, key.Line, value})
	}
	merged = slices.DeleteFunc(merged, func(e entry) bool { return seen[e.key] > 0 })
	return append(merged, own...)
}

func mergedEntries(value *yaml.Node, line int, where string, f *faults) []entry {
	if value.Kind != yaml.MappingNode {
		f.add(line, "%s<<: only one mapping can be merged in", where)
		return nil
	}
	var list []entry
	for i := 0; i+1 < len(value.Content); i += 2 {
		if value.Content[i].Tag == "!!merge" {
			f.add(line, "%s<<: what is merged in must not merge in more", where)
			continue
		}
		list = append(list, entry{value.Content[i].Value, line, follow(value.Content[i+1])})
	}
	return list
}

// follow returns what an alias stands for.
func follow(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	return node
}
