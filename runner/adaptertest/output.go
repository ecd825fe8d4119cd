package adaptertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox"
)

// reading is what an adapter makes of one output, in both of its ways.
type reading struct {
	reply    aicodebox.Reply
	err      error
	events   [][]aicodebox.Event // of each line
	problems []string            // panics, and events that cannot be right
}

// readBoth reads out as it comes and at its end.
func (k *kit) readBoth(req aicodebox.Request, name string, out aicodebox.Output) reading {
	var r reading
	given := aicodebox.Output{Stdout: bytes.Clone(out.Stdout), Stderr: bytes.Clone(out.Stderr), ExitCode: out.ExitCode}
	r.problems = guard("ParseOutput of "+name, func() { r.reply, r.err = k.adapter.ParseOutput(req, given) })
	if !bytes.Equal(given.Stdout, out.Stdout) || !bytes.Equal(given.Stderr, out.Stderr) {
		r.problems = append(r.problems, "ParseOutput of "+name+" changes the output it was given")
	}
	r.problems = append(r.problems, guard("StreamParser of "+name, func() {
		parse := aicodebox.StreamParser(k.adapter, req)
		for _, line := range lines(out.Stdout) {
			events := parse(bytes.Clone(line))
			r.problems = append(r.problems, wrongEvents(name, line, events)...)
			r.events = append(r.events, events)
		}
	})...)
	return r
}

// lines cuts output as the box does: at line feeds, a last line without one
// included.
func lines(stdout []byte) [][]byte {
	stdout = bytes.TrimSuffix(stdout, []byte("\n"))
	if len(stdout) == 0 {
		return nil
	}
	return bytes.Split(stdout, []byte("\n"))
}

// wrongEvents finds events that no line can mean.
func wrongEvents(name string, line []byte, events []aicodebox.Event) (problems []string) {
	for _, e := range events {
		if e.Raw != nil && !bytes.Equal(e.Raw, line) {
			problems = append(problems, fmt.Sprintf("%s: an event's Raw is not the line it came from", name))
		}
		if (e.Kind == aicodebox.EventUsage) != (e.Usage != nil) {
			problems = append(problems, fmt.Sprintf("%s: an event of kind %q has Usage %v", name, e.Kind, e.Usage))
		}
		if e.Kind == "" {
			problems = append(problems, fmt.Sprintf("%s: an event without a kind", name))
		}
	}
	return problems
}

// heard is what the events of a stream say.
type heard struct {
	all, answer string // text of the whole stream, and since the last tool's use
	session     string
	usage       *aicodebox.Usage
	failed      bool
}

func (r reading) heard() heard {
	var h heard
	for _, events := range r.events {
		for _, e := range events {
			switch e.Kind {
			case aicodebox.EventText:
				h.all += e.Text
				h.answer += e.Text
			case aicodebox.EventTool:
				h.answer = ""
			case aicodebox.EventSession:
				h.session = e.Text
			case aicodebox.EventError:
				h.failed = true
			case aicodebox.EventUsage:
				sum := *e.Usage
				if h.usage != nil {
					sum = h.usage.Add(sum)
				}
				h.usage = &sum
			}
		}
	}
	return h
}

// disagreements compares the two readings.
func (r reading) disagreements(name string) (problems []string) {
	if r.err != nil {
		return nil
	}
	h := r.heard()
	text := strings.TrimSpace(r.reply.Text)
	if text != strings.TrimSpace(h.all) && text != strings.TrimSpace(h.answer) {
		problems = append(problems, fmt.Sprintf("%s: the stream's text is %s, the reply's %s", name, short(h.answer), short(r.reply.Text)))
	}
	if h.session != r.reply.SessionID {
		problems = append(problems, fmt.Sprintf("%s: the stream's session is %q, the reply's %q", name, h.session, r.reply.SessionID))
	}
	if diff := cmp.Diff(r.reply.Usage, h.usage); diff != "" {
		problems = append(problems, fmt.Sprintf("%s: usage of the reply (-) and the stream (+):\n%s", name, diff))
	}
	return problems
}

// checkOutput reads what an agent may print when something is wrong.
func (k *kit) checkOutput() (problems []string) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(random.UintN(256))
	}
	for name, stdout := range map[string]string{
		"nothing": "", "a line feed": "\n", "blank lines": "\n\n \n", "noise": string(noise),
		"not UTF-8": "\xff\xfe\n\xc3(\n", "half a record": `{"type":"message_end","message":{"role"`,
		"null": "null\n", "an array": "[1,2]\n", "a number": "42\n", "empty object": "{}\n",
		"wrong types": `{"type":7,"message":[],"item":"x","result":{},"usage":"many","session_id":3}` + "\n",
		"deep":        strings.Repeat(`{"a":[`, 20_000), "a long line": strings.Repeat("x", 1<<20),
		"plain text": "Error: out of memory\nsecond line", "NUL": "\x00\x00\n",
	} {
		for _, code := range []int{0, 1, 137} {
			r := k.readBoth(k.request(), name, aicodebox.Output{Stdout: []byte(stdout), ExitCode: code})
			problems = append(problems, r.problems...)
			if stdout == "" && r.reply.Text != "" {
				problems = append(problems, fmt.Sprintf("from no output at all the reply's text is %s", short(r.reply.Text)))
			}
		}
	}
	return problems
}

