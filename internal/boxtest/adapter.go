// Package boxtest gives tests a box around a fake agent: the test binary run
// again (see internal/fakeagent). It is for tests of this module only.
package boxtest

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
)

// Adapter runs the fake agent. It shows every option of a request as an
// argument:
//
//	--format F --model M --system S --append-system S --resume ID --thinking E
//	--no-continue --no-tools --tools a,b --schema S --image I, then the extra
//	arguments
//
// and reads lines of output that begin with @: "@usage {json}" (the counts of
// aicodebox.Usage as JSON), "@session id", "@error [status] text", "@thinking
// text", "@tool name", "@stop reason", "@json value", "@done", "@raise" (the
// reading fails). Other lines are the answer's text. With the model "argv" the
// prompt goes into argv; with "noread" the agent does not read standard input;
// with "missing" the program does not exist.
type Adapter struct{}

// Describe names the agent "fake". It is shown images.
func (Adapter) Describe() aicodebox.Description {
	return aicodebox.Description{Name: "fake", Binary: fakeagent.Command(), Images: true}
}

// BuildArgv shows req as arguments.
func (Adapter) BuildArgv(req aicodebox.Request) ([]string, error) {
	argv := []string{fakeagent.Command()}
	if req.Model == "missing" {
		argv[0] = "/nonexistent/agent"
	}
	if req.Model == "noread" {
		argv = append(argv, "NOREAD")
	}
	option := func(name, value string) {
		if value != "" {
			argv = append(argv, name, value)
		}
	}
	format := string(req.Format)
	if format == "" {
		format = "text"
	}
	option("--format", format)
	option("--model", req.Model)
	option("--system", req.System)
	option("--append-system", req.AppendSystem)
	option("--resume", req.Resume)
	option("--thinking", req.Effort)
	option("--schema", string(req.Schema))
	if req.Fresh {
		argv = append(argv, "--no-continue")
	}
	if req.NoTools {
		argv = append(argv, "--no-tools")
	}
	if req.Tools != nil {
		argv = append(argv, "--tools", strings.Join(req.Tools, ","))
	}
	for _, image := range req.Images {
		option("--image", image)
	}
	argv = append(argv, req.ExtraArgs...)
	if req.Model == "argv" {
		argv = append(argv, "--prompt", req.Prompt)
	}
	return argv, nil
}

// BuildEnv turns the test binary into the agent.
func (Adapter) BuildEnv(_ aicodebox.Request, env []string) []string {
	return append(env, fakeagent.Env())
}

// ParseOutput reads the lines of the fake agent.
func (a Adapter) ParseOutput(req aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	var reply aicodebox.Reply
	parse := a.StreamParser(req)
	var text strings.Builder
	data := bytes.TrimSuffix(out.Stdout, []byte("\n"))
	if len(data) == 0 {
		return reply, nil
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if bytes.Equal(line, []byte("@raise")) {
			return reply, errRaised
		}
		readExtra(&reply, string(line))
		for _, e := range parse(line) {
			apply(&reply, &text, e)
		}
	}
	reply.Text = strings.TrimSpace(text.String())
	return reply, nil
}

func readExtra(reply *aicodebox.Reply, line string) {
	if reason, ok := strings.CutPrefix(line, "@stop "); ok {
		reply.Stop = aicodebox.StopReason(reason)
	}
	if value, ok := strings.CutPrefix(line, "@json "); ok {
		reply.JSON = json.RawMessage(value)
	}
}

func apply(reply *aicodebox.Reply, text *strings.Builder, e aicodebox.Event) {
	switch e.Kind {
	case aicodebox.EventText:
		text.WriteString(e.Text)
	case aicodebox.EventSession:
		reply.SessionID = e.Text
	case aicodebox.EventUsage:
		sum := *e.Usage
		if reply.Usage != nil {
			sum = reply.Usage.Add(sum)
		}
		reply.Usage = &sum
	case aicodebox.EventError:
		reply.ProviderError = providerError(e.Text)
	}
}
