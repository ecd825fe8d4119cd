package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
)

// markerName is the environment variable by which a run's processes are found.
// Its value is the box's instance id, a dot, and the run's id.
const markerName = "AICODEBOX_RUN"

// maxWord is the longest argv string Linux can pass, without its closing NUL
// (MAX_ARG_STRLEN, 32 pages).
const maxWord = 128<<10 - 1

// outcome is one attempt: the process's end and the adapter's reading of it.
type outcome struct {
	exit
	reply    aicodebox.Reply
	parseErr error // the adapter could not read the output
}

// attempt runs the agent once for req. The error is a RefusedError: nothing
// was started.
func (f *flight) attempt(ctx context.Context, index int, req aicodebox.Request) (outcome, error) {
	c, err := f.command(req)
	if err != nil {
		return outcome{}, err
	}
	if index == 0 && f.started != nil {
		f.started(f.id)
	}
	parse := f.parser(req)
	c.line = func(data []byte) bool {
		f.recorder.add(index, data)
		return f.tell(parse(data))
	}
	began := time.Now()
	o := outcome{exit: c.run(ctx)}
	if o.heavy {
		defer leaveHeavy()
	}
	f.log().Debug("attempt ended", "attempt", index, "exit", o.code, "took", time.Since(began),
		"stdout", len(o.stdout), "stderr", len(o.stderr))
	f.noteExit(o.exit)
	if o.startErr == nil {
		o.reply, o.parseErr = f.parseOutput(req, o.exit)
	}
	return o, nil
}

// command builds the command line and environment of one attempt.
func (f *flight) command(req aicodebox.Request) (command, error) {
	argv, err := f.buildArgv(req)
	if err != nil {
		return command{}, err
	}
	if err := checkArgv(argv, req); err != nil {
		return command{}, err
	}
	mark := markerName + "=" + f.box.Instance() + "." + f.info.ID
	c := command{
		argv: argv, dir: req.Workspace, env: f.environment(req, mark), mark: mark,
		limit: req.Timeout, keep: !f.box.Limits().KillBackground && !f.ephemeral,
		seen: f.track, reaper: f.engine.reaper,
	}
	if !slices.Contains(argv[1:], req.Prompt) {
		c.stdin = req.Prompt
	}
	return c, nil
}

func (f *flight) buildArgv(req aicodebox.Request) (argv []string, err error) {
	err = f.guard("BuildArgv", func() error {
		argv, err = f.box.Adapter().BuildArgv(req)
		return err
	})
	switch {
	case err != nil:
		return nil, &RefusedError{Reason: err.Error(), cause: err}
	case len(argv) == 0 || argv[0] == "":
		return nil, &RefusedError{Reason: "the adapter gave no command line for this request"}
	case argv[0] == f.engine.binary:
		argv = slices.Clone(argv)
		argv[0] = f.box.Agent().Binary
	}
	return argv, nil
}

// checkArgv refuses what execve(2) would refuse, in words.
func checkArgv(argv []string, req aicodebox.Request) error {
	for i, word := range argv {
		field, what := part(word, req)
		if what == "" {
			what = fmt.Sprintf("argument %d of the agent's command line", i)
		}
		if strings.IndexByte(word, 0) >= 0 {
			return &RefusedError{Field: field, Reason: what + " holds a NUL character, which no program can be given"}
		}
		if len(word) > maxWord {
			return &RefusedError{Field: field, TooLarge: true, Reason: fmt.Sprintf(
				"%s is %d bytes long; this agent takes it as one argument, which can hold %d", what, len(word), maxWord)}
		}
	}
	return nil
}

// part names the field of req that word carries.
func part(word string, req aicodebox.Request) (field, what string) {
	for _, f := range []struct{ field, what, text string }{
		{"prompt", "the prompt", req.Prompt},
		{"systemPrompt", "the system prompt", req.System},
		{"appendSystemPrompt", "the appended system prompt", req.AppendSystem},
		{"jsonSchema", "the JSON schema", string(req.Schema)},
		{"model", "the model's name", req.Model},
		{"resume", "the session id", req.Resume},
	} {
		if f.text != "" && strings.Contains(word, f.text) {
			return f.field, f.what
		}
	}
	if slices.Contains(req.ExtraArgs, word) {
		return "extraArgs", "one of the extra arguments"
	}
	return "", ""
}

// environment is what the agent's process starts with.
func (f *flight) environment(req aicodebox.Request, mark string) []string {
	env := f.box.AgentEnv()
	err := f.guard("BuildEnv", func() error {
		env = aicodebox.BuildEnv(f.box.Adapter(), req, env)
		return nil
	})
	if err != nil {
		env = f.box.AgentEnv()
	}
	env = append(env, req.Env...)
	return append(env, "PWD="+req.Workspace, mark)
}

// parser is the adapter's parser of live output, guarded.
func (f *flight) parser(req aicodebox.Request) func([]byte) []aicodebox.Event {
	var parse func([]byte) []aicodebox.Event
	err := f.guard("StreamParser", func() error {
		parse = aicodebox.StreamParser(f.box.Adapter(), req)
		return nil
	})
	if err != nil || parse == nil {
		return func([]byte) []aicodebox.Event { return nil }
	}
	broken := false
	return func(data []byte) (events []aicodebox.Event) {
		if broken {
			return nil
		}
		broken = f.guard("StreamParser", func() error {
			events = parse(data)
			return nil
		}) != nil
		return events
	}
}

// tell hands events on and tells whether the answer is complete.
func (f *flight) tell(events []aicodebox.Event) (complete bool) {
	for _, e := range events {
		if e.Kind == aicodebox.EventDone {
			complete = true
		}
		if f.events != nil {
			e.Text = strings.ToValidUTF8(e.Text, "\uFFFD")
			f.events(e)
		}
	}
	return complete
}

func (f *flight) parseOutput(req aicodebox.Request, e exit) (reply aicodebox.Reply, err error) {
	err = f.guard("ParseOutput", func() error {
		reply, err = f.box.Adapter().ParseOutput(req, aicodebox.Output{
			Stdout: e.stdout, Stderr: e.stderr, ExitCode: e.code,
		})
		return err
	})
	reply.Text = strings.ToValidUTF8(reply.Text, "\uFFFD")
	return reply, err
}

// guard calls one of the adapter's methods and turns a panic into an error.
func (f *flight) guard(method string, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			f.log().Error("the adapter panicked", "method", method, "panic", fmt.Sprint(r))
			err = fmt.Errorf("the adapter failed in %s; the box's log has the details", method)
		}
	}()
	return call()
}

// noteExit keeps what a person should know of how the process ended.
func (f *flight) noteExit(e exit) {
	if e.leftovers > 0 {
		f.note(fmt.Sprintf("%d processes that the agent left in its group were ended", e.leftovers))
	}
	if e.held {
		f.note("a process that the agent left behind still held its output open")
	}
	if e.dropped > 0 {
		f.note(fmt.Sprintf("%d bytes of output were not kept", e.dropped))
	}
	if e.lingered {
		f.note("the agent did not end by itself after its answer and was ended")
	}
	f.keepBackground(e.background)
}

// scratch makes the run's private directory.
func scratch() (string, error) {
	dir, err := os.MkdirTemp("", "aicodebox-run-")
	if err != nil {
		return "", fmt.Errorf("make the run's scratch directory: %w", err)
	}
	return filepath.Clean(dir), nil
}

// track notes the processes of a run in flight, for the box's next start.
func (f *flight) track(processes []ledger.Process) {
	if slices.Equal(f.tracked, processes) {
		return
	}
	f.tracked = processes
	f.engine.track(f.info.ID, processes)
}
