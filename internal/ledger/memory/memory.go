// Package memory is a ledger that nothing outlives: it stands in when the
// state directory cannot be written, so that runs which somebody waits for
// still work. It is bounded: the oldest finished runs go when new ones need
// their room, and what does not fit at all is refused with ledger.ErrFull.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

const (
	maxRuns  = 1000      // finished ones
	maxBytes = 256 << 20 // of results and records, of all runs
)

// store keeps runs in a map. All of it is guarded by mu.
type store struct {
	maxRuns  int
	maxBytes int64

	mu    sync.Mutex
	runs  map[string]*entry
	keys  map[string]*entry
	count int64 // runs ever begun
	bytes int64 // of results and records
}

// entry is a run with what belongs to it.
type entry struct {
	ledger.Run
	order   int64 // of Begin
	records []ledger.Record
	result  []byte
	ended   bool // by Finish, so that there is a result
	bytes   int64
}

// New returns an empty ledger in memory.
func New() ledger.Store { return newStore(maxRuns, maxBytes) }

func newStore(runs int, bytes int64) *store {
	return &store{
		maxRuns: runs, maxBytes: bytes,
		runs: make(map[string]*entry), keys: make(map[string]*entry),
	}
}

func (s *store) Begin(ctx context.Context, r ledger.Run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.runs[r.ID] != nil {
		return fmt.Errorf("record run %s: its id is taken", r.ID)
	}
	if r.Key != "" {
		if s.keys[r.Key] != nil {
			return ledger.ErrKeyUsed
		}
	}
	s.count++
	e := &entry{Run: normal(r), order: s.count}
	s.runs[r.ID] = e
	if r.Key != "" {
		s.keys[r.Key] = e
	}
	return nil
}

// normal gives a run the form in which it is returned.
func normal(r ledger.Run) ledger.Run {
	for _, t := range []*time.Time{&r.Created, &r.Started, &r.Ended, &r.Keep} {
		*t = utc(*t)
	}
	r.Processes = slices.Clone(r.Processes)
	return r
}

// utc is t in UTC, without the monotonic clock.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Round(0).UTC()
}

// change applies f to a run; with inFlight set, not to a final one.
func (s *store) change(ctx context.Context, id string, inFlight bool, f func(e *entry) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	e := s.runs[id]
	if e == nil {
		return ledger.ErrNotFound
	}
	if inFlight && e.Status.Final() {
		return nil
	}
	return f(e)
}

func (s *store) Start(ctx context.Context, id string, at time.Time) error {
	return s.change(ctx, id, true, func(e *entry) error {
		e.Status, e.Started = ledger.Running, utc(at)
		return nil
	})
}

func (s *store) Track(ctx context.Context, id string, processes []ledger.Process) error {
	return s.change(ctx, id, false, func(e *entry) error {
		e.Processes = slices.Clone(processes)
		return nil
	})
}

func (s *store) Append(ctx context.Context, id string, records []ledger.Record) error {
	return s.change(ctx, id, true, func(e *entry) error {
		if err := s.room(size(records)); err != nil {
			return err
		}
		s.put(e, records)
		return nil
	})
}

func (s *store) Finish(ctx context.Context, id string, end ledger.End) error {
	return s.change(ctx, id, true, func(e *entry) error {
		full := s.room(size(end.Records) + int64(len(end.Result)))
		if full == nil {
			s.put(e, end.Records)
			s.grow(e, int64(len(end.Result)))
			e.result, e.ended = end.Result, true
		}
		e.Status, e.Error, e.Ended, e.Keep = end.Status, end.Error, utc(end.Ended), utc(end.Keep)
		e.Processes = slices.Clone(end.Processes)
		s.bound(s.maxRuns, s.maxBytes)
		return full
	})
}

// room makes room for n bytes, at the cost of the oldest finished runs if
// their going helps.
func (s *store) room(n int64) error {
	if s.bytes+n <= s.maxBytes {
		return nil
	}
	list := s.finished()
	freed := int64(0)
	for _, e := range list {
		freed += e.bytes
	}
	if s.bytes-freed+n > s.maxBytes {
		return ledger.ErrFull
	}
	for _, e := range list {
		if s.bytes+n <= s.maxBytes {
			break
		}
		s.drop(e)
	}
	return nil
}

