package openai

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner"
)

// exchange is one chat while it is answered. Its answer leaves in one of three
// ways: as a message; as a stream, live; or as a stream that is written when
// the answer is known, because it has a form that can turn out wrong. As long
// as nothing has been sent, a failure has its true status.
type exchange struct {
	plan
	*surface
	w      http.ResponseWriter
	r      *http.Request
	runID  string
	head   head
	cancel context.CancelFunc

	started atomic.Bool // an agent works, or has worked

	mu     sync.Mutex
	over   bool    // no stream is to be opened any more
	chunks *chunks // nil until the stream is open
	events sync.WaitGroup

	cut     cutter          // of the goroutine that runs the agent
	told    strings.Builder // the same: what was streamed
	thought strings.Builder // the same
}

// run asks the agent and answers.
func (x *exchange) run() {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	x.cancel = cancel
	opts := append(x.options,
		runner.ID(x.runID), runner.OnStart(x.begin(ctx)), runner.OnQueued(x.queued), runner.Events(x.event))
	if x.asked.stream && !x.live {
		// Proxies cut what says nothing for too long.
		timer := time.AfterFunc(x.patience, x.open)
		defer timer.Stop()
	}
	result, err := runner.Run(ctx, x.box, x.request, opts...)
	x.events.Wait()
	x.end(result, err)
}

// begin is told when the first process is about to start.
func (x *exchange) begin(ctx context.Context) func(string) {
	return func(id string) {
		x.started.Store(true)
		if !x.live {
			return
		}
		x.open()
		if x.asked.native {
			x.events.Go(func() { x.native(ctx, id) })
		}
	}
}

// queued is told when the chat has to wait.
func (x *exchange) queued(int) {
	if x.live {
		x.open()
	}
}

// open begins the stream, unless it is open or the answer is known.
func (x *exchange) open() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over || x.chunks != nil {
		return
	}
	out := openStream(x.w, x.beat, func(error) { x.cancel() })
	x.chunks = openChunks(out, x.head, x.asked.usage)
}

// event streams what the agent tells, and collects its thoughts.
func (x *exchange) event(e aicodebox.Event) {
	switch e.Kind {
	case aicodebox.EventText:
		if !x.live {
			return
		}
		piece := x.cut.add(e.Text)
		x.told.WriteString(piece)
		x.chunks.text(piece)
	case aicodebox.EventThinking:
		switch {
		case !x.reasoning || e.Text == "":
		case x.live:
			x.chunks.delta(delta{Reasoning: e.Text})
		default:
			x.thought.WriteString(e.Text)
		}
	}
}

// native sends the agent's records as events of their own kind.
func (x *exchange) native(ctx context.Context, id string) {
	for record, err := range runner.Records(ctx, x.box, id, -1) {
		if err != nil {
			return
		}
		x.chunks.event("aicodebox.native", encode(record))
	}
}

// end answers with what the run came to.
func (x *exchange) end(result runner.Result, err error) {
	x.mu.Lock()
	x.over = true
	x.mu.Unlock()
	if f := x.verdict(result, err); f != nil {
		x.fail(f)
		return
	}
	a := x.answer(result)
	switch {
	case !x.asked.stream:
		writeJSON(x.w, http.StatusOK, encode(a.completion(x.head)))
	case x.live:
		x.chunks.text(x.remainder(result))
		x.chunks.finish(a)
		x.chunks.close()
	default:
		x.burst(a)
	}
}

// burst streams an answer that is known.
func (x *exchange) burst(a answer) {
	if x.chunks == nil {
		out := openStream(x.w, x.beat, func(error) { x.cancel() })
		x.chunks = openChunks(out, x.head, x.asked.usage)
	}
	if x.asked.native {
		x.native(x.r.Context(), x.runID)
	}
	x.chunks.answer(a)
	x.chunks.finish(a)
	x.chunks.close()
}

// verdict returns the failure that the run is for this client, or nil.
func (x *exchange) verdict(result runner.Result, err error) *failure {
	f := judge(result)
	if err != nil {
		f = x.failure(x.r, err)
	}
	if f != nil {
		f.started = x.started.Load()
	}
	return f
}

// fail answers with f, in the stream if that has begun.
func (x *exchange) fail(f *failure) {
	if x.chunks == nil {
		f.send(x.w)
		return
	}
	if x.live {
		x.chunks.text(x.cut.rest())
	}
	x.chunks.fail(f)
	x.chunks.close()
}

// answer is what the client is told of a success.
func (x *exchange) answer(result runner.Result) answer {
	a := answer{
		reasoning: x.thought.String(), legacy: x.asked.tools.legacy,
		stop: result.Stop, usage: result.Usage,
	}
	if x.asked.format.schema != nil || len(result.Attempts) > 1 {
		a.attempts = result.Attempts
	}
	switch {
	case x.protocol != nil:
		read := x.protocol.answer
		a.content, a.calls = read.text, read.calls
		if !read.structured {
			a.content = cut(read.text, x.asked.stop)
		}
	case x.request.Schema != nil:
		a.content = string(result.JSON)
	default:
		a.content = cut(result.Text, x.asked.stop)
	}
	return a
}

// remainder is what the agent's answer has beyond what it told while it
// worked: all of it, if it told nothing.
func (x *exchange) remainder(result runner.Result) string {
	rest := x.cut.rest()
	told := x.told.String() + rest
	whole := cut(result.Text, x.asked.stop)
	if more, ok := strings.CutPrefix(whole, told); ok {
		return rest + more
	}
	return rest
}
