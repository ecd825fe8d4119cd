package aicodebox

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/psyb0t/aicodebox/internal/env"
	"github.com/psyb0t/aicodebox/internal/foreground"
	"github.com/psyb0t/aicodebox/internal/health"
)

// Command is what `<program> box <name>` does.
type Command struct {
	Name    string // one word
	Summary string // what it does, in one line

	// Ready makes the box ready to run prompts before Run is called: the
	// configuration of the core, the adapter and the surface that offers the
	// command must be good, and the adapter's files are written. Otherwise
	// the box is only described. Init is not called in either case.
	Ready bool

	// Run does it. args are the words after the name; what the user asked
	// for goes to out. An error is printed, and the exit status is 1. ctx
	// ends with a signal to stop.
	Run func(ctx context.Context, box *Box, args []string, out io.Writer) error
}

// CommandSurface is a surface that adds commands to the binary, whether its
// mode is on or not. Commands is called after Settings.
type CommandSurface interface {
	Surface
	Commands() []Command
}

// builtin is a command of the box itself. It returns the exit status.
type builtin struct {
	name, summary string
	run           func(s *start) int
}

func builtins() []builtin {
	return []builtin{
		{"help", "prints the commands and the variables", (*start).help},
		{"version", "prints the version", (*start).printVersion},
		{"doctor", "looks for what keeps the box from working, and says how to mend it", (*start).doctor},
		{"config", "prints the configuration in force, secrets masked, and where each value is from", (*start).printConfig},
		{"variables", "prints the table of variables as Markdown", (*start).printVariables},
		{"health", "asks the running box whether it is well; for a container's health check", (*start).health},
	}
}

// command runs `box <args>` and returns the exit status.
func (s *start) command(ctx context.Context, args []string) int {
	name := "help"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if name == "--help" || name == "-h" {
		name = "help"
	}
	for _, b := range builtins() {
		if b.name != name {
			continue
		}
		if len(args) > 0 {
			s.complain(fmt.Sprintf("box %s takes no arguments, and got %q", name, strings.Join(args, " ")))
			return exitRefused
		}
		if name != "version" {
			s.read(false)
		}
		return b.run(s)
	}
	return s.surfaceCommand(ctx, name, args)
}

// surfaceCommand runs a command that a surface offers.
func (s *start) surfaceCommand(ctx context.Context, name string, args []string) int {
	s.read(false)
	var known []string
	for _, b := range builtins() {
		known = append(known, b.name)
	}
	for _, surface := range s.surfaces {
		with, ok := surface.(CommandSurface)
		if !ok {
			continue
		}
		for _, c := range with.Commands() {
			if c.Name == name {
				return s.runCommand(ctx, surface, c, args)
			}
			known = append(known, c.Name)
		}
	}
	slices.Sort(known)
	s.complain(fmt.Sprintf("box %s is no command of this program; it has: %s", name, strings.Join(slices.Compact(known), ", ")))
	return exitRefused
}

func (s *start) runCommand(ctx context.Context, surface Surface, c Command, args []string) int {
	if c.Ready {
		if code := s.ready(surface); code != exitOK {
			return code
		}
		s.seal()
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := c.Run(ctx, s.box, args, s.stdout)
	s.close()
	if err != nil {
		s.complain(fmt.Sprintf("box %s: %v", c.Name, err))
		return exitFailed
	}
	return exitOK
}

// ready makes the box able to run prompts for a command of surface.
func (s *start) ready(surface Surface) int {
	if !s.enabled(surface) {
		s.on = append(s.on, surface.Mode()) // what is wrong with its settings counts
	}
	if s.box.root == nil {
		s.openRoot(true)
	}
	s.checkBinary()
	if texts := s.errors(); len(texts) > 0 {
		s.complain(texts...)
		return exitRefused
	}
	if err := s.writeFiles(); err != nil {
		s.complain(err.Error())
		return exitFailed
	}
	s.warn()
	return exitOK
}

// printf prints what the user asked for.
func (s *start) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.stdout, format, args...) // a reader that has gone asks for no more
}

func (s *start) printVersion() int {
	module := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/psyb0t/aicodebox" && m.Version != "" {
				module = m.Version
			}
		}
	}
	s.printf("%s %s (aicodebox %s, %s, %s/%s)\n", s.program(), s.version, module, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK
}

func (s *start) help() int {
	p := s.program()
	s.printf("%s runs the agent %s, or serves it.\n\n", p, s.box.desc.Name)
	s.printf("  %s [arguments]            becomes the agent; the arguments are the agent's\n", p)
	s.printf("  %s -- box [arguments]     the same, for arguments that begin with the word box\n", p)
	s.printf("  %s box <command>          does one of these:\n\n", p)
	for _, b := range builtins() {
		s.printf("    %-10s %s\n", b.name, b.summary)
	}
	for _, surface := range s.surfaces {
		if with, ok := surface.(CommandSurface); ok {
			for _, c := range with.Commands() {
				s.printf("    %-10s %s\n", c.Name, c.Summary)
			}
		}
	}
	s.printf("\nWith a mode's flag set, it serves. Variables (each can be set as %s<NAME> too):\n\n", env.Prefix)
	w := tabwriter.NewWriter(s.stdout, 0, 8, 2, ' ', 0)
	for _, row := range s.table.Rows() {
		def := row.Default
		if def == "" {
			def = "-"
		}
		_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\n", s.fullName(row), def, row.Meaning)
	}
	_ = w.Flush()
	s.printf("\nA secret can also be given as the name of a file, in <NAME>_FILE: %s\n", strings.Join(s.secretNames(), ", "))
	return exitOK
}

func (s *start) fullName(row env.Row) string {
	if row.Foreign {
		return row.Name
	}
	return s.table.Name(row.Name)
}

func (s *start) secretNames() []string {
	names := []string{}
	for _, row := range s.table.Rows() {
		if row.Secret {
			names = append(names, s.table.Name(row.Name))
		}
	}
	if len(names) == 0 {
		names = append(names, "none here")
	}
	return names
}

// printConfig prints what is in force, and returns exitRefused if a box would
// not start so.
func (s *start) printConfig() int {
	w := tabwriter.NewWriter(s.stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "NAME\tVALUE\tFROM\n")
	for _, row := range s.table.Rows() {
		from := row.From
		if from == "" {
			from = "default"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", s.fullName(row), printable(row.Value), from)
	}
	_ = w.Flush()
	for _, text := range s.table.Warnings() {
		s.complain("warning: " + text)
	}
	if texts := s.errors(); len(texts) > 0 {
		s.complain(texts...)
		return exitRefused
	}
	return exitOK
}

// printable keeps a value on its line.
func printable(value string) string {
	if value == "" {
		return "-"
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Sprintf("%q", value)
	}
	return value
}

// health asks the box that runs under this name.
func (s *start) health() int {
	state, err := health.Ask(s.socket())
	switch {
	case err == nil && state == health.Serving:
		s.printf("%s\n", state)
		return exitOK
	case err == nil:
		s.complain("the box is " + state)
		return exitFailed
	case len(s.on) == 0 && s.agentRuns():
		s.printf("ok: the agent runs in the foreground\n")
		return exitOK
	}
	s.complain(fmt.Sprintf("no box answers on %s: %v", s.socket(), err))
	return exitFailed
}

// agentRuns tells whether a box of this name has become its agent and lives.
func (s *start) agentRuns() bool {
	stamp, err := os.ReadFile(s.stampFile())
	return err == nil && foreground.Alive(string(stamp))
}
