package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/psyb0t/aicodebox"
)

// PiAdapter runs pi, the coding agent of the npm package
// @earendil-works/pi-coding-agent, as version 1.6.0 behaves.
//
// pi is asked in its JSON mode whatever the caller wants to have, because text
// mode hides why an answer ended, what it cost, and which session it belongs to.
type PiAdapter struct{}

var (
	_ aicodebox.DescribeAdapter     = PiAdapter{}
	_ aicodebox.ValidateAdapter     = PiAdapter{}
	_ aicodebox.BuildEnvAdapter     = PiAdapter{}
	_ aicodebox.StreamParserAdapter = PiAdapter{}
)

// Describe names pi, its thinking levels, and the files under ~/.pi/agent.
func (PiAdapter) Describe() aicodebox.Description {
	return aicodebox.Description{
		Name:        "pi",
		Binary:      "pi",
		Efforts:     []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"},
		Credentials: []string{"~/.pi/agent/auth.json", "~/.pi/agent/models.json", "~/.pi/agent/mcp.json"},
		State:       []string{"~/.pi/agent"},
	}
}

var (
	// A session id, whole or its beginning. pi would open anything else as a
	// file of any directory.
	sessionID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`)
	// A tool's name or pattern. With + or - before it pi would change its
	// selection instead of narrowing it.
	toolName = regexp.MustCompile(`^[0-9A-Za-z_*][0-9A-Za-z_*.:/-]*$`)
)

// Validate refuses what pi would understand as something else, or answer with
// nothing.
func (PiAdapter) Validate(req aicodebox.Request) error {
	if strings.TrimSpace(req.Prompt) == "" {
		return errors.New("the prompt is blank; pi answers nothing to that")
	}
	if req.Resume != "" && !sessionID.MatchString(req.Resume) {
		return fmt.Errorf("%q is not a session id of pi; those are letters, digits and dashes", req.Resume)
	}
	if strings.HasPrefix(req.Model, "-") {
		return fmt.Errorf("%q is not a model of pi; write provider/model", req.Model)
	}
	for _, name := range req.Tools {
		if !toolName.MatchString(name) {
			return fmt.Errorf("%q is not the name of a tool of pi; those are read, bash, edit, write, grep, find, ls, …", name)
		}
	}
	return nil
}

// BuildArgv asks in JSON mode with the prompt on standard input, where nothing
// in it has a meaning to pi. A session remembers tools and thinking level, so
// a continued one is told both.
func (PiAdapter) BuildArgv(req aicodebox.Request) ([]string, error) {
	argv := []string{"pi", "--mode", "json"}
	continued := req.Resume != "" || !req.Fresh
	switch {
	case req.Resume != "":
		argv = append(argv, "--session", req.Resume)
	case continued:
		argv = append(argv, "-c")
	}
	if req.Model != "" {
		argv = append(argv, "--model", req.Model)
	}
	argv = append(argv, thinking(req, continued)...)
	argv = append(argv, tools(req, continued)...)
	prompts, err := systemPrompts(req)
	if err != nil {
		return nil, err
	}
	argv = append(argv, prompts...)
	argv = append(argv, req.ExtraArgs...)
	if slices.Contains(argv, req.Prompt) && req.Prompt != "" {
		// A prompt such as "high" that is one of these words already would
		// be taken for passed.
		argv = append(argv, "--", req.Prompt)
	}
	return argv, nil
}

// thinking returns the options for the thinking level.
func thinking(req aicodebox.Request, continued bool) []string {
	switch {
	case req.Effort != "":
		return []string{"--thinking", req.Effort}
	case continued && !strings.Contains(req.Model, ":"):
		return []string{"--thinking", readSettings(req.Env).level()}
	}
	return nil
}

// tools returns the options for the tools the model may use. MCP servers are
// not covered by a plain list, so they are turned off beside one.
func tools(req aicodebox.Request, continued bool) []string {
	switch {
	case req.NoTools, req.Tools != nil && len(req.Tools) == 0:
		return []string{"--no-tools", "--no-mcp"}
	case req.Tools != nil:
		argv := []string{"--tools", strings.Join(req.Tools, ",")}
		if !slices.ContainsFunc(req.Tools, func(t string) bool { return strings.HasPrefix(t, "mcp__") }) {
			argv = append(argv, "--no-mcp")
		}
		return argv
	case continued:
		return []string{"--tools", readSettings(req.Env).tools()}
	}
	return nil
}

// systemPrompts returns the options for the system prompt. pi takes a file's
// name or the text itself; a text that happens to name a file would show the
// file to the model, so files of our own it is.
func systemPrompts(req aicodebox.Request) ([]string, error) {
	var argv []string
	for _, p := range []struct{ option, file, text string }{
		{"--system-prompt", "system-prompt.md", req.System},
		{"--append-system-prompt", "append-system-prompt.md", req.AppendSystem},
	} {
		if p.text == "" {
			continue
		}
		word, err := promptFile(req.Scratch, p.file, p.text)
		if err != nil {
			return nil, err
		}
		argv = append(argv, p.option, word)
	}
	return argv, nil
}

// promptFile returns what to give to pi for text. Without a directory it is the
// text with a newline, which no file's name ends in.
func promptFile(dir, name, text string) (string, error) {
	if dir == "" {
		return text + "\n", nil
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", errors.New("the system prompt could not be written to the run's scratch directory")
	}
	return path, nil
}

// BuildEnv stops what pi would ask its maker about at each start, unless the
// operator wants it.
func (PiAdapter) BuildEnv(_ aicodebox.Request, env []string) []string {
	for name, value := range map[string]string{"PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"} {
		if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			env = append(env, name+"="+value)
		}
	}
	return env
}
