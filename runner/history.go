package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// lookup returns what is known of a run, in flight or in the ledger.
func (e *engine) lookup(ctx context.Context, id string) (Info, error) {
	if f := e.flight(id); f != nil {
		return f.snapshot(), nil
	}
	run, err := e.store.Get(ctx, id)
	if err != nil {
		return Info{}, err
	}
	return e.info(run), nil
}

// info is a ledger's run in the runner's words.
func (e *engine) info(run ledger.Run) Info {
	return Info{
		ID: run.ID, Surface: run.Surface, Workspace: run.Workspace, Status: run.Status, Error: run.Error,
		Created: run.Created, Started: run.Started, Ended: run.Ended, KeyHash: run.KeyHash, Meta: run.Meta,
		Background: e.living(run.ID),
	}
}

func (e *engine) byKey(ctx context.Context, key string) (Info, error) {
	run, err := e.store.ByKey(ctx, key)
	if err != nil {
		return Info{}, err
	}
	if f := e.flight(run.ID); f != nil {
		return f.snapshot(), nil
	}
	return e.info(run), nil
}

// resultOf reads a finished run's result from the ledger.
func (e *engine) resultOf(ctx context.Context, id string) (Result, error) {
	run, err := e.store.Get(ctx, id)
	if err != nil {
		return Result{}, err
	}
	data, err := e.store.Result(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Result{}, err
	}
	r := Result{ID: run.ID, Workspace: run.Workspace, Created: run.Created}
	if len(data) > 0 {
		if r, err = decode(data); err != nil {
			return Result{}, err
		}
	}
	r.Status, r.Error, r.Ended = run.Status, run.Error, run.Ended
	r.Background = e.living(id)
	return r, nil
}

// await waits for a run to end.
func (e *engine) await(ctx context.Context, id string) (Result, error) {
	if f := e.flight(id); f != nil {
		select {
		case <-f.done:
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		}
	}
	return e.resultOf(ctx, id)
}

// cancel ends a run and what it left running.
func (e *engine) cancel(ctx context.Context, id, reason string) (Info, error) {
	info, err := e.end(ctx, id, reason)
	if err != nil {
		return Info{}, err
	}
	if len(info.Background) > 0 {
		e.endBackground(info.Background)
		info.Background = e.living(id)
	}
	return info, nil
}

// end ends a run if it is in flight and returns its state. A run may begin
// between a look at those in flight and one at the ledger, so the first is
// repeated while the second finds it alive.
func (e *engine) end(ctx context.Context, id, reason string) (Info, error) {
	for {
		if f := e.flight(id); f != nil {
			f.cancel(errors.New(reason))
			select {
			case <-f.done:
			case <-ctx.Done():
				return Info{}, context.Cause(ctx)
			}
		}
		info, err := e.lookup(ctx, id)
		if err != nil || info.Status.Final() || e.flight(id) == nil {
			return info, err
		}
	}
}

// endBackground ends processes that a finished run left, and their children.
func (e *engine) endBackground(list []ledger.Process) {
	t := &tree{reaper: e.reaper, known: make(map[int]uint64), others: make(map[int]uint64), unmarked: true}
	for _, p := range list {
		t.known[p.PID] = p.Start
	}
	t.endSome(anyProcess, killGrace)
}

// list returns the runs in flight, oldest first, then those with processes
// left in the background.
func (e *engine) list(ctx context.Context) ([]Info, error) {
	e.mu.Lock()
	flights := make([]*flight, 0, len(e.flights))
	for _, f := range e.flights {
		flights = append(flights, f)
	}
	left := make([]string, 0, len(e.background))
	for id := range e.background {
		if e.flights[id] == nil {
			left = append(left, id)
		}
	}
	e.mu.Unlock()
	infos := make([]Info, 0, len(flights)+len(left))
	for _, f := range flights {
		infos = append(infos, f.snapshot())
	}
	slices.SortFunc(infos, func(a, b Info) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	slices.Sort(left)
	for _, id := range left {
		info, err := e.lookup(ctx, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		if len(info.Background) > 0 {
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// records yields a run's records: of one in flight as they come, of a finished
// one from the ledger.
func (e *engine) records(ctx context.Context, id string, after int64, yield func(Record, error) bool) {
	if f := e.flight(id); f != nil {
		follow(ctx, f.recorder, after, yield)
		return
	}
	if _, err := e.store.Get(ctx, id); err != nil {
		yield(Record{}, err)
		return
	}
	for kept, err := range e.store.Records(ctx, id, after) {
		var rec Record
		if err == nil {
			err = readRecord(kept.Data, &rec)
		}
		if !yield(rec, err) || err != nil {
			return
		}
	}
}

func readRecord(data []byte, rec *Record) error {
	if err := json.Unmarshal(data, rec); err != nil {
		return fmt.Errorf("read a kept record: %w", err)
	}
	return nil
}

// follow yields the records of a run in flight until it ends.
func follow(ctx context.Context, r *recorder, after int64, yield func(Record, error) bool) {
	for {
		list, more := r.after(after)
		for _, rec := range list {
			after = rec.Sequence
			if !yield(rec, nil) {
				return
			}
		}
		if more == nil {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			yield(Record{}, context.Cause(ctx))
			return
		}
	}
}
