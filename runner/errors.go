package runner

import (
	"errors"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
)

// The errors of a run that has no result. Surfaces map them to their own
// statuses; ErrDraining comes from the box.
var (
	// ErrBusy is returned when the workspace, and only it, stood in the way
	// for as long as the caller would wait.
	ErrBusy = errors.New("the workspace is busy with another run")
	// ErrQueueFull is returned when too many runs wait already, or a run
	// waited its whole time for a free slot.
	ErrQueueFull = errors.New("too many runs are waiting; try again later")
	// ErrNotFound is returned for a run id that is not known (any more).
	ErrNotFound = ledger.ErrNotFound
	// ErrDraining is returned when the box takes no new work.
	ErrDraining = aicodebox.ErrDraining
)

// RefusedError says that a request cannot be run, before anything started.
type RefusedError struct {
	Field  string // the Request field at fault: "model", "effort", "workspace", "prompt", "schema", ... or empty
	Reason string // a sentence for the caller
	// TooLarge is set when a text is longer than the agent can be given.
	TooLarge bool
	// Missing is set when what Field names does not exist (an unknown model).
	Missing bool
	cause   error
}

func (e *RefusedError) Error() string { return e.Reason }

func (e *RefusedError) Unwrap() error { return e.cause }

// CancelledError says that a run was cancelled: by its caller, by DELETE, or by
// the box's end. Result holds what there was until then.
type CancelledError struct {
	Reason string
	Result Result
}

func (e *CancelledError) Error() string { return "the run was cancelled: " + e.Reason }

// StateError says that the run could not be recorded, so that a background run
// cannot be promised.
type StateError struct{ cause error }

func (e *StateError) Error() string {
	return "the state directory cannot keep records of runs; see the box's log: " + rootCause(e.cause)
}

func (e *StateError) Unwrap() error { return e.cause }

func rootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
