package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/internal/ledger/memory"
	"github.com/psyb0t/aicodebox/internal/ledger/sqlite"
	"github.com/psyb0t/aicodebox/internal/workspace"
)

// How long results and what belongs to them are kept, and how many.
const (
	resultKept   = 6 * time.Hour
	keyKept      = 24 * time.Hour
	keptRuns     = 20_000
	keptBytes    = 1 << 30
	sweepGap     = 10 * time.Minute
	ephemeralAge = time.Hour
)

// engine is what the runs of one box share.
type engine struct {
	box    *aicodebox.Box
	log    *slog.Logger
	binary string // the adapter's word for its agent, which the box's setting may replace
	queue  *queue
	reaper *reaper
	store  ledger.Store
	broken error // why the ledger is in memory only
	lock   io.Closer
	stop   context.CancelFunc
	wait   sync.WaitGroup
	closed sync.Once

	mu         sync.Mutex
	flights    map[string]*flight
	background map[string][]ledger.Process // run id -> what it left running
}

// open returns the box's engine, started on the first call.
func open(box *aicodebox.Box) (*engine, error) {
	c, err := box.Engine(func() (io.Closer, error) { return newEngine(box) })
	if err != nil {
		return nil, err
	}
	return c.(*engine), nil
}

func newEngine(box *aicodebox.Box) (*engine, error) {
	r, err := takeReaper()
	if err != nil {
		return nil, fmt.Errorf("become the reaper of the agents' children: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	limits := box.Limits()
	e := &engine{
		box: box, log: box.Log(), binary: aicodebox.Describe(box.Adapter()).Binary,
		queue: newQueue(limits.Runs, limits.Waiting), reaper: r, stop: stop,
		flights: make(map[string]*flight), background: make(map[string][]ledger.Process),
	}
	e.openStore(ctx)
	e.recover(ctx)
	e.clearLocks()
	e.wait.Go(func() { e.sweepLoop(ctx) })
	return e, nil
}

// openStore opens the ledger, or one in memory if the state directory cannot
// keep it: runs that somebody waits for still work.
func (e *engine) openStore(ctx context.Context) {
	dir := e.box.StateDir()
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var lock *ledger.Instance
		if lock, err = ledger.Lock(dir, e.box.Instance()); err == nil {
			e.lock = lock
		}
	}
	if err == nil {
		e.store, err = openFile(ctx, filepath.Join(dir, "runs.db"), e.log)
	}
	if err != nil {
		e.broken = err
		e.store = memory.New()
		e.log.Error("the state directory cannot keep records of runs: runs in the background are refused, and nothing outlives a restart",
			"directory", dir, "error", err)
	}
}

// openFile opens the ledger's file. One that is damaged beyond use is moved
// aside, and said so, since a box without its old records is better than none.
func openFile(ctx context.Context, path string, log *slog.Logger) (ledger.Store, error) {
	store, err := sqlite.Open(ctx, path)
	if !errors.Is(err, ledger.ErrCorrupt) {
		return store, err
	}
	aside, moveErr := sqlite.MoveAside(ctx, path)
	if moveErr != nil {
		return nil, errors.Join(err, moveErr)
	}
	log.Error("the records of runs were damaged: they were moved aside and a new file was begun", "file", aside, "error", err)
	return sqlite.Open(ctx, path)
}

// stateErr tells why runs cannot be promised, or nil.
func (e *engine) stateErr() error { return e.broken }

// Close ends the engine. The box has waited for the runs by then, or ended them.
func (e *engine) Close() (err error) {
	e.closed.Do(func() {
		e.stop()
		e.wait.Wait()
		err = e.store.Close()
		if e.lock != nil {
			err = errors.Join(err, e.lock.Close())
		}
		e.reaper.release()
	})
	return err
}

// recover fails the runs, and ends the processes, of boxes that died.
func (e *engine) recover(ctx context.Context) {
	if e.broken != nil {
		return
	}
	owners, err := e.store.Owners(ctx)
	if err != nil {
		e.log.Error("the ledger's unfinished runs could not be read", "error", err)
		return
	}
	for _, owner := range owners {
		// Holding a dead box's lock keeps others from doing the same.
		lock, err := ledger.Lock(e.box.StateDir(), owner)
		if err != nil {
			continue
		}
		now := time.Now()
		runs, err := e.store.Interrupt(ctx, owner, now, now.Add(resultKept))
		if err != nil {
			e.log.Error("the runs of a box that died could not be ended", "instance", owner, "error", err)
		}
		for _, run := range runs {
			e.log.Warn("a run was cut short when its box died", "run", run.ID, "surface", run.Surface)
		}
		endOrphans(runs)
		_ = lock.Close()
	}
}

// clearLocks removes the lock files of boxes that ended.
func (e *engine) clearLocks() {
	if e.broken != nil {
		return
	}
	for _, id := range ledger.Free(e.box.StateDir()) {
		if lock, err := ledger.Lock(e.box.StateDir(), id); err == nil {
			_ = lock.Close()
		}
	}
}

// endOrphans ends the processes of runs whose box died: those that were noted,
// those that carry the runs' markers, and all they started.
func endOrphans(runs []ledger.Run) {
	var trees sync.WaitGroup
	for _, run := range runs {
		t := &tree{
			mark: markerName + "=" + run.Owner + "." + run.ID, reaper: nil,
			known: make(map[int]uint64), others: make(map[int]uint64),
		}
		for _, p := range run.Processes {
			t.known[p.PID] = p.Start
		}
		trees.Go(func() { t.endSome(anyProcess, settleGrace) })
	}
	trees.Wait()
}

// sweepLoop drops what is kept no longer, at start and every ten minutes.
func (e *engine) sweepLoop(ctx context.Context) {
	tick := time.NewTicker(sweepGap)
	defer tick.Stop()
	for {
		e.sweep(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (e *engine) sweep(ctx context.Context) {
	if err := e.store.Sweep(ctx, time.Now(), keptRuns, keptBytes); err != nil && ctx.Err() == nil {
		e.log.Warn("old runs could not be dropped from the ledger", "error", err)
	}
	if _, err := workspace.SweepEphemeral(workspace.EphemeralBase(), ephemeralAge, e.inUse); err != nil {
		e.log.Warn("old throw-away workspaces could not be removed", "error", err)
	}
}

// inUse tells whether a run in flight has dir as its workspace.
func (e *engine) inUse(dir string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.flights {
		if f.req.Workspace == dir {
			return true
		}
	}
	return false
}

func (e *engine) remove(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		e.log.Warn("a run's scratch directory could not be removed", "error", err)
	}
}

func (e *engine) add(f *flight) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flights[f.id] = f
}

func (e *engine) drop(f *flight) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.flights[f.id] == f {
		delete(e.flights, f.id)
	}
}

func (e *engine) flight(id string) *flight {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.flights[id]
}

// track notes a run's living processes in the ledger.
func (e *engine) track(id string, processes []ledger.Process) {
	if err := e.store.Track(context.Background(), id, processes); err != nil {
		e.log.Debug("a run's processes could not be noted", "run", id, "error", err)
	}
}

// finish enters a run's end in the ledger.
func (e *engine) finish(f *flight) {
	data, err := f.encode()
	if err != nil {
		e.log.Error("a run's result could not be encoded", "run", f.id, "error", err)
	}
	kept := resultKept
	if f.key != "" {
		kept = keyKept
	}
	err = e.store.Finish(context.Background(), f.id, ledger.End{
		Status: f.result.Status, Error: f.result.Error, Ended: f.result.Ended,
		Keep: f.result.Ended.Add(kept), Result: data, Records: f.recorder.forLedger(),
		Processes: f.result.Background,
	})
	if err != nil {
		e.log.Error("a run's result could not be recorded", "run", f.id, "error", err)
	}
}

func (e *engine) keepBackground(id string, list []ledger.Process) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.background[id] = append(e.background[id], list...)
}

// living returns what still lives of what the run left running.
func (e *engine) living(id string) []ledger.Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := slices.DeleteFunc(e.background[id], func(p ledger.Process) bool { return !lives(p) })
	if len(list) == 0 {
		delete(e.background, id)
		return nil
	}
	e.background[id] = list
	return slices.Clone(list)
}