// put adds records in the order of their sequence; a later one of the same
// sequence takes the place of the earlier.
func (s *store) put(e *entry, records []ledger.Record) {
	for _, r := range records {
		at, found := slices.BinarySearchFunc(e.records, r.Sequence, func(x ledger.Record, sequence int64) int {
			return cmp.Compare(x.Sequence, sequence)
		})
		s.grow(e, int64(len(r.Data)))
		if at < len(e.records) {
			e.records = slices.Clone(e.records) // a reader may hold the slice
		}
		if found {
			s.grow(e, -int64(len(e.records[at].Data)))
			e.records[at] = r
			continue
		}
		e.records = slices.Insert(e.records, at, r)
	}
}

func (s *store) grow(e *entry, n int64) {
	e.bytes += n
	s.bytes += n
}

func size(records []ledger.Record) (n int64) {
	for _, r := range records {
		n += int64(len(r.Data))
	}
	return n
}

func (s *store) Interrupt(ctx context.Context, owner string, ended, keep time.Time) ([]ledger.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var runs []ledger.Run
	for _, e := range s.newest() {
		if e.Owner != owner || e.Status.Final() {
			continue
		}
		runs = append(runs, e.Run)
		e.Status, e.Error, e.Ended, e.Keep = ledger.Failed, ledger.Interrupted, utc(ended), utc(keep)
	}
	return runs, nil
}

func (s *store) Sweep(ctx context.Context, now time.Time, runs int, bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, e := range s.runs {
		if e.Status.Final() && !e.Keep.IsZero() && e.Keep.Before(now) {
			s.drop(e)
		}
	}
	s.bound(runs, bytes)
	return nil
}

// bound drops the oldest finished runs beyond the bounds, but never the newest.
func (s *store) bound(runs int, bytes int64) {
	list := s.finished()
	if len(list) == 0 {
		return
	}
	newest := slices.MaxFunc(list, byEnd)
	count, total := len(list), int64(0)
	for _, e := range list {
		total += e.bytes
	}
	for _, e := range list {
		if (runs <= 0 || count <= runs) && (bytes <= 0 || total <= bytes) {
			return
		}
		if e == newest {
			continue
		}
		count--
		total -= e.bytes
		s.drop(e)
	}
}

func byEnd(a, b *entry) int {
	return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.order, b.order))
}

func (s *store) drop(e *entry) {
	s.bytes -= e.bytes
	delete(s.runs, e.ID)
	if e.Key != "" {
		delete(s.keys, e.Key)
	}
}

// finished returns the final runs in the order in which they are dropped.
func (s *store) finished() []*entry {
	list := make([]*entry, 0, len(s.runs))
	for _, e := range s.runs {
		if e.Status.Final() {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(min(len(a.Key), 1), min(len(b.Key), 1)), byEnd(a, b))
	})
	return list
}

// newest returns all runs, those begun last first.
func (s *store) newest() []*entry {
	list := make([]*entry, 0, len(s.runs))
	for _, e := range s.runs {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(b.order, a.order) })
	return list
}

// Close does nothing: what is kept goes with the last reference.
func (s *store) Close() error { return nil }

// read returns a copy of the entry that is found by id, or by key.
func (s *store) read(ctx context.Context, index map[string]*entry, name string) (entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return entry{}, err
	}
	e := index[name]
	if e == nil {
		return entry{}, ledger.ErrNotFound
	}
	return *e, nil
}

func (s *store) Get(ctx context.Context, id string) (ledger.Run, error) {
	e, err := s.read(ctx, s.runs, id)
	return e.Run, err
}

func (s *store) ByKey(ctx context.Context, key string) (ledger.Run, error) {
	e, err := s.read(ctx, s.keys, key)
	return e.Run, err
}

func (s *store) Result(ctx context.Context, id string) ([]byte, error) {
	e, err := s.read(ctx, s.runs, id)
	if err == nil && !e.ended {
		err = ledger.ErrNotFound
	}
	return e.result, err
}

func (s *store) Records(ctx context.Context, id string, after int64) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		e, err := s.read(ctx, s.runs, id)
		if err != nil {
			yield(ledger.Record{}, err)
			return
		}
		for _, r := range e.records {
			if r.Sequence > after && !yield(r, nil) {
				return
			}
		}
	}
}

func (s *store) List(ctx context.Context, limit int, only ...ledger.Status) ([]ledger.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var runs []ledger.Run
	for _, e := range s.newest() {
		if limit > 0 && len(runs) == limit {
			break
		}
		if len(only) == 0 || slices.Contains(only, e.Status) {
			runs = append(runs, e.Run)
		}
	}
	return runs, nil
}

func (s *store) Owners(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var owners []string
	for _, e := range s.runs {
		if !e.Status.Final() && !slices.Contains(owners, e.Owner) {
			owners = append(owners, e.Owner)
		}
	}
	slices.Sort(owners)
	return owners, nil
}
