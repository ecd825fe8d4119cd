package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
)

// checkpointer moves what was written from the log into the file now and then,
// beside the writer: it has to wait for the disk, which a write does not.
type checkpointer struct {
	db      *sql.DB
	changes atomic.Int64 // since the last time
	due     chan struct{}
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// checkpointEvery is after how many writes it works. If it cannot keep up, the
// writer does it itself (PRAGMA wal_autocheckpoint).
const checkpointEvery = 256

// newCheckpointer starts one, which works until close, beyond ctx.
func newCheckpointer(ctx context.Context, db *sql.DB) *checkpointer {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &checkpointer{db: db, due: make(chan struct{}, 1), stop: stop}
	c.done.Go(func() { c.work(ctx) })
	return c
}

// note counts writes.
func (c *checkpointer) note(changes int64) {
	if c.changes.Add(changes) < checkpointEvery {
		return
	}
	c.changes.Store(0)
	select {
	case c.due <- struct{}{}:
	default:
	}
}

func (c *checkpointer) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.due:
			// An error is the next write's to report.
			_, _ = c.db.ExecContext(ctx, `PRAGMA wal_checkpoint(passive)`)
		}
	}
}

func (c *checkpointer) close() {
	c.stop()
	c.done.Wait()
}
