// Package adaptertest checks that an adapter keeps the promises that the box
// relies on. An adapter's author calls it from an ordinary test:
//
//	func TestAdapter(t *testing.T) {
//		adaptertest.Test(t, PiAdapter{},
//			adaptertest.Wants("Describe", "StreamParser"),
//			adaptertest.Transcripts("testdata/*.ndjson"),
//		)
//	}
//
// No agent is started. What is checked, each as a subtest:
//
//   - capabilities: every method with a capability's name is that capability,
//     and those that Wants names are there;
//   - argv: hostile prompts (options, file references, other scripts, one
//     megabyte) reach the agent once, by standard input or by argv and never by
//     both, and so does a prompt that equals another word of the command line;
//     no word is longer than an argv string can be; the request is not changed;
//   - environment: no secret in argv, and nothing lost from the environment;
//   - launch: a person's arguments are passed on;
//   - output: nothing that an agent may print, nothing at all included, makes
//     the adapter panic;
//   - transcripts: recorded output, whole and cut anywhere, gives the same text,
//     session, usage and failure whether it is read as it comes or at the end;
//   - concurrency: one value serves many requests at once (run with -race).
package adaptertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox"
)

// Option adds to what Test checks.
type Option func(*kit)

// Wants names capabilities that the adapter must have, by their method:
// "Describe", "Validate", "BuildEnv", "StreamParser", "Launch", "Setup". It
// guards against a method that was misspelt and so never called.
func Wants(methods ...string) Option {
	return func(k *kit) { k.wants = append(k.wants, methods...) }
}

// Transcripts gives recorded standard output of the agent: files, or patterns
// as of path/filepath.Glob. A file NAME.EXT may stand beside NAME.stderr, what
// the agent wrote to standard error, and NAME.exit, its exit code as a number;
// without them standard error was empty and the code 0.
func Transcripts(patterns ...string) Option {
	return func(k *kit) { k.patterns = append(k.patterns, patterns...) }
}

// Request changes the request that the checks start from, for an adapter that
// cannot do without a model, say.
func Request(change func(*aicodebox.Request)) Option {
	return func(k *kit) { k.change = append(k.change, change) }
}

// kit is one run of the checks.
type kit struct {
	adapter   aicodebox.Adapter
	wants     []string
	patterns  []string
	change    []func(*aicodebox.Request)
	workspace string
	scratch   string
	recorded  []transcript
}

// transcript is one recorded run of the agent.
type transcript struct {
	name string
	out  aicodebox.Output
}

// check is one thing to check; it returns what is wrong.
type check struct {
	name string
	run  func(*kit) []string
}

var checks = []check{
	{"capabilities", (*kit).checkCapabilities},
	{"argv", (*kit).checkPrompts},
	{"argv/collisions", (*kit).checkCollisions},
	{"argv/options", (*kit).checkOptions},
	{"argv/request", (*kit).checkUntouched},
	{"environment", (*kit).checkEnvironment},
	{"launch", (*kit).checkLaunch},
	{"output", (*kit).checkOutput},
	{"transcripts", (*kit).checkTranscripts},
	{"transcripts/cut", (*kit).checkCuts},
	{"transcripts/interleaved", (*kit).checkInterleaved},
	{"concurrency", (*kit).checkConcurrency},
}

// Test checks a. Each check is a subtest of t.
func Test(t *testing.T, a aicodebox.Adapter, opts ...Option) {
	t.Helper()
	k := &kit{adapter: a, workspace: t.TempDir(), scratch: t.TempDir()}
	for _, o := range opts {
		o(k)
	}
	if err := k.load(); err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			for _, problem := range c.run(k) {
				t.Error(problem)
			}
		})
	}
}

// load reads the transcripts.
func (k *kit) load() error {
	for _, pattern := range k.patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return fmt.Errorf("transcripts %q: %w", pattern, err)
		}
		if len(paths) == 0 {
			return fmt.Errorf("transcripts %q: no such file", pattern)
		}
		for _, path := range paths {
			recorded, err := read(path)
			if err != nil {
				return err
			}
			k.recorded = append(k.recorded, recorded)
		}
	}
	return nil
}

func read(path string) (transcript, error) {
	stdout, err := os.ReadFile(path)
	if err != nil {
		return transcript{}, err
	}
	base := strings.TrimSuffix(path, filepath.Ext(path))
	t := transcript{name: filepath.Base(path), out: aicodebox.Output{Stdout: stdout}}
	if t.out.Stderr, err = optional(base + ".stderr"); err != nil {
		return t, err
	}
	code, err := optional(base + ".exit")
	if err != nil || code == nil {
		return t, err
	}
	t.out.ExitCode, err = strconv.Atoi(strings.TrimSpace(string(code)))
	return t, err
}

func optional(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return data, err
}

// request is what the checks start from.
func (k *kit) request() aicodebox.Request {
	req := aicodebox.Request{
		Prompt: "Count the files in this directory.", Workspace: k.workspace, Scratch: k.scratch,
		Format: aicodebox.FormatText,
	}
	for _, change := range k.change {
		change(&req)
	}
	return req
}

// guard calls one of the adapter's methods and turns a panic into a problem.
func guard(what string, call func()) (problems []string) {
	defer func() {
		if r := recover(); r != nil {
			problems = []string{fmt.Sprintf("%s panicked: %v", what, r)}
		}
	}()
	call()
	return nil
}

// short shows the start of a text in a problem.
func short(s string) string {
	if len(s) > 60 {
		return strconv.Quote(s[:60]) + "…"
	}
	return strconv.Quote(s)
}