// checkTranscripts reads every recorded run.
func (k *kit) checkTranscripts() (problems []string) {
	streams := k.has(reflect.TypeFor[aicodebox.StreamParserAdapter]())
	for _, t := range k.recorded {
		r := k.readBoth(k.request(), t.name, t.out)
		problems = append(problems, r.problems...)
		problems = append(problems, r.disagreements(t.name)...)
		if !utf8.ValidString(r.reply.Text) && utf8.Valid(t.out.Stdout) {
			problems = append(problems, t.name+": the reply's text is not UTF-8, though the output is")
		}
		if h := r.heard(); r.err == nil && streams && h.failed != (r.reply.ProviderError != nil) {
			problems = append(problems, fmt.Sprintf("%s: the stream tells of a failure: %t, the reply's provider error is %v", t.name, h.failed, r.reply.ProviderError))
		}
	}
	return problems
}

// cutsOf are the lengths at which an output is cut: every one of a short
// output, and of a longer one as many as budget bytes of reading allow, every
// other beside a line feed.
func cutsOf(stdout []byte, budget int) (cuts []int) {
	n := max(8, 2*budget/(len(stdout)+1))
	step := max(1, 2*len(stdout)/n)
	for at := 0; at < len(stdout); at += step {
		cuts = append(cuts, at)
		if feed := bytes.IndexByte(stdout[at:], '\n'); feed >= 0 && step > 1 {
			cuts = append(cuts, at+feed+len(cuts)/2%2) // before it, or after
		}
	}
	return cuts
}

// cutBudget bounds the bytes that checkCuts reads.
const cutBudget = 4 << 20

// checkCuts reads every recorded run as if the agent had been killed on the way.
func (k *kit) checkCuts() (problems []string) {
	budget := cutBudget / max(1, len(k.recorded))
	for _, t := range k.recorded {
		for _, n := range cutsOf(t.out.Stdout, budget) {
			name := fmt.Sprintf("%s cut after %d bytes", t.name, n)
			r := k.readBoth(k.request(), name, aicodebox.Output{Stdout: t.out.Stdout[:n], ExitCode: 143})
			problems = append(problems, r.problems...)
			problems = append(problems, r.disagreements(name)...)
			if len(problems) > 10 {
				return problems
			}
		}
	}
	return problems
}

// checkInterleaved reads all recorded runs at once, line by line: each parser
// must keep to itself.
func (k *kit) checkInterleaved() (problems []string) {
	parsers := make([]func([]byte) []aicodebox.Event, len(k.recorded))
	alone := make([][][]aicodebox.Event, len(k.recorded))
	together := make([][][]aicodebox.Event, len(k.recorded))
	all := make([][][]byte, len(k.recorded))
	longest := 0
	for i, t := range k.recorded {
		all[i] = lines(t.out.Stdout)
		alone[i] = k.readBoth(k.request(), t.name, t.out).events
		parsers[i] = aicodebox.StreamParser(k.adapter, k.request())
		longest = max(longest, len(all[i]))
	}
	for n := range longest {
		for i, t := range k.recorded {
			if n < len(all[i]) {
				problems = append(problems, guard("StreamParser of "+t.name, func() {
					together[i] = append(together[i], parsers[i](bytes.Clone(all[i][n])))
				})...)
			}
		}
	}
	for i, t := range k.recorded {
		if !reflect.DeepEqual(alone[i], together[i]) {
			problems = append(problems, fmt.Sprintf("%s reads differently while another run is read: StreamParser must return a parser of its own each time", t.name))
		}
	}
	return problems
}

// checkConcurrency uses the adapter from many goroutines, for the race
// detector to watch.
func (k *kit) checkConcurrency() []string {
	var (
		mu       sync.Mutex
		problems []string
		all      sync.WaitGroup
	)
	for i := range 8 {
		all.Go(func() {
			found := k.useAll(i)
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, found...)
		})
	}
	all.Wait()
	return problems
}

func (k *kit) useAll(i int) (problems []string) {
	req := k.full()
	req.Prompt = fmt.Sprintf("This is the prompt number %d.", i)
	argv, ok, problems := k.argv(req)
	if ok {
		problems = append(problems, k.once(argv, req.Prompt)...)
	}
	problems = append(problems, guard("a capability", func() {
		aicodebox.Describe(k.adapter)
		aicodebox.Launch(k.adapter, []string{"x"})
		aicodebox.BuildEnv(k.adapter, req, []string{"PATH=/bin"})
	})...)
	for _, t := range k.recorded[:min(3, len(k.recorded))] {
		problems = append(problems, k.readBoth(req, t.name, t.out).problems...)
	}
	return problems
}
