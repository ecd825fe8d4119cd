package aicodebox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/psyb0t/aicodebox/internal/env"
)

// printVariables prints what was declared as Markdown: a section for the core,
// each mode and the adapter, with a table each. Names stand without prefix.
func (s *start) printVariables() int {
	var groups []string
	rows := make(map[string][]env.Row)
	for _, row := range s.table.Rows() {
		group := s.groupOf(row)
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		rows[group] = append(rows[group], row)
	}
	for i, group := range groups {
		if i > 0 {
			s.printf("\n")
		}
		s.printf("### %s\n\n| variable | accepts | default | meaning |\n|---|---|---|---|\n", title(group))
		for _, row := range rows[group] {
			s.printf("| `%s` | %s | %s | %s |\n", row.Name, cell(accepts(row)), s.defaultCell(row), cell(row.Meaning))
		}
	}
	return exitOK
}

// groupOf puts the flag of a mode, which the core reads, with the mode's rows.
func (s *start) groupOf(row env.Row) string {
	if mode, ok := strings.CutSuffix(row.Name, "_MODE"); ok && row.Group == coreGroup {
		return mode
	}
	return row.Group
}

func title(group string) string {
	switch group {
	case coreGroup:
		return "The box"
	case adapterGroup:
		return "The adapter"
	}
	return group + " mode"
}

func accepts(row env.Row) string {
	switch {
	case row.Secret:
		return "a secret; has a `_FILE` form"
	case row.Foreign:
		return row.Accepts + "; read without a prefix"
	}
	return row.Accepts
}

// defaultCell shows a default as a user would write it.
func (s *start) defaultCell(row env.Row) string {
	def := row.Default
	if def == "" {
		return "none"
	}
	if row.Name != "STATE_DIR" {
		def = below(def, s.box.stateDir, "$STATE_DIR")
	}
	if home, err := s.home(); err == nil {
		def = below(def, home, "$HOME")
	}
	return "`" + cell(def) + "`"
}

// below replaces the directory dir at the start of path by name.
func below(path, dir, name string) string {
	if rest, ok := strings.CutPrefix(path, dir+string(filepath.Separator)); ok {
		return name + "/" + filepath.ToSlash(rest)
	}
	return path
}

// cell keeps a text inside its cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}
