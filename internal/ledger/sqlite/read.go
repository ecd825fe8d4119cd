package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// moment is the reverse of nanos.
func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// scanRun reads columns.
func scanRun(row interface{ Scan(dest ...any) error }) (r ledger.Run, err error) {
	var created, started, ended, keep int64
	var key sql.NullString
	var meta, processes []byte
	err = row.Scan(&r.ID, &r.Owner, &r.Surface, &r.Workspace, &r.Status, &r.Error,
		&created, &started, &ended, &keep, &key, &r.KeyHash, &meta, &processes)
	if err != nil {
		return ledger.Run{}, err
	}
	r.Created, r.Started, r.Ended, r.Keep = moment(created), moment(started), moment(ended), moment(keep)
	r.Key, r.Meta = key.String, meta
	if len(processes) > 0 {
		if err := json.Unmarshal(processes, &r.Processes); err != nil {
			return ledger.Run{}, fmt.Errorf("processes of run %s: %w: %w", r.ID, ledger.ErrCorrupt, err)
		}
	}
	return r, nil
}

// scanRuns reads and closes rows.
func scanRuns(rows *sql.Rows) (runs []ledger.Run, err error) {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		r, err := scanRun(rows)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, rows.Err()
}

// failed words an error of a read.
func failed(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, sql.ErrNoRows):
		return ledger.ErrNotFound
	}
	return fmt.Errorf("%s: %w", what, classify(err))
}

// Get returns a run.
func (s *store) Get(ctx context.Context, id string) (ledger.Run, error) {
	r, err := scanRun(s.q.get.QueryRowContext(ctx, id))
	return r, failed(ctx, "look up run "+id, err)
}

// ByKey returns the run that holds an idempotency key.
func (s *store) ByKey(ctx context.Context, key string) (ledger.Run, error) {
	r, err := scanRun(s.q.byKey.QueryRowContext(ctx, key))
	return r, failed(ctx, "look up a run by its idempotency key", err)
}

// Result returns a run's result.
func (s *store) Result(ctx context.Context, id string) ([]byte, error) {
	data, err := s.result(ctx, id)
	return data, failed(ctx, "read the result of run "+id, err)
}

func (s *store) result(ctx context.Context, id string) ([]byte, error) {
	var number, size int64
	if err := s.q.size.QueryRowContext(ctx, id).Scan(&number, &size); err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, nil
	}
	rows, err := s.q.pieces.QueryContext(ctx, number<<32, (number+1)<<32)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	data := make([]byte, 0, size)
	for rows.Next() {
		var piece sql.RawBytes
		if err := rows.Scan(&piece); err != nil {
			return nil, err
		}
		data = append(data, piece...)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	switch int64(len(data)) {
	case size:
		return data, nil
	case 0: // dropped between the two looks
		return nil, sql.ErrNoRows
	}
	return nil, fmt.Errorf("%w: %d bytes of %d are there", ledger.ErrCorrupt, len(data), size)
}

// How much Records reads at once. It lets go of its connection before it hands
// the records on, because whoever takes them may be slow.
const (
	batchRecords = 512
	batchBytes   = 1 << 20
)

// Records yields a run's records.
func (s *store) Records(ctx context.Context, id string, after int64) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		var number int64
		err := s.q.find.QueryRowContext(ctx, id).Scan(&number)
		for more := true; more && err == nil; {
			var batch []ledger.Record
			batch, more, err = s.batch(ctx, number, max(after, -1))
			for _, r := range batch {
				if !yield(r, nil) {
					return
				}
				after = r.Sequence
			}
		}
		if err != nil {
			yield(ledger.Record{}, failed(ctx, "read the records of run "+id, err))
		}
	}
}

// batch reads the next records, and tells whether there may be more.
func (s *store) batch(ctx context.Context, number, after int64) (batch []ledger.Record, more bool, err error) {
	rows, err := s.q.records.QueryContext(ctx, number<<32+after, (number+1)<<32)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
	for size := 0; rows.Next(); {
		var at int64
		var r ledger.Record
		if err := rows.Scan(&at, &r.Attempt, &r.Data); err != nil {
			return batch, false, err
		}
		r.Sequence = at & (sequences - 1)
		batch = append(batch, r)
		if size += len(r.Data); size >= batchBytes || len(batch) >= batchRecords {
			return batch, true, nil
		}
	}
	return batch, false, rows.Err()
}

// List returns the newest runs.
func (s *store) List(ctx context.Context, limit int, only ...ledger.Status) ([]ledger.Run, error) {
	query, args := `SELECT `+columns+` FROM runs`, make([]any, 0, len(only)+1)
	if len(only) > 0 {
		query += ` WHERE status IN (` + placeholders(len(only)) + `)`
		flying := true
		for _, status := range only {
			args = append(args, string(status))
			flying = flying && !status.Final()
		}
		if flying {
			query += ` AND ended = 0` // has an index
		}
	}
	if limit <= 0 {
		limit = -1
	}
	rows, err := s.reader.QueryContext(ctx, query+` ORDER BY number DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, failed(ctx, "list runs", err)
	}
	runs, err := scanRuns(rows)
	return runs, failed(ctx, "list runs", err)
}

// Owners returns who has runs in flight.
func (s *store) Owners(ctx context.Context) ([]string, error) {
	const what = "list the owners of runs"
	rows, err := s.reader.QueryContext(ctx, `SELECT DISTINCT owner FROM runs WHERE ended = 0 ORDER BY owner`)
	if err != nil {
		return nil, failed(ctx, what, err)
	}
	defer func() { _ = rows.Close() }()
	var owners []string
	for rows.Next() {
		var owner string
		if err := rows.Scan(&owner); err != nil {
			return nil, failed(ctx, what, err)
		}
		owners = append(owners, owner)
	}
	return owners, failed(ctx, what, rows.Err())
}
