package adaptertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox"
)

// good is an adapter that does everything right: records are lines such as
// "text hello", "session s1", "usage 3", "error it broke".
type good struct{}

func (good) Describe() aicodebox.Description {
	return aicodebox.Description{Name: "good", Binary: "good", Efforts: []string{"low", "high"}}
}

func (good) BuildArgv(req aicodebox.Request) ([]string, error) {
	argv := []string{"good", "--json"}
	if req.Model != "" {
		argv = append(argv, "--model", req.Model)
	}
	argv = append(argv, req.ExtraArgs...)
	for _, word := range argv {
		if word == req.Prompt {
			return append(argv, "--", req.Prompt), nil
		}
	}
	return argv, nil
}

func (good) BuildEnv(_ aicodebox.Request, env []string) []string { return append(env, "GOOD=1") }

func (g good) StreamParser(aicodebox.Request) func([]byte) []aicodebox.Event {
	return func(line []byte) []aicodebox.Event {
		e := aicodebox.Event{Kind: aicodebox.EventOther, Raw: line}
		kind, rest, _ := strings.Cut(string(line), " ")
		switch kind {
		case "text":
			e.Kind, e.Text = aicodebox.EventText, strings.ToValidUTF8(rest, "?")
		case "tool":
			e.Kind = aicodebox.EventTool
		case "session":
			e.Kind, e.Text = aicodebox.EventSession, rest
		case "usage":
			e.Kind, e.Usage = aicodebox.EventUsage, &aicodebox.Usage{Output: int64(len(rest))}
		case "error":
			e.Kind, e.Text = aicodebox.EventError, rest
		}
		return []aicodebox.Event{e}
	}
}

func (g good) ParseOutput(req aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	var reply aicodebox.Reply
	parse := g.StreamParser(req)
	for _, line := range lines(out.Stdout) {
		for _, e := range parse(line) {
			switch e.Kind {
			case aicodebox.EventText:
				reply.Text += e.Text
			case aicodebox.EventTool:
				reply.Text = ""
			case aicodebox.EventSession:
				reply.SessionID = e.Text
			case aicodebox.EventUsage:
				sum := *e.Usage
				if reply.Usage != nil {
					sum = reply.Usage.Add(sum)
				}
				reply.Usage = &sum
			case aicodebox.EventError:
				reply.ProviderError = &aicodebox.ProviderError{Message: e.Text}
			}
		}
	}
	return reply, nil
}

const recording = "session s1\ntext let me see\ntool bash\nusage xxx\ntext hel\ntext lo\nusage yy\n"

// transcripts writes the recordings that the tests read.
func transcripts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"answer.txt": recording, "failed.txt": "session s2\nerror it broke\n", "failed.exit": "3\n", "failed.stderr": "oh\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "*.txt")
}

func TestGoodAdapter(t *testing.T) {
	t.Parallel()
	Test(t, good{}, Wants("Describe", "BuildEnv", "StreamParser"), Transcripts(transcripts(t)),
		Request(func(r *aicodebox.Request) { r.Model = "m" }))
}

func TestWrappedAdapter(t *testing.T) {
	t.Parallel()
	Test(t, wrapper{good{}}, Wants("StreamParser"), Transcripts(transcripts(t)))
}

type wrapper struct{ aicodebox.Adapter }

func (w wrapper) Unwrap() aicodebox.Adapter { return w.Adapter }

// The bad adapters below are good but for one method.
type (
	mistyped    struct{ good }
	pointed     struct{ good }
	twice       struct{ good }
	embedded    struct{ good }
	lost        struct{ good }
	optionLike  struct{ good }
	tooLong     struct{ good }
	scribbler   struct{ good }
	secretive   struct{ good }
	forgetful   struct{ good }
	dropsExtra  struct{ good }
	dropsArgs   struct{ good }
	panics      struct{ good }
	panicsLive  struct{ good }
	otherText   struct{ good }
	noSession   struct{ good }
	halfUsage   struct{ good }
	noFailure   struct{ good }
	shared      struct{ live *[]string }
	talkative   struct{ good }
	wrongRaw    struct{ good }
	alternating struct {
		good
		n *int
	}
)

func (mistyped) Validate(string) error { return nil }

func (*pointed) Validate(aicodebox.Request) error { return nil }

func (b twice) BuildArgv(req aicodebox.Request) ([]string, error) {
	return []string{"bad", req.Prompt, "--prompt", req.Prompt}, nil
}

func (b embedded) BuildArgv(req aicodebox.Request) ([]string, error) {
	return []string{"bad", "--prompt=" + req.Prompt}, nil
}

func (b lost) BuildArgv(req aicodebox.Request) ([]string, error) {
	return append([]string{"bad", "--json"}, req.ExtraArgs...), nil
}

func (b optionLike) BuildArgv(req aicodebox.Request) ([]string, error) {
	return []string{"bad", "run", req.Prompt}, nil
}

func (b tooLong) BuildArgv(req aicodebox.Request) ([]string, error) {
	return []string{"bad", "--system", req.System}, nil
}

func (b scribbler) BuildArgv(req aicodebox.Request) ([]string, error) {
	return append([]string{"bad"}, append(req.ExtraArgs, "--json")...), nil
}

func (b secretive) BuildArgv(req aicodebox.Request) ([]string, error) {
	argv := []string{"bad"}
	for _, v := range req.Env {
		argv = append(argv, "-e", v)
	}
	return argv, nil
}

func (forgetful) BuildEnv(aicodebox.Request, []string) []string { return []string{"ONLY=1", "=x"} }

