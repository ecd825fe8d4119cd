// Package runner runs prompts: it turns a Request into the processes of an
// agent and their output into a Result. Every surface asks through it, so that
// limits, time-outs, cancellation and records are the same everywhere.
//
// One run goes like this:
//
//  1. The request is checked: model, effort, workspace, schema, the adapter's
//     own Validate. What is wrong is a RefusedError.
//  2. The run is entered in the ledger.
//  3. It waits for its turn in the workspace, then for one of the box's slots.
//  4. An attempt: the adapter's command line is started in a session of its
//     own, fed the prompt, read, and ended with all its children.
//  5. With a schema, an answer that does not satisfy it is asked again.
//  6. The result is entered in the ledger, where it is kept for six hours.
//
// Run gives the whole result, Stream the events as they come, and Start a run
// in the background. They are the same code.
package runner

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
)

// Option changes how one run is made.
type Option func(*options)

type options struct {
	surface   string
	id        string
	wait      time.Duration
	waitSet   bool
	accept    func(text string) bool
	private   bool
	ephemeral bool
	into      *Result
	events    func(aicodebox.Event)
	queued    func(position int)
	started   func(id string)
	key       string
	keyHash   string
	meta      json.RawMessage
	judge     *Judge
	raw       bool
	promised  bool // the run must be in the ledger
}

// Surface names the surface that asks, for the ledger and the log.
func Surface(name string) Option { return func(o *options) { o.surface = name } }

// ID gives the run an id of the caller's making (see NewID).
func ID(id string) Option { return func(o *options) { o.id = id } }

// Wait lets the run wait d for its workspace and a slot, in order. Without it a
// run waits as long as the box's WAIT_SECONDS; with 0 a busy workspace is
// ErrBusy at once, while a slot is still waited for.
func Wait(d time.Duration) Option {
	return func(o *options) { o.wait, o.waitSet = d, true }
}

// Accept names texts that need not satisfy the request's schema: an answer for
// which f is true ends the run as it is, with no JSON.
func Accept(f func(text string) bool) Option { return func(o *options) { o.accept = f } }

// Private says that the workspace is this request's alone, so that a
// correction continues the failed attempt's session.
func Private() Option { return func(o *options) { o.private = true } }

// Ephemeral runs in a new directory that is removed afterwards, whatever
// happens. It implies Private; Request.Workspace is ignored.
func Ephemeral() Option { return func(o *options) { o.ephemeral, o.private = true, true } }

// Into fills r when the run ends, for callers of Stream.
func Into(r *Result) Option { return func(o *options) { o.into = r } }

// Events calls f with every event of every attempt while the run goes on, from
// one goroutine. A slow f holds the agent back.
func Events(f func(aicodebox.Event)) Option { return func(o *options) { o.events = f } }

// OnQueued calls f when the run has to wait, with its place in the queue from 1.
func OnQueued(f func(position int)) Option { return func(o *options) { o.queued = f } }

// OnStart calls f with the run's id when its first process is about to start:
// nothing can refuse the run any more.
func OnStart(f func(id string)) Option { return func(o *options) { o.started = f } }

// Idempotent makes the run answer to key for 24 hours. hash identifies the
// request. Only the run that gets the key starts; see ByKey.
func Idempotent(key, hash string) Option {
	return func(o *options) { o.key, o.keyHash = key, hash }
}

// Meta keeps a JSON value with the run's record, for the surface that asked.
func Meta(v json.RawMessage) Option { return func(o *options) { o.meta = v } }

// Raw keeps the agent's whole output with the run's result, for as long as that
// is kept. Without it only the standard error of a failed agent is.
func Raw() Option { return func(o *options) { o.raw = true } }

// Run answers req and waits for it. An empty Request.Workspace is the root of
// all workspaces; another is a path below it, relative or absolute. A failed
// agent is a Result; the error is not nil when there is nothing to judge:
// RefusedError, ErrBusy, ErrQueueFull, ErrDraining, CancelledError.
//
// The run ends with ctx, and with the box's Work.
func Run(ctx context.Context, box *aicodebox.Box, req aicodebox.Request, opts ...Option) (Result, error) {
	run, err := prepare(box, req, opts)
	if err != nil {
		return Result{}, err
	}
	return run.do(ctx)
}

