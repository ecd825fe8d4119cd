package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// writer is the one connection that writes. Whoever gets the turn also writes
// what others wait to write, in the same transaction: most of the price of a
// small write is the transaction.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
	turn chan struct{} // holds a token while somebody writes
	note func(changes int64)

	begin, commit, rollback *sql.Stmt
	stmts                   []*sql.Stmt // all of the connection's

	mu      sync.Mutex
	waiting []*job
}

// job is a write that waits.
type job struct {
	run    func(ctx context.Context) error
	single bool // one statement, a transaction by itself
	done   chan struct{}
	err    error // once done
}

// together is how many jobs share a transaction at most.
const together = 64

// do runs a job in a transaction. It waits for its turn as long as ctx lasts;
// the job itself is not interrupted, so that nobody has to guess what became
// of it. A job that returns an error has changed nothing.
func (w *writer) do(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.done = make(chan struct{})
	w.mu.Lock()
	w.waiting = append(w.waiting, j)
	w.mu.Unlock()
	for {
		select {
		case <-j.done:
			return j.err
		case w.turn <- struct{}{}:
			w.work(context.WithoutCancel(ctx))
			<-w.turn
		case <-ctx.Done():
			if w.withdraw(j) {
				return ctx.Err()
			}
			<-j.done
			return j.err
		}
	}
}

// withdraw takes back a job that nobody works on yet.
func (w *writer) withdraw(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := slices.Index(w.waiting, j)
	if at < 0 {
		return false
	}
	w.waiting = slices.Delete(w.waiting, at, at+1)
	return true
}

// work does the jobs that wait.
func (w *writer) work(ctx context.Context) {
	w.mu.Lock()
	n := min(together, len(w.waiting))
	jobs := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	w.mu.Unlock()
	if len(jobs) == 0 {
		return
	}
	w.each(ctx, jobs)
	for _, j := range jobs {
		close(j.done)
	}
	w.note(int64(len(jobs)))
}

// each does jobs together if that works, else each for itself, so that none
// pays for another's error. All of them would wait for another process, so one
// wait is enough.
func (w *writer) each(ctx context.Context, jobs []*job) {
	var err error
	if len(jobs) > 1 {
		if err = w.all(ctx, jobs); err == nil {
			return
		}
	}
	for _, j := range jobs {
		if isBusy(err) {
			j.err = err
		} else {
			j.err = w.one(ctx, j)
		}
	}
}

// all does jobs in one transaction. A refusal is one job's own affair, because
// it changes nothing; after any other error nothing is done.
func (w *writer) all(ctx context.Context, jobs []*job) error {
	return w.transact(ctx, func() error {
		for _, j := range jobs {
			if j.err = j.run(ctx); j.err != nil && !isRefusal(j.err) {
				return j.err
			}
		}
		return nil
	})
}

func (w *writer) one(ctx context.Context, j *job) error {
	if j.single {
		return j.run(ctx)
	}
	return w.transact(ctx, func() error { return j.run(ctx) })
}

func (w *writer) transact(ctx context.Context, f func() error) error {
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = w.commit.ExecContext(ctx)
	}
	if err != nil {
		// Fails if SQLite has rolled back by itself, as it does on a full disk.
		_, _ = w.rollback.ExecContext(ctx)
	}
	return err
}

// isRefusal tells that an error says all there is to say, of a job that
// changed nothing.
func isRefusal(err error) bool {
	return errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrKeyUsed)
}

// connectWriter opens the connection that writes.
func connectWriter(ctx context.Context, path string, note func(int64)) (*writer, error) {
	db, err := connect(path, 1, writerPragmas)
	if err != nil {
		return nil, err
	}
	w := &writer{db: db, turn: make(chan struct{}, 1), note: note}
	w.conn, err = patiently(ctx, func() (*sql.Conn, error) { return db.Conn(ctx) })
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	p := prepareOn(ctx, w.conn)
	w.begin, w.commit, w.rollback = p.stmt("BEGIN IMMEDIATE"), p.stmt("COMMIT"), p.stmt("ROLLBACK")
	w.stmts = p.stmts
	if err := p.err(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// close waits for a write under way. It may be called again.
func (w *writer) close() error {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	var errs []error
	for _, stmt := range w.stmts { // or SQLite keeps the file open
		errs = append(errs, stmt.Close())
	}
	w.stmts = nil
	if err := w.conn.Close(); !errors.Is(err, sql.ErrConnDone) {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, w.db.Close())...)
}

// write runs f as a job and words its errors.
func (s *store) write(ctx context.Context, what string, f func(ctx context.Context) error) error {
	return worded(what, s.w.do(ctx, &job{run: f}))
}

// writeSingle is write for an f of one statement.
func (s *store) writeSingle(ctx context.Context, what string, f func(ctx context.Context) error) error {
	return worded(what, s.w.do(ctx, &job{run: f, single: true}))
}

func worded(what string, err error) error {
	if err == nil || isRefusal(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s: %w", what, classify(err))
}
