package aicodebox

import (
	"slices"
	"strings"
)

// The launcher's account of the host, which agents may know.
const (
	contextVersion = "AICODEBOX_LAUNCH_CONTEXT_VERSION"
	contextPrefix  = "AICODEBOX_HOST_"
)

// readAgentEnv returns the environment of agents before an adapter or a
// surface adds to it: the process's own without what is the box's.
func (s *start) readAgentEnv() []string {
	allowed := s.table.List("AGENT_ENV", "names of the variables that agents get, * at the end for all that begin so; unset: all but the box's own")
	listed := s.table.IsSet("AGENT_ENV")
	var out []string
	for _, entry := range s.environ {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case name == contextVersion || strings.HasPrefix(name, contextPrefix):
		case s.table.Owns(name) || listed && !matches(allowed, name):
			continue
		}
		out = append(out, entry)
	}
	return out
}

// withoutSecrets returns that environment without the variables that hold a
// secret of the box under another name. The adapter's secrets are the agent's.
func (s *start) withoutSecrets() []string {
	secrets := s.table.Secrets(adapterGroup)
	return slices.DeleteFunc(slices.Clone(s.base), func(entry string) bool {
		_, value, _ := strings.Cut(entry, "=")
		return slices.Contains(secrets, value)
	})
}

// matches tells whether name is in the list of names and beginnings.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		if start, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(name, start)
		}
		return pattern == name
	})
}

// lastWins removes the entries of environ that a later one replaces: of two
// with one name, most programs would take the first.
func lastWins(environ []string) []string {
	last := make(map[string]int, len(environ))
	for i, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		last[name] = i
	}
	out := make([]string, 0, len(last))
	for i, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if last[name] == i {
			out = append(out, entry)
		}
	}
	return out
}