// Stream answers req and yields its events as they come. The first error ends
// it, and is of the same kinds as Run's. A loop that stops early cancels the
// run and waits for its processes to be gone. The result is given through Into.
func Stream(ctx context.Context, box *aicodebox.Box, req aicodebox.Request, opts ...Option) iter.Seq2[aicodebox.Event, error] {
	return func(yield func(aicodebox.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stopped := false
		tell := Events(func(e aicodebox.Event) {
			if !stopped && !yield(e, nil) {
				stopped = true
				cancel(errCallerLeft)
			}
		})
		_, err := Run(ctx, box, req, append(opts[:len(opts):len(opts)], tell)...)
		if err != nil && !stopped {
			yield(aicodebox.Event{}, err)
		}
	}
}

// Start begins a run in the background, tied to the box's Work alone, and
// returns its record. The run is promised: it is in the ledger, or the error is
// a StateError. A busy workspace is ErrBusy at once unless Wait says otherwise.
func Start(ctx context.Context, box *aicodebox.Box, req aicodebox.Request, opts ...Option) (Info, error) {
	run, err := prepare(box, req, opts)
	if err != nil {
		return Info{}, err
	}
	return run.detach(ctx)
}

// Check tells what Run would refuse about req, without running it.
func Check(box *aicodebox.Box, req aicodebox.Request) error {
	_, err := prepare(box, req, nil)
	return err
}

// Info is what is known of a run, in flight or finished.
type Info struct {
	ID         string
	Surface    string
	Workspace  string
	Status     ledger.Status
	Error      string
	Created    time.Time
	Started    time.Time
	Ended      time.Time
	KeyHash    string
	Meta       json.RawMessage
	Background []ledger.Process // processes it left running on purpose that still live
}

// Record is one line that an agent told, as kept with its run.
type Record struct {
	Sequence int64           `json:"sequence"`
	Attempt  int             `json:"attempt"`
	Backend  string          `json:"backend"`   // the adapter's name
	Type     string          `json:"eventType"` // the record's own type, "text" for a line that is no JSON object, "truncated" for a gap
	Event    json.RawMessage `json:"event"`     // the record, untouched; raw text as a JSON string
}

// Lookup returns what is known of the run id, or ErrNotFound.
func Lookup(ctx context.Context, box *aicodebox.Box, id string) (Info, error) {
	e, err := open(box)
	if err != nil {
		return Info{}, err
	}
	return e.lookup(ctx, id)
}

// ResultOf returns the result of a finished run, also after a restart of the
// box, or ErrNotFound. A run that is not finished has no result yet.
func ResultOf(ctx context.Context, box *aicodebox.Box, id string) (Result, error) {
	e, err := open(box)
	if err != nil {
		return Result{}, err
	}
	return e.resultOf(ctx, id)
}

// ByKey returns the run that holds an idempotency key, or ErrNotFound.
func ByKey(ctx context.Context, box *aicodebox.Box, key string) (Info, error) {
	e, err := open(box)
	if err != nil {
		return Info{}, err
	}
	return e.byKey(ctx, key)
}

// Await returns when the run id has ended, with its result.
func Await(ctx context.Context, box *aicodebox.Box, id string) (Result, error) {
	e, err := open(box)
	if err != nil {
		return Result{}, err
	}
	return e.await(ctx, id)
}

// Cancel ends the run id, its processes, and the processes it left in the
// background, and returns its state: cancelled, or what it was before if it had
// ended. An unknown id is ErrNotFound.
func Cancel(ctx context.Context, box *aicodebox.Box, id, reason string) (Info, error) {
	e, err := open(box)
	if err != nil {
		return Info{}, err
	}
	return e.cancel(ctx, id, reason)
}

// List returns the runs in flight and waiting, oldest first, and then those
// that left processes in the background.
func List(ctx context.Context, box *aicodebox.Box) ([]Info, error) {
	e, err := open(box)
	if err != nil {
		return nil, err
	}
	return e.list(ctx)
}

// Records yields the records of the run id after the given sequence (-1 for
// all), the kept ones first and then, while the run goes on, each as it comes.
// It ends with the run.
func Records(ctx context.Context, box *aicodebox.Box, id string, after int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		e, err := open(box)
		if err != nil {
			yield(Record{}, err)
			return
		}
		e.records(ctx, id, after, yield)
	}
}

// Open readies the box's run engine: the ledger is opened, runs and processes
// of boxes that died are ended, left throw-away workspaces are removed. Every
// surface calls it first in Serve; more calls do nothing.
func Open(box *aicodebox.Box) error {
	_, err := open(box)
	return err
}
