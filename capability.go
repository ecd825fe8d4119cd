package aicodebox

import (
	"path/filepath"
)

// A capability is an optional method of an Adapter. Each has an interface,
// which an adapter's author asserts beside the type
//
//	var _ aicodebox.DescribeAdapter = PiAdapter{}
//
// and a function of the same name that asks for it and holds the default. No
// other code asserts on an adapter. The functions look through a wrapper that
// has the method Unwrap() Adapter; what the wrapper itself implements wins.

// as finds the outermost implementation of T in a and what it wraps.
func as[T any](a Adapter) (T, bool) {
	for {
		if t, ok := a.(T); ok {
			return t, true
		}
		w, ok := a.(interface{ Unwrap() Adapter })
		if !ok {
			var zero T
			return zero, false
		}
		a = w.Unwrap()
	}
}

// DescribeAdapter is an adapter that knows its agent's name, binary, models,
// thinking levels, and where its credentials and state lie.
type DescribeAdapter interface {
	Adapter
	Describe() Description
}

// Describe returns what a knows of its agent. Without the capability, and for
// an empty Name or Binary, both come from the first word of the command line
// for an empty request.
func Describe(a Adapter) Description {
	var d Description
	if c, ok := as[DescribeAdapter](a); ok {
		d = c.Describe()
	}
	if d.Binary == "" {
		if argv, err := a.BuildArgv(Request{}); err == nil && len(argv) > 0 {
			d.Binary = argv[0]
		}
	}
	if d.Name == "" && d.Binary != "" {
		d.Name = filepath.Base(d.Binary)
	}
	return d
}

// ValidateAdapter is an adapter that can refuse a request before anything
// starts. The error's text is shown to the caller.
type ValidateAdapter interface {
	Adapter
	Validate(req Request) error
}

// Validate asks a whether it can answer req. Without the capability every
// request is accepted.
func Validate(a Adapter, req Request) error {
	if c, ok := as[ValidateAdapter](a); ok {
		return c.Validate(req)
	}
	return nil
}

// BuildEnvAdapter is an adapter that changes the environment of the agent's
// process: translates credentials, adds, renames or removes variables.
type BuildEnvAdapter interface {
	Adapter
	BuildEnv(req Request, env []string) []string
}

// BuildEnv returns the environment for req's process, as NAME=value. env holds
// neither the box's own variables nor its secrets; it is a copy that may be
// changed. Without the capability env is returned as it is.
func BuildEnv(a Adapter, req Request, env []string) []string {
	if c, ok := as[BuildEnvAdapter](a); ok {
		return c.BuildEnv(req, env)
	}
	return env
}

// StreamParserAdapter is an adapter that understands the lines its agent
// prints while it works.
//
// StreamParser returns a fresh parser for one attempt. It is called with each
// line in order, without its line end, from one goroutine; the line is the
// parser's to keep. It returns the events of that line, or none.
type StreamParserAdapter interface {
	Adapter
	StreamParser(req Request) func(line []byte) []Event
}

// StreamParser returns a parser of live output. Without the capability every
// line is text, with a newline between it and the line before.
func StreamParser(a Adapter, req Request) func(line []byte) []Event {
	if c, ok := as[StreamParserAdapter](a); ok {
		return c.StreamParser(req)
	}
	first := true
	return func(line []byte) []Event {
		text := string(line)
		if !first {
			text = "\n" + text
		}
		first = false
		return []Event{{Kind: EventText, Text: text, Raw: line}}
	}
}

// LaunchAdapter is an adapter whose agent needs another command line when a
// person uses it in a terminal.
type LaunchAdapter interface {
	Adapter
	Launch(args []string) []string
}

// Launch returns the command line for interactive use, program first. args are
// the words after the box's own name, possibly none. Without the capability it
// is the agent's binary and args, untouched.
func Launch(a Adapter, args []string) []string {
	if c, ok := as[LaunchAdapter](a); ok {
		return c.Launch(args)
	}
	return append([]string{Describe(a).Binary}, args...)
}

// SetupAdapter is an adapter with settings of its own. Setup is called once
// before any mode or agent starts: it declares and reads its variables through
// s and queues the files the agent needs with s.File. All it finds wrong it
// reports at once, through s or as a joined error.
type SetupAdapter interface {
	Adapter
	Setup(s Settings) error
}

// Setup lets a read its settings. Without the capability there is nothing to do.
func Setup(a Adapter, s Settings) error {
	if c, ok := as[SetupAdapter](a); ok {
		return c.Setup(s)
	}
	return nil
}
