// Package sqlite is the ledger in a file. It needs no server and no C compiler,
// survives being killed at any moment, and several boxes may share one file.
//
// One connection writes, a few read; in SQLite's write-ahead mode neither waits
// for the other. A write is one transaction of a fraction of a millisecond.
// What was committed outlives the process at once; on a loss of power the last
// moments may be missing, but the file stays whole (PRAGMA synchronous=NORMAL,
// https://sqlite.org/wal.html). Results and records are kept in pieces, so that
// large ones are never held in memory twice.
//
// Open reports a file that cannot be used with ledger.ErrReadOnly,
// ledger.ErrFull, ledger.ErrCorrupt or ErrNewer. MoveAside gets a corrupt file
// out of the way, so that the box can go on with a new one.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

const (
	readers      = 4               // connections that read
	busyPatience = 5 * time.Second // how long one process waits for another's write
)

// store is the ledger in one file.
type store struct {
	w          *writer
	reader     *sql.DB
	checkpoint *checkpointer
	q          queries
}

// Open opens the ledger in the file path, making the file and its directory,
// for this user only, when they are missing. Its errors name the file: they
// are for the operator.
func Open(ctx context.Context, path string) (ledger.Store, error) {
	s, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open the records of runs in %s: %w", path, classify(err))
	}
	return s, nil
}

func open(ctx context.Context, path string) (*store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := touch(path); err != nil {
		return nil, err
	}
	reader, err := connect(path, readers, readerPragmas)
	if err != nil {
		return nil, err
	}
	s := &store{reader: reader, checkpoint: newCheckpointer(ctx, reader)}
	if s.w, err = connectWriter(ctx, path, s.checkpoint.note); err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// prepare brings the file up to date and prepares all statements.
func (s *store) prepare(ctx context.Context) error {
	if err := s.w.migrate(ctx); err != nil {
		return err
	}
	write, read := prepareOn(ctx, s.w.conn), prepareOn(ctx, s.reader)
	s.q.write(write)
	s.w.stmts = append(s.w.stmts, write.stmts...)
	s.q.read(read)
	return errors.Join(write.err(), read.err())
}

// touch makes the file with a mode that SQLite gives to those beside it too,
// and finds out early, in words, when it cannot be written.
func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Pragmas of every connection. A new file can shrink again when runs are
// dropped (auto_vacuum, which must come before anything else), and the log of
// writes is cut back after a large one.
var (
	writerPragmas = []string{
		"auto_vacuum(incremental)", "journal_mode(wal)", "journal_size_limit(16777216)", "synchronous(normal)",
		"wal_autocheckpoint(8192)",
	}
	readerPragmas = []string{"query_only(1)"} // which does not forbid checkpoints
)

// connect prepares connections to the file; it opens none.
func connect(path string, connections int, pragmas []string) (*sql.DB, error) {
	params := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyPatience.Milliseconds())}, pragmas...)}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+params.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// Close closes the ledger.
func (s *store) Close() error {
	if err := s.close(); err != nil {
		return fmt.Errorf("close the records of runs: %w", classify(err))
	}
	return nil
}

func (s *store) close() error {
	s.checkpoint.close()
	err := s.reader.Close()
	if s.w != nil {
		err = errors.Join(err, s.w.close())
	}
	return err
}

// placeholders is "?, ?, ..." n times.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
