package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/internal/workspace"
)

// The reasons of cancelled runs.
var (
	errCallerLeft    = errors.New("its caller went away")
	errShutdown      = errors.New("the box shut down")
	errOutOfPatience = errors.New("the run waited its whole time")
)

// ErrKeyUsed is returned when another run holds the idempotency key.
var ErrKeyUsed = ledger.ErrKeyUsed

// flight is a run from its check to the end of its last process.
type flight struct {
	options
	box      *aicodebox.Box
	engine   *engine
	req      aicodebox.Request
	asks     question
	recorder *recorder
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when the run has ended and is recorded

	result  Result           // of the goroutine that runs it, until done
	tracked []ledger.Process // the same
	err     error            // the same

	mu       sync.Mutex
	info     Info
	recorded bool // the ledger has it
}

// NewID returns a new id for a run: 32 hexadecimal digits that sort by time
// (UUID version 7, RFC 9562).
func NewID() string {
	id, err := uuid.NewV7()
	if err != nil {
		id = uuid.New()
	}
	return strings.ReplaceAll(id.String(), "-", "")
}

// prepare checks req and makes it a run that has not begun.
func prepare(box *aicodebox.Box, req aicodebox.Request, opts []Option) (*flight, error) {
	e, err := open(box)
	if err != nil {
		return nil, err
	}
	f := &flight{box: box, engine: e, req: req, done: make(chan struct{})}
	for _, o := range opts {
		o(&f.options)
	}
	if f.id == "" {
		f.id = NewID()
	}
	if req.Schema != nil && req.Workspace == "" {
		Ephemeral()(&f.options)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	f.recorder = &recorder{backend: box.Agent().Name}
	f.info = Info{
		ID: f.id, Surface: f.surface, Workspace: f.req.Workspace, Status: ledger.Waiting,
		Created: time.Now(), KeyHash: f.keyHash, Meta: f.meta,
	}
	f.result = Result{ID: f.id, Workspace: f.req.Workspace, Created: f.info.Created}
	return f, nil
}

// do runs the flight on the caller's goroutine.
func (f *flight) do(ctx context.Context) (Result, error) {
	release, err := f.box.Hold()
	if err != nil {
		return Result{}, err
	}
	defer release()
	return f.fly(ctx, nil)
}

// detach runs the flight in the background, once it has its turn or waits for it.
func (f *flight) detach(ctx context.Context) (Info, error) {
	if err := f.engine.stateErr(); err != nil {
		return Info{}, &StateError{err}
	}
	release, err := f.box.Hold()
	if err != nil {
		return Info{}, err
	}
	f.promised = true
	admitted := make(chan error, 1)
	go func() {
		defer release()
		_, _ = f.fly(context.WithoutCancel(ctx), admitted)
	}()
	if err := <-admitted; err != nil {
		return Info{}, err
	}
	return f.snapshot(), nil
}

// fly waits for the flight's turn, runs it, and records its end. admitted, if
// not nil, gets the one answer whether the run is in the ledger.
func (f *flight) fly(ctx context.Context, admitted chan<- error) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	f.cancel = cancel
	defer cancel(nil)
	defer context.AfterFunc(f.box.Work(), func() { cancel(errShutdown) })()
	defer f.forget()

	clean, err := f.furnish()
	defer clean()
	if err != nil {
		return f.turnedAway(ctx, err, admitted)
	}
	leave, err := f.enter(ctx, admitted)
	if err != nil {
		return f.turnedAway(ctx, err, admitted)
	}
	defer leave()
	if admitted != nil {
		f.answer(admitted, nil)
	}
	f.work(ctx)
	f.land(ctx)
	return f.outcome(ctx)
}

// answer tells the caller of detach once.
func (f *flight) answer(admitted chan<- error, err error) {
	select {
	case admitted <- err:
	default: // it was told before
	}
}