func (dropsExtra) BuildArgv(aicodebox.Request) ([]string, error) { return []string{"bad"}, nil }

func (dropsArgs) Launch([]string) []string { return []string{"bad"} }

func (panics) ParseOutput(_ aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{Text: string(out.Stdout[:1])}, nil
}

func (panicsLive) StreamParser(aicodebox.Request) func([]byte) []aicodebox.Event {
	return func(line []byte) []aicodebox.Event { panic(string(line)) }
}

func (b otherText) ParseOutput(req aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	reply, err := b.good.ParseOutput(req, out)
	reply.Text += "!"
	return reply, err
}

func (b noSession) ParseOutput(req aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	reply, err := b.good.ParseOutput(req, out)
	reply.SessionID = ""
	return reply, err
}

func (b halfUsage) ParseOutput(req aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	reply, err := b.good.ParseOutput(req, out)
	if reply.Usage != nil {
		reply.Usage.Output = 2
	}
	return reply, err
}

func (b noFailure) ParseOutput(req aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	reply, err := b.good.ParseOutput(req, out)
	reply.ProviderError = nil
	return reply, err
}

func (b talkative) ParseOutput(aicodebox.Request, aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{Text: "done"}, nil
}

func (b wrongRaw) StreamParser(req aicodebox.Request) func([]byte) []aicodebox.Event {
	return func([]byte) []aicodebox.Event { return []aicodebox.Event{{Raw: []byte("x\n")}} }
}

func (shared) BuildArgv(aicodebox.Request) ([]string, error) { return []string{"bad"}, nil }

func (shared) ParseOutput(aicodebox.Request, aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{}, nil
}

func (b shared) StreamParser(aicodebox.Request) func([]byte) []aicodebox.Event {
	return func(line []byte) []aicodebox.Event {
		*b.live = append(*b.live, string(line))
		return []aicodebox.Event{{Kind: aicodebox.EventOther, Text: fmt.Sprint(len(*b.live) % 7)}}
	}
}

func (b alternating) BuildArgv(aicodebox.Request) ([]string, error) {
	*b.n++
	return []string{"bad", fmt.Sprint(*b.n)}, nil
}

func TestBadAdapters(t *testing.T) {
	t.Parallel()
	pattern := transcripts(t)
	for _, c := range []struct {
		adapter     aicodebox.Adapter
		check, want string
	}{
		{mistyped{}, "capabilities", "Validate has another type"},
		{pointed{}, "capabilities", "declared on *"},
		{good{}, "capabilities", "does not have the capability Setup"},
		{twice{}, "argv", "stands in argv 2 times"},
		{embedded{}, "argv", "among other text"},
		{optionLike{}, "argv", "taken for an option"},
		{alternating{n: new(int)}, "argv", "another command line the second time"},
		{twice{}, "argv", "an argv string can have"},
		{lost{}, "argv/collisions", "is lost"},
		{tooLong{}, "argv/options", "an argv string can have"},
		{dropsExtra{}, "argv/options", "--kit-option"},
		{scribbler{}, "argv/request", "Request.ExtraArgs"},
		{secretive{}, "environment", "shows a secret"},
		{forgetful{}, "environment", "loses PATH"},
		{forgetful{}, "environment", "not NAME=value"},
		{dropsArgs{}, "launch", "loses the argument"},
		{panics{}, "output", "ParseOutput of nothing panicked"},
		{panicsLive{}, "output", "panicked"},
		{talkative{}, "output", "from no output at all"},
		{wrongRaw{}, "output", "Raw is not the line"},
		{wrongRaw{}, "output", "without a kind"},
		{otherText{}, "transcripts", "the stream's text is"},
		{noSession{}, "transcripts", "the stream's session is"},
		{halfUsage{}, "transcripts", "usage of the reply"},
		{noFailure{}, "transcripts", "tells of a failure"},
		{otherText{}, "transcripts/cut", "cut after"},
		{shared{new([]string)}, "transcripts/interleaved", "a parser of its own"},
		{twice{}, "concurrency", "stands in argv 2 times"},
	} {
		t.Run(fmt.Sprintf("%T %s", c.adapter, c.want), func(t *testing.T) {
			t.Parallel()
			k := &kit{
				adapter: c.adapter, workspace: t.TempDir(), scratch: t.TempDir(),
				wants: []string{"Setup"}, patterns: []string{pattern},
			}
			if err := k.load(); err != nil {
				t.Fatal(err)
			}
			problems := strings.Join(named(c.check).run(k), "\n")
			if !strings.Contains(problems, c.want) {
				t.Errorf("%s finds no %q, but:\n%s", c.check, c.want, problems)
			}
		})
	}
}

func named(name string) check {
	for _, c := range checks {
		if c.name == name {
			return c
		}
	}
	panic("no check is called " + name)
}

func TestTranscriptsThatAreMissing(t *testing.T) {
	t.Parallel()
	k := &kit{patterns: []string{filepath.Join(t.TempDir(), "*.ndjson")}}
	if err := k.load(); err == nil {
		t.Error("no transcript is no error")
	}
}

func TestLoadReadsWhatStandsBeside(t *testing.T) {
	t.Parallel()
	k := &kit{patterns: []string{transcripts(t)}}
	if err := k.load(); err != nil {
		t.Fatal(err)
	}
	for _, r := range k.recorded {
		if r.name == "failed.txt" && (r.out.ExitCode != 3 || string(r.out.Stderr) != "oh\n") {
			t.Errorf("failed.txt has exit code %d and standard error %q", r.out.ExitCode, r.out.Stderr)
		}
	}
}
