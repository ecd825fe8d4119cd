// Package aicodebox turns the command line of a coding agent into a service.
//
// An adapter says how one agent is run. The runner runs it. A surface is a way
// to ask: an HTTP API, a chat bot, a scheduler. The box is what surfaces share.
// A program's main function is where they meet:
//
//	func main() {
//		aicodebox.Run(PiAdapter{},
//			aicodebox.Brand("pibox"),
//			api.Surface(), openai.Surface(), mcp.Surface(), telegram.Surface(), cron.Surface(),
//		)
//	}
//
// What is linked is decided by imports, what starts by the environment:
// AICODEBOX_API_MODE=1, or PIBOX_API_MODE=1 with the brand above. Without any
// flag the program becomes the agent, so that it can stand in its place.
//
// Order of events: the options are read, the adapter is checked, the flags are
// read. With no flag set the agent is executed. Otherwise the settings of every
// surface and of the adapter are read and the enabled surfaces are initialised;
// whatever is wrong is told at once, and the exit status is 2. Then all
// surfaces serve until a signal: no new work is taken, prompts in hand go on
// for the grace time, what is left is ended, and the exit status is 0. A
// second signal ends everything at once with 128 and the signal's number. A
// surface that fails ends the box with 1.
//
// Values come from, first to last: AICODEBOX_<NAME>, <BRAND>_<NAME>, an option
// of the program, the default.
package aicodebox

import (
	"context"
	"errors"
	"os"
	"strings"
)

// The exit statuses of the box itself.
const (
	exitOK      = 0
	exitFailed  = 1
	exitRefused = 2   // the configuration or the command line is wrong
	exitSignal  = 128 // plus the signal's number
)

// Run is the main function of a box: it serves a until it is told to stop, or
// becomes the agent, and ends the process with the right exit status. It never
// returns.
func Run(a Adapter, opts ...Option) {
	os.Exit(Main(context.Background(), a, os.Args[1:], opts...))
}

// Main does what Run does and returns the exit status. args are the words
// after the program's name. The end of ctx is like a first signal to stop.
//
// Without a mode flag, and unless args begin with "box", Main replaces the
// process with the agent and returns only if that fails.
func Main(ctx context.Context, a Adapter, args []string, opts ...Option) int {
	s, err := prepare(a, opts)
	if err != nil {
		s.complain(err.Error())
		return exitRefused
	}
	return s.main(ctx, args)
}

// New returns a box for a that serves nothing by itself, with the settings of
// its surfaces read and none of them initialised: for tests, and for programs
// with a life cycle of their own. The error holds everything that is wrong, one
// line each. The caller closes the box.
func New(a Adapter, opts ...Option) (*Box, error) {
	s, err := prepare(a, opts)
	if err != nil {
		return nil, err
	}
	s.read(true)
	if texts := s.errors(); len(texts) > 0 {
		return nil, errors.New(strings.Join(texts, "\n"))
	}
	if err := s.writeFiles(); err != nil {
		return nil, err
	}
	return s.box, nil
}
