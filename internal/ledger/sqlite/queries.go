package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// columns are those of a run, in the order of scanRun.
const columns = `id, owner, surface, workspace, status, error, created, started, ended, keep, key, key_hash, meta, processes`

// recordBytes is the size of a run's records, in a statement on runs.
const recordBytes = `(SELECT coalesce(sum(length(data)), 0) FROM records
	WHERE at >= runs.number << 32 AND at < (runs.number + 1) << 32)`

// queries are the statements that are prepared once.
type queries struct {
	// of the writer
	begin, start, track, state, finish, resize, inFlight, interrupt *sql.Stmt
	piece, record                                                   *sql.Stmt
	// of the readers
	get, byKey, size, pieces, find, records *sql.Stmt
}

func (q *queries) write(p *preparer) {
	q.begin = p.stmt(`INSERT INTO runs (` + columns + `) VALUES (` + placeholders(14) + `)
		ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING`)
	q.start = p.stmt(`UPDATE runs SET status = ?, started = ? WHERE id = ? AND ended = 0`)
	q.track = p.stmt(`UPDATE runs SET processes = ? WHERE id = ?`)
	q.state = p.stmt(`SELECT number, ended FROM runs WHERE id = ?`)
	q.finish = p.stmt(`UPDATE runs SET status = ?, error = ?, ended = ?, keep = ?, processes = ?, result = ?6,
		size = coalesce(?6, 0) + ` + recordBytes + ` WHERE id = ?7 AND ended = 0 RETURNING number`)
	q.resize = p.stmt(`UPDATE runs SET size = coalesce(result, 0) + ` + recordBytes + ` WHERE number = ?`)
	q.inFlight = p.stmt(`SELECT ` + columns + ` FROM runs WHERE owner = ? AND ended = 0 ORDER BY number DESC`)
	q.interrupt = p.stmt(`UPDATE runs SET status = ?, error = ?, ended = ?, keep = ?, size = ` + recordBytes + `
		WHERE owner = ? AND ended = 0`)
	q.piece = p.stmt(`INSERT INTO results (at, data) VALUES (?, ?)`)
	q.record = p.stmt(`INSERT INTO records (at, attempt, data) VALUES (?, ?, ?)
		ON CONFLICT (at) DO UPDATE SET attempt = excluded.attempt, data = excluded.data`)
}

func (q *queries) read(p *preparer) {
	q.get = p.stmt(`SELECT ` + columns + ` FROM runs WHERE id = ?`)
	q.byKey = p.stmt(`SELECT ` + columns + ` FROM runs WHERE key = ?`)
	q.size = p.stmt(`SELECT number, result FROM runs WHERE id = ? AND result IS NOT NULL`)
	q.pieces = p.stmt(`SELECT data FROM results WHERE at >= ? AND at < ? ORDER BY at`)
	q.find = p.stmt(`SELECT number FROM runs WHERE id = ?`)
	q.records = p.stmt(`SELECT at, attempt, data FROM records WHERE at > ? AND at < ? ORDER BY at`)
}

// prepareOn prepares statements on a connection or a pool of them.
func prepareOn(ctx context.Context, db interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
},
) *preparer {
	return &preparer{prepare: func(query string) (*sql.Stmt, error) { return db.PrepareContext(ctx, query) }}
}

// preparer prepares statements and gathers the errors.
type preparer struct {
	prepare func(query string) (*sql.Stmt, error)
	errs    []error
	stmts   []*sql.Stmt // that were prepared
}

func (p *preparer) stmt(query string) *sql.Stmt {
	stmt, err := p.prepare(query)
	if err != nil {
		p.errs = append(p.errs, err)
		return nil
	}
	p.stmts = append(p.stmts, stmt)
	return stmt
}

func (p *preparer) err() error { return errors.Join(p.errs...) }
