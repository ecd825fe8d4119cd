package env

import (
	"slices"
	"strings"

	"github.com/psyb0t/aicodebox/internal/spelling"
)

// Names under the prefixes that are no settings of the box: what the host's
// launcher reads or hands on. One that ends in _ stands for all that begin so.
var launcher = []string{
	"ENV_", "MOUNT_", "HOST_", "LAUNCH_CONTEXT_VERSION",
	"DATA_DIR", "SSH_DIR", "IMAGE", "FULL", "DETACH", "INSTALL_DIR", "BIN_NAME", "MANAGED_INSTALL",
}

// WarnUnknown warns of every variable in environ (NAME=value) that has a prefix
// of the box, a value, and was not declared. If a declared name is close, it is
// named. Flags of modes are left out: see Flags.
func (t *Table) WarnUnknown(environ []string) {
	for _, full := range t.own(environ) {
		name := t.bare(full)
		if t.known(name) || strings.HasSuffix(name, flagSuffix) {
			continue
		}
		if near := t.nearest(name); near != "" {
			t.Warnf("%s is not a variable of this box and is ignored; did you mean %s?", full, strings.TrimSuffix(full, name)+near)
			continue
		}
		t.Warnf("%s is not a variable of this box and is ignored", full)
	}
}

// flagSuffix ends the name of a mode's flag.
const flagSuffix = "_MODE"

// Flags returns the modes whose flags have a value in environ, sorted: "API"
// for AICODEBOX_API_MODE.
func (t *Table) Flags(environ []string) []string {
	var modes []string
	for _, full := range t.own(environ) {
		if mode, ok := strings.CutSuffix(t.bare(full), flagSuffix); ok {
			modes = append(modes, mode)
		}
	}
	slices.Sort(modes)
	return slices.Compact(modes)
}

// own returns the full names, sorted, of the variables in environ that have a
// prefix of the box and a value.
func (t *Table) own(environ []string) []string {
	var names []string
	for _, entry := range environ {
		full, _, _ := strings.Cut(entry, "=")
		if t.bare(full) == "" {
			continue
		}
		if v, _ := t.lookup(full); v != "" {
			names = append(names, full)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Owns tells whether a variable's full name has a prefix of the box.
func (t *Table) Owns(full string) bool {
	return strings.HasPrefix(full, Prefix) || t.brand != "" && strings.HasPrefix(full, t.brand)
}

func (t *Table) bare(full string) string {
	for _, prefix := range t.prefixes() {
		if name, ok := strings.CutPrefix(full, prefix); ok {
			return name
		}
	}
	return ""
}

func (t *Table) known(name string) bool {
	if i, ok := t.at[name]; ok && !t.rows[i].Foreign {
		return true
	}
	if secret, ok := strings.CutSuffix(name, fileSuffix); ok {
		if i, ok := t.at[secret]; ok && t.rows[i].Secret {
			return true
		}
	}
	return slices.ContainsFunc(launcher, func(n string) bool {
		return n == name || strings.HasSuffix(n, "_") && strings.HasPrefix(name, n)
	})
}

// nearest returns the declared name that name most likely was meant to be, or
// nothing.
func (t *Table) nearest(name string) string {
	best, found := 1+max(1, len(name)/5), ""
	for _, row := range t.rows {
		if row.Foreign {
			continue
		}
		names := []string{row.Name}
		if row.Secret {
			names = append(names, row.Name+fileSuffix)
		}
		for _, candidate := range names {
			d := spelling.Distance(name, candidate)
			if shortened(name, candidate) {
				d = 1
			}
			if d < best {
				best, found = d, candidate
			}
		}
	}
	return found
}

// shortened tells whether name is long with a part left out that is easily
// forgotten: the mode in front, or the word MODE.
func shortened(name, long string) bool {
	return strings.HasSuffix(long, "_MODE_"+name) || strings.Replace(long, "_MODE_", "_", 1) == name
}
