package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

const (
	sequences = 1 << 32 // keys of one run
	pieceSize = 1 << 20 // bytes of a result in one row
)

// nanos is how times are kept. The zero time is 0.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// orNull keeps an empty text as NULL.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// encode keeps processes as JSON, none as NULL.
func encode(processes []ledger.Process) any {
	if len(processes) == 0 {
		return nil
	}
	data, err := json.Marshal(processes)
	if err != nil {
		return nil // numbers and strings always marshal
	}
	return data
}

// Begin records a run.
func (s *store) Begin(ctx context.Context, r ledger.Run) error {
	return s.writeSingle(ctx, "record run "+r.ID, func(ctx context.Context) error {
		done, err := s.q.begin.ExecContext(ctx,
			r.ID, r.Owner, r.Surface, r.Workspace, string(r.Status), r.Error,
			nanos(r.Created), nanos(r.Started), nanos(r.Ended), nanos(r.Keep),
			orNull(r.Key), r.KeyHash, []byte(r.Meta), encode(r.Processes))
		return orRefusal(done, err, ledger.ErrKeyUsed)
	})
}

// orRefusal returns refusal for a statement that changed nothing.
func orRefusal(done sql.Result, err, refusal error) error {
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, refusal)
	}
	return nil
}

// Start records that a run's agent starts.
func (s *store) Start(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "record the start of run "+id, func(ctx context.Context) error {
		done, err := s.q.start.ExecContext(ctx, string(ledger.Running), nanos(at), id)
		err = orRefusal(done, err, ledger.ErrNotFound)
		if errors.Is(err, ledger.ErrNotFound) {
			_, _, err = s.state(ctx, id) // final?
		}
		return err
	})
}

// state looks up a run's number, and whether it is in flight.
func (s *store) state(ctx context.Context, id string) (number int64, inFlight bool, err error) {
	var ended int64
	err = s.q.state.QueryRowContext(ctx, id).Scan(&number, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		err = ledger.ErrNotFound
	}
	return number, ended == 0, err
}

// Track replaces the processes of a run.
func (s *store) Track(ctx context.Context, id string, processes []ledger.Process) error {
	return s.writeSingle(ctx, "record the processes of run "+id, func(ctx context.Context) error {
		done, err := s.q.track.ExecContext(ctx, encode(processes), id)
		return orRefusal(done, err, ledger.ErrNotFound)
	})
}

// Append adds records of a run in flight.
func (s *store) Append(ctx context.Context, id string, records []ledger.Record) error {
	return s.write(ctx, "add records of run "+id, func(ctx context.Context) error {
		number, inFlight, err := s.state(ctx, id)
		if err != nil || !inFlight {
			return err
		}
		return s.put(ctx, number, records)
	})
}

func (s *store) put(ctx context.Context, number int64, records []ledger.Record) error {
	for _, r := range records {
		if r.Sequence < 0 || r.Sequence >= sequences {
			return fmt.Errorf("record %d is beyond what a run can have", r.Sequence)
		}
		if _, err := s.q.record.ExecContext(ctx, number<<32|r.Sequence, r.Attempt, notNull(r.Data)); err != nil {
			return err
		}
	}
	return nil
}

// notNull keeps no bytes as an empty blob.
func notNull(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// Finish records a run's end.
func (s *store) Finish(ctx context.Context, id string, end ledger.End) error {
	if end.Ended.IsZero() {
		end.Ended = time.Now() // a run without it would count as one in flight
	}
	what := "record the end of run " + id
	err := s.write(ctx, what, func(ctx context.Context) error { return s.finish(ctx, id, end) })
	if errors.Is(err, ledger.ErrFull) {
		_ = s.write(ctx, what, func(ctx context.Context) error {
			_, err := s.end(ctx, id, end, nil)
			return err
		})
	}
	return err
}

func (s *store) finish(ctx context.Context, id string, end ledger.End) error {
	number, err := s.end(ctx, id, end, len(end.Result))
	if errors.Is(err, ledger.ErrNotFound) {
		_, _, err = s.state(ctx, id)
		return err // nil for a final run
	}
	if err != nil {
		return err
	}
	for i := 0; i*pieceSize < len(end.Result); i++ {
		piece := end.Result[i*pieceSize : min((i+1)*pieceSize, len(end.Result))]
		if _, err := s.q.piece.ExecContext(ctx, number<<32|int64(i), piece); err != nil {
			return err
		}
	}
	if len(end.Records) == 0 {
		return nil
	}
	if err := s.put(ctx, number, end.Records); err != nil {
		return err
	}
	_, err = s.q.resize.ExecContext(ctx, number)
	return err
}

// end makes a run in flight final and returns its number. result is the bytes
// of its result, nil for none.
func (s *store) end(ctx context.Context, id string, end ledger.End, result any) (number int64, err error) {
	err = s.q.finish.QueryRowContext(ctx, string(end.Status), end.Error,
		nanos(end.Ended), nanos(end.Keep), encode(end.Processes), result, id).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		err = ledger.ErrNotFound
	}
	return number, err
}

// Interrupt ends an owner's runs in flight.
func (s *store) Interrupt(ctx context.Context, owner string, ended, keep time.Time) (runs []ledger.Run, err error) {
	err = s.write(ctx, "interrupt the runs of "+owner, func(ctx context.Context) error {
		rows, err := s.q.inFlight.QueryContext(ctx, owner)
		if err != nil {
			return err
		}
		if runs, err = scanRuns(rows); err != nil {
			return err
		}
		_, err = s.q.interrupt.ExecContext(ctx,
			string(ledger.Failed), ledger.Interrupted, nanos(ended), nanos(keep), owner)
		return err
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}
