package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNewer is returned for a file that a newer version of the program made.
var ErrNewer = errors.New("the records of runs were made by a newer version")

// version is the schema's, kept in PRAGMA user_version.
const version = 1

// schema is what a new file gets. Times are Unix nanoseconds, 0 for none; a
// run is in flight while ended is 0.
//
// The keys of results and records hold two numbers: the run's, times 2^32, and
// the piece's or the record's. So all that belongs to a run lies together, in
// order, in the one tree there is.
const schema = `
CREATE TABLE runs (
	number    INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice: readers rely on it
	id        TEXT NOT NULL UNIQUE,
	owner     TEXT NOT NULL,
	surface   TEXT NOT NULL,
	workspace TEXT NOT NULL,
	status    TEXT NOT NULL,
	error     TEXT NOT NULL,
	created   INTEGER NOT NULL,
	started   INTEGER NOT NULL,
	ended     INTEGER NOT NULL,
	keep      INTEGER NOT NULL,
	key       TEXT, -- NULL for none
	key_hash  TEXT NOT NULL,
	meta      BLOB,
	processes BLOB, -- JSON, NULL for none
	result    INTEGER, -- bytes, NULL for none
	size      INTEGER NOT NULL DEFAULT 0 -- bytes of result and records, once final
) STRICT;
CREATE UNIQUE INDEX runs_key ON runs (key) WHERE key IS NOT NULL;
CREATE INDEX runs_in_flight ON runs (owner) WHERE ended = 0;

CREATE TABLE results (
	at   INTEGER PRIMARY KEY, -- run's number << 32 | piece
	data BLOB NOT NULL
) STRICT;

CREATE TABLE records (
	at      INTEGER PRIMARY KEY, -- run's number << 32 | sequence
	attempt INTEGER NOT NULL,
	data    BLOB NOT NULL
) STRICT;

PRAGMA user_version = 1;
`

// migrate brings the file to the schema of this version.
func (w *writer) migrate(ctx context.Context) error {
	found, err := w.version(ctx)
	if err != nil || found != 0 {
		return errors.Join(err, known(found))
	}
	return w.transact(ctx, func() error { return w.create(ctx) })
}

// create writes the schema, unless another process did by now.
func (w *writer) create(ctx context.Context) error {
	found, err := w.version(ctx)
	if err != nil || found != 0 {
		return errors.Join(err, known(found))
	}
	_, err = w.conn.ExecContext(ctx, schema)
	return err
}

func known(found int) error {
	if found > version {
		return fmt.Errorf("%w (%d, this one knows up to %d)", ErrNewer, found, version)
	}
	return nil
}

func (w *writer) version(ctx context.Context) (found int, err error) {
	err = w.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found)
	return found, err
}

// patiently repeats the first use of a file while another process holds it:
// changing a file to the write-ahead mode does not wait for that by itself.
func patiently[T any](ctx context.Context, f func() (T, error)) (T, error) {
	for deadline := time.Now().Add(busyPatience); ; {
		v, err := f()
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
