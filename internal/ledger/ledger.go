// Package ledger is the record of runs: what was asked to run, where, how it
// ended, and what it answered. A run is in the ledger from before its process
// starts until its result is no longer kept.
//
// The package holds the words, the Store interface, and the locks that tell
// living boxes from dead ones (Instance). The engines behind Store are packages
// of their own: sqlite keeps runs in a file, memory for when none can be
// written; ledgertest is what every engine must pass.
package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"
)

// Status is where a run stands.
type Status string

// The states of a run. A run only ever moves from Waiting or Running to one of
// the three others, and never on from there.
const (
	Waiting   Status = "waiting"   // for its workspace or a slot
	Running   Status = "running"   // its agent works
	Completed Status = "completed" // the agent ended by itself, whatever its exit code
	Failed    Status = "failed"    // timeout, interruption, could not start
	Cancelled Status = "cancelled"
)

// Final tells whether a run in this state has ended.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// Interrupted is the error of a run whose box died while it was in flight.
const Interrupted = "interrupted by restart"

var (
	// ErrNotFound is returned for a run that the ledger does not hold.
	ErrNotFound = errors.New("run not found")
	// ErrKeyUsed is returned by Begin for an idempotency key that another run holds.
	ErrKeyUsed = errors.New("idempotency key already used")
	// ErrFull is returned when there is no room for what is to be recorded.
	ErrFull = errors.New("no space left for records of runs")
	// ErrReadOnly is returned when records cannot be written or even opened.
	ErrReadOnly = errors.New("records of runs cannot be written")
	// ErrCorrupt is returned when what is kept cannot be made sense of.
	ErrCorrupt = errors.New("records of runs are corrupt")
)

// Process is a process that a run left behind.
type Process struct {
	PID     int    `json:"pid"`
	Start   uint64 `json:"start"` // start time in clock ticks since boot, /proc/PID/stat field 22
	Command string `json:"command"`
}

// Run is one line of the ledger.
type Run struct {
	ID        string
	Owner     string // instance id of the box that runs it
	Surface   string
	Workspace string // absolute
	Status    Status
	Error     string
	Created   time.Time
	Started   time.Time // zero while waiting
	Ended     time.Time // zero until final
	Keep      time.Time // the result may be dropped after this; zero while not final
	Key       string    // idempotency key with its scope, or empty
	KeyHash   string    // hash of the request that first used Key
	Meta      json.RawMessage
	Processes []Process // tracked while it runs, left in the background after
}

// Record is one line of what an agent told, as the run's events keep it.
type Record struct {
	Sequence int64 // over the whole run, from 0 up to 1<<32 - 1
	Attempt  int
	Data     []byte // encoded by the runner
}

// End is how a run ended.
type End struct {
	Status    Status
	Error     string
	Ended     time.Time
	Keep      time.Time
	Result    []byte // encoded by the runner; may be large
	Records   []Record
	Processes []Process // left in the background
}

// Store keeps runs. It is safe for concurrent use; one process may be killed
// at any moment without losing a finished result or harming other runs, and
// several processes may share one store.
//
// An engine may keep the byte slices it is given, and return slices that it
// keeps: neither side changes them afterwards. A write whose context ends
// while it waits for its turn does nothing; once it has begun it is completed.
// Times come back in UTC.
type Store interface {
	// Begin records a run before its process starts. It returns ErrKeyUsed
	// when r.Key is not empty and held by another run, until Sweep drops that.
	Begin(ctx context.Context, r Run) error
	// Start records that a waiting run's agent starts. On a final run it
	// changes nothing and is no error, and so do Append and Finish.
	Start(ctx context.Context, id string, at time.Time) error
	// Track replaces the processes of a run, also of a final one.
	Track(ctx context.Context, id string, processes []Process) error
	// Append adds records of a run in flight. A record whose sequence is
	// already there is replaced.
	Append(ctx context.Context, id string, records []Record) error
	// Finish records a run's end, its result and remaining records, in one
	// transaction. When there is no room for them it returns ErrFull, and
	// records the end without them if there is room for that.
	Finish(ctx context.Context, id string, end End) error
	// Get returns a run without its result, or ErrNotFound.
	Get(ctx context.Context, id string) (Run, error)
	// Result returns what Finish was given, or ErrNotFound, also for a run
	// that has no result yet or was interrupted.
	Result(ctx context.Context, id string) ([]byte, error)
	// Records yields a run's records after the given sequence, in order; -1
	// yields all. It holds no lock while the caller is busy with one. The
	// error, ErrNotFound for one, comes last and alone.
	Records(ctx context.Context, id string, after int64) iter.Seq2[Record, error]
	// ByKey returns the run that holds an idempotency key, or ErrNotFound.
	ByKey(ctx context.Context, key string) (Run, error)
	// List returns the newest runs first, at most limit if that is above 0;
	// with only set, those in one of these states.
	List(ctx context.Context, limit int, only ...Status) ([]Run, error)
	// Owners returns the instances that own a run that has not ended.
	Owners(ctx context.Context) ([]string, error)
	// Interrupt turns an owner's runs in flight into failed ones with the
	// error Interrupted, kept until keep, and returns them as they were. Their
	// processes stay on record until Track clears them.
	Interrupt(ctx context.Context, owner string, ended, keep time.Time) ([]Run, error)
	// Sweep drops finished runs kept until before now, and the oldest beyond
	// the bounds in count and bytes (of results and records), those with an
	// idempotency key last and the very newest never. A bound of 0 or less
	// is none.
	Sweep(ctx context.Context, now time.Time, maxRuns int, maxBytes int64) error
	// Close waits for what is under way. The store cannot be used afterwards;
	// closing it again is no error.
	Close() error
}
