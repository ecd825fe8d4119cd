package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner"
)

// flights are the runs in flight that calls of run_prompt may share. A client
// that has given up on a call and makes it again must not start a second agent.
type flights struct {
	mu   sync.Mutex
	list map[string]*flight // by what was asked
	all  map[*flight]bool   // with those that end while another is asked for the same
}

// flight is one run and the calls that wait for it. The run belongs to none of
// them: it ends when the last one leaves, unless its id was told to a client,
// which may then come back for it.
type flight struct {
	id     string
	cancel context.CancelCauseFunc
	forget func()        // takes it out of the flights
	begun  chan struct{} // closed when the run is known to the engine
	done   chan struct{} // closed when it has ended
	result runner.Result // until done, of the run's goroutine
	err    error         // the same

	mu       sync.Mutex
	callers  int
	told     bool          // a client has the id
	over     bool          // the last caller left, the run is ending
	activity string        // what the agent does
	changed  chan struct{} // closed when activity is another
}

// join returns the flight for key, and starts one if there is none.
func (f *flights) join(key string, start func(*flight)) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if running := f.list[key]; running != nil && running.enter() {
		return running
	}
	if f.list == nil {
		f.list, f.all = make(map[string]*flight), make(map[*flight]bool)
	}
	fresh := &flight{
		id: runner.NewID(), callers: 1,
		begun: make(chan struct{}), done: make(chan struct{}), changed: make(chan struct{}),
	}
	fresh.forget = func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.all, fresh)
		if f.list[key] == fresh {
			delete(f.list, key)
		}
	}
	f.list[key], f.all[fresh] = fresh, true
	start(fresh)
	return fresh
}

// wait returns when no run is in flight.
func (f *flights) wait() {
	for _, running := range f.running() {
		<-running.done
	}
}

// end ends every run, and returns when none is in flight.
func (f *flights) end(reason error) {
	for _, running := range f.running() {
		running.cancel(reason)
	}
	f.wait()
}

func (f *flights) running() []*flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.all))
}

// enter adds a caller, unless the run is over or ending.
func (f *flight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.done:
		return false
	default:
	}
	if f.over {
		return false
	}
	f.callers++
	return true
}

// leave takes a caller away whose call ended for the given reason before the
// run did, and waits for the run's end if that is the end of the run, too.
func (f *flight) leave(reason error) {
	f.mu.Lock()
	f.callers--
	f.over = f.callers == 0 && !f.told
	over := f.over
	f.mu.Unlock()
	if over {
		f.cancel(reason)
		<-f.done
	}
}

// tell notes that a client gets to know the id: the run goes on without it.
func (f *flight) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers--
	f.told = true
}

// now returns what the agent does, and a channel that is closed when that
// changes.
func (f *flight) now() (activity string, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.activity, f.changed
}

// note changes what the agent does.
func (f *flight) note(activity string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if activity == "" || activity == f.activity {
		return
	}
	f.activity = activity
	close(f.changed)
	f.changed = make(chan struct{})
}

// fly runs req to its end. The run is cut off from the call that started it;
// the box's end still ends it.
func (f *flight) fly(ctx context.Context, box *aicodebox.Box, req aicodebox.Request) {
	ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	begin := sync.OnceFunc(func() { close(f.begun) })
	go func() {
		defer close(f.done)
		defer f.forget()
		defer f.cancel(nil)
		defer func() {
			if cause := recover(); cause != nil {
				f.err = fmt.Errorf("panic: %v", cause)
				box.Log().Error("panic in a run over MCP", "run", f.id, "panic", cause, "stack", string(debug.Stack()))
			}
		}()
		f.result, f.err = runner.Run(ctx, box, req,
			runner.Surface("mcp"), runner.ID(f.id),
			runner.OnQueued(func(place int) {
				f.note(fmt.Sprintf("waiting for its turn, place %d", place))
				begin()
			}),
			runner.OnStart(func(string) {
				f.note("the agent works")
				begin()
			}),
			runner.Events(f.hear),
		)
	}()
}

// hear tells the callers what an event is about.
func (f *flight) hear(e aicodebox.Event) {
	switch e.Kind {
	case aicodebox.EventText:
		f.note(brief(e.Text))
	case aicodebox.EventThinking:
		f.note("the agent thinks")
	case aicodebox.EventTool:
		f.note("the agent uses the tool " + brief(e.Text))
	case aicodebox.EventError:
		f.note("the agent reports: " + brief(e.Text))
	}
}

// briefLength is how many bytes of an event are shown.
const briefLength = 120

// brief returns the beginning of the last line of a text that is not empty.
func brief(text string) string {
	text = strings.TrimSpace(text)
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if len(text) <= briefLength {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	cut := briefLength
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.ToValidUTF8(text[:cut], "\ufffd") + "…"
}

// errCancelled is why a run ends whose client cancelled the call.
var errCancelled = errors.New("its client cancelled the call")