// enter takes the turn of the workspace and a slot.
func (f *flight) enter(ctx context.Context, admitted chan<- error) (leave func(), err error) {
	patience := f.box.Limits().Wait
	now := f.waitSet && f.wait <= 0
	if f.waitSet && f.wait > 0 {
		patience = f.wait
	}
	var beginErr error
	leave, err = f.engine.queue.enter(ctx, f.req.Workspace, now, patience, func(place int) {
		if beginErr = f.begin(ledger.Waiting); beginErr != nil {
			f.cancel(beginErr)
			return
		}
		if admitted != nil {
			f.answer(admitted, nil)
		}
		if f.queued != nil {
			f.queued(place)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := f.begin(ledger.Running); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// begin enters the run in the ledger, or moves it on there. A run that was
// promised must be there; another goes on without.
func (f *flight) begin(status ledger.Status) error {
	f.mu.Lock()
	again := f.recorded
	f.info.Status = status
	if status == ledger.Running {
		f.info.Started = time.Now()
	}
	info := f.info
	f.recorded = true
	f.mu.Unlock()
	f.engine.add(f)
	var err error
	if again {
		if status == ledger.Running {
			err = f.engine.store.Start(context.Background(), info.ID, info.Started)
		}
	} else {
		err = f.engine.store.Begin(context.Background(), ledger.Run{
			ID: info.ID, Owner: f.box.Instance(), Surface: info.Surface, Workspace: info.Workspace,
			Status: status, Created: info.Created, Started: info.Started,
			Key: f.key, KeyHash: f.keyHash, Meta: f.meta,
		})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrKeyUsed):
		return ErrKeyUsed
	}
	f.log().Error("a run could not be recorded", "error", err)
	if f.promised || f.key != "" {
		return &StateError{err}
	}
	f.note("the run could not be recorded in the state directory")
	return nil
}

// turnedAway ends a run that never got to work.
func (f *flight) turnedAway(ctx context.Context, err error, admitted chan<- error) (Result, error) {
	if ctx.Err() != nil && !errors.Is(err, ErrKeyUsed) {
		err = context.Cause(ctx)
		if refusal(err) == nil {
			err = &CancelledError{Reason: err.Error(), Result: f.result}
		}
	}
	f.mu.Lock()
	recorded := f.recorded && !errors.Is(err, ErrKeyUsed)
	f.mu.Unlock()
	f.result.Status, f.result.Error = ledger.Failed, err.Error()
	var cancelled *CancelledError
	if errors.As(err, &cancelled) {
		f.result.Status, f.result.Error = ledger.Cancelled, cancelled.Reason
	}
	f.err = err
	if recorded {
		f.record()
	}
	if admitted != nil {
		f.answer(admitted, err)
	}
	return Result{}, err
}

// refusal returns err if it is one of the errors a run can be turned away
// with, and nil for a cause of cancellation.
func refusal(err error) error {
	var state *StateError
	if errors.Is(err, ErrKeyUsed) || errors.As(err, &state) {
		return err
	}
	return nil
}

// work asks the agent.
func (f *flight) work(ctx context.Context) {
	if err := f.ask(ctx, f.asks); err != nil {
		f.err = err
		f.result.Status, f.result.Error = ledger.Failed, err.Error()
	}
}

// furnish makes the scratch directory, and the workspace if it is a throw-away
// one. clean removes them.
func (f *flight) furnish() (clean func(), err error) {
	dir, err := scratch()
	if err != nil {
		return func() {}, err
	}
	f.req.Scratch = dir
	clean = func() { f.engine.remove(dir) }
	if !f.ephemeral {
		return clean, nil
	}
	e, err := workspace.NewEphemeral(workspace.EphemeralBase())
	if err != nil {
		return clean, fmt.Errorf("make a throw-away workspace: %w", err)
	}
	f.req.Workspace, f.result.Workspace, f.info.Workspace = e.Dir(), e.Dir(), e.Dir()
	return func() {
		f.engine.remove(dir)
		if err := e.Remove(); err != nil {
			f.log().Warn("a throw-away workspace could not be removed", "error", err)
		}
	}, nil
}

// land judges a run that was cut short and records the end.
func (f *flight) land(ctx context.Context) {
	if f.err == nil && ctx.Err() != nil && (f.result.Status == ledger.Cancelled || len(f.result.Attempts) == 0 || f.unsettled()) {
		f.result.Status, f.result.Error = ledger.Cancelled, f.reason(ctx)
	}
	f.record()
}

// unsettled tells whether a retry was owed when the run was cancelled.
func (f *flight) unsettled() bool {
	return f.result.ParseError != "" && len(f.result.Attempts) <= maxRetries
}

// reason tells why ctx ended.
func (f *flight) reason(ctx context.Context) string {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		cause = errCallerLeft
	}
	return cause.Error()
}

// outcome is what the caller gets.
func (f *flight) outcome(ctx context.Context) (Result, error) {
	if f.into != nil {
		*f.into = f.result
	}
	if f.err != nil {
		return f.result, f.err
	}
	if f.result.Status == ledger.Cancelled {
		return f.result, &CancelledError{Reason: f.reason(ctx), Result: f.result}
	}
	return f.result, nil
}

// record enters the run's end in the ledger.
func (f *flight) record() {
	f.result.Ended = time.Now()
	f.mu.Lock()
	f.info.Status, f.info.Error, f.info.Ended = f.result.Status, f.result.Error, f.result.Ended
	f.mu.Unlock()
	f.recorder.end()
	f.engine.finish(f)
	f.log().Info("run ended", "surface", f.surface, "status", f.result.Status, "exit", f.result.ExitCode,
		"attempts", len(f.result.Attempts), "took", f.result.Ended.Sub(f.info.Created).Round(time.Millisecond))
}

// forget takes the run out of those in flight.
func (f *flight) forget() {
	close(f.done)
	f.engine.drop(f)
}

// snapshot returns what is known of the run now.
func (f *flight) snapshot() Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info
}

func (f *flight) note(text string) { f.result.Notes = append(f.result.Notes, text) }

func (f *flight) log() *slog.Logger { return f.box.Log().With("run", f.id) }

// keepBackground notes processes that the agent left running on purpose.
func (f *flight) keepBackground(list []ledger.Process) {
	if len(list) == 0 {
		return
	}
	f.result.Background = append(f.result.Background, list...)
	f.engine.keepBackground(f.id, list)
}
