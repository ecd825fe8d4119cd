package aicodebox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psyb0t/aicodebox/internal/atomicfile"
	"github.com/psyb0t/aicodebox/internal/env"
	"github.com/psyb0t/aicodebox/internal/foreground"
)

// start is one start of a box: what was read, and what was found wrong.
type start struct {
	options
	adapter   Adapter
	table     *env.Table
	box       *Box
	on        []string // modes whose flag is set
	workspace string   // root of the workspaces
	base      []string // the agents' environment before anything adds to it
	files     []settingsFile
	logTo     *logWriter // nil with a logger of the program's own
	wrong     []string   // besides what the table knows
}

// The groups of variables that are no surface's.
const (
	coreGroup    = "core"
	adapterGroup = "adapter"
)

// prepare takes the options, checks the adapter, and reads the core's
// variables and the flags. It touches no file. The start is usable for
// complaints even if there is an error.
func prepare(a Adapter, opts []Option) (*start, error) {
	s := &start{options: defaults(), adapter: a}
	for _, o := range opts {
		if o == nil {
			return s, errors.New("a nil option was given")
		}
		o.apply(&s.options)
	}
	if err := errors.Join(checkAdapter(a), s.check()); err != nil {
		return s, err
	}
	s.table = env.New(s.lookup, s.brand).Group(coreGroup)
	s.newBox()
	s.readCore()
	s.readFlags()
	if len(s.on) > 0 {
		s.checkBinary()
	}
	return s, nil
}

// readFlags finds the modes to start.
func (s *start) readFlags() {
	var linked []string
	for _, surface := range s.surfaces {
		mode := surface.Mode()
		if slices.Contains(linked, mode) {
			continue
		}
		linked = append(linked, mode)
		if s.table.Bool(mode+"_MODE", false, "turns the "+mode+" mode on") {
			s.on = append(s.on, mode)
		}
	}
	s.refuseFlags(linked)
	if slices.Contains(s.on, "API") && len(s.box.models) == 0 {
		s.table.Errorf("AVAILABLE_MODELS", "is empty and the adapter offers no models; the API mode needs a list of models separated by commas")
	}
}

// refuseFlags reports the flags that no linked surface answers to.
func (s *start) refuseFlags(linked []string) {
	// The house's own modes are asked for by name, since Lookup may know
	// variables that the process's environment does not list.
	flags := append(s.table.Flags(s.environ), "API", "CRON", "MCP", "TELEGRAM")
	slices.Sort(flags)
	for _, mode := range slices.Compact(flags) {
		value, _, set := s.table.Value(mode + "_MODE")
		if on, ok := env.Switch(value); !set || ok && !on || slices.Contains(linked, mode) {
			continue
		}
		known := "none"
		if len(linked) > 0 {
			known = strings.Join(linked, ", ")
		}
		s.table.Errorf(mode+"_MODE", "is set, but no surface of this program answers to it; the modes it has: %s", known)
	}
}

// enabled tells whether the mode of surface is on.
func (s *start) enabled(surface Surface) bool { return slices.Contains(s.on, surface.Mode()) }

// read reads the settings of all surfaces and of the adapter. With open, the
// root of the workspaces is made when it is missing, and one that cannot be
// used is an error.
func (s *start) read(open bool) {
	s.openRoot(open)
	for _, surface := range s.surfaces {
		if with, ok := surface.(SettingsSurface); ok {
			with.Settings(s.settings(surface.Mode()))
		}
	}
	if err := Setup(s.adapter, s.settings(adapterGroup)); err != nil {
		s.wrong = append(s.wrong, lines(err)...)
	}
	s.table.WarnUnknown(s.environ)
	s.box.agentEnv = lastWins(append(s.withoutSecrets(), s.box.agentEnv...))
	for _, surface := range s.surfaces {
		if with, ok := surface.(NotifySurface); ok {
			s.box.notifiers = append(s.box.notifiers, with)
		}
	}
}

func (s *start) settings(group string) Settings {
	return Settings{table: s.table.Group(group), box: s.box, files: &s.files}
}

// errors returns everything that keeps the box from starting.
func (s *start) errors() []string {
	texts := s.table.Errors(func(group string) bool {
		return group == coreGroup || group == adapterGroup || slices.Contains(s.on, group)
	})
	for _, text := range s.wrong {
		if text = s.table.Scrub(text); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// lines returns the errors that were joined to err, one text each.
func lines(err error) []string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []string
		for _, e := range joined.Unwrap() {
			texts = append(texts, lines(e)...)
		}
		return texts
	}
	return []string{err.Error()}
}

// writeFiles writes the files that the adapter asked for.
func (s *start) writeFiles() error {
	for _, f := range s.files {
		err := os.MkdirAll(filepath.Dir(f.path), 0o700)
		if err == nil {
			err = atomicfile.Write(f.path, f.data, f.mode)
		}
		if err != nil {
			return fmt.Errorf("write a file for the agent: %w", err)
		}
	}
	return nil
}

// complain prints what keeps the program from doing what it was asked.
func (s *start) complain(texts ...string) {
	for _, text := range texts {
		for line := range strings.SplitSeq(text, "\n") {
			fmt.Fprintf(s.stderr, "%s: %s\n", s.program(), line)
		}
	}
}

// program is the name the program goes by in messages.
func (s *start) program() string {
	if s.brand != "" {
		return s.brand
	}
	return defaultBrand
}

// main does what the command line and the flags ask for.
func (s *start) main(ctx context.Context, args []string) int {
	if len(args) > 0 && args[0] == "box" {
		return s.command(ctx, args[1:])
	}
	if len(args) > 1 && args[0] == "--" && args[1] == "box" {
		args = args[1:]
	}
	if len(s.on) == 0 {
		return s.becomeAgent(args)
	}
	beside := len(s.on) == 1 && s.on[0] == "MCP"
	if len(args) > 0 && !beside {
		s.complain(fmt.Sprintf("arguments go to the agent, but %s is set and the box serves instead; unset it, or leave out %q (box commands begin with the word box)",
			s.flagNames(), strings.Join(args, " ")))
		return exitRefused
	}
	return s.serve(ctx, beside && (len(args) > 0 || foreground.IsTerminal()), args)
}

// flagNames returns the full names of the flags that are set.
func (s *start) flagNames() string {
	var set []string
	for _, mode := range s.on {
		_, from, _ := s.table.Value(mode + "_MODE")
		set = append(set, from)
	}
	return strings.Join(set, ", ")
}
