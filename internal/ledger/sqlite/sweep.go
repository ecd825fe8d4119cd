package sqlite

import (
	"context"
	"time"
)

// dropAtOnce is how many runs one transaction drops, so that others get their
// turn in between.
const dropAtOnce = 64

// Sweep drops the runs that are kept no longer.
func (s *store) Sweep(ctx context.Context, now time.Time, maxRuns int, maxBytes int64) error {
	const what = "look for runs to drop"
	old, err := s.numbers(ctx, `SELECT number FROM runs WHERE ended > 0 AND keep > 0 AND keep < ?`, nanos(now))
	if err != nil {
		return failed(ctx, what, err)
	}
	if err := s.dropAll(ctx, old); err != nil {
		return err
	}
	old, err = s.numbers(ctx, beyond, maxRuns, maxBytes)
	if err != nil {
		return failed(ctx, what, err)
	}
	return s.dropAll(ctx, old)
}

// beyond finds the runs beyond the bounds in count and bytes. Counted from the
// end, the very newest comes first, then those with a key, then the others.
const beyond = `
	WITH final AS (
		SELECT number, key, ended, size, row_number() OVER (ORDER BY ended DESC, number DESC) = 1 AS newest
		FROM runs WHERE ended > 0
	), sums AS (
		SELECT number, newest, row_number() OVER kept AS count, sum(size) OVER kept AS bytes FROM final
		WINDOW kept AS (ORDER BY newest DESC, key IS NULL, ended DESC, number DESC)
	)
	SELECT number FROM sums WHERE NOT newest AND (?1 > 0 AND count > ?1 OR ?2 > 0 AND bytes > ?2)`

func (s *store) numbers(ctx context.Context, query string, args ...any) (list []int64, err error) {
	rows, err := s.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}

// dropAll drops runs and gives their room back to the disk.
func (s *store) dropAll(ctx context.Context, numbers []int64) error {
	for len(numbers) > 0 {
		n := min(dropAtOnce, len(numbers))
		err := s.write(ctx, "drop old runs", func(ctx context.Context) error { return s.drop(ctx, numbers[:n]) })
		if err != nil {
			return err
		}
		numbers = numbers[n:]
	}
	return nil
}

func (s *store) drop(ctx context.Context, numbers []int64) error {
	for _, number := range numbers {
		for _, query := range []string{
			`DELETE FROM runs WHERE number = ?1 AND ended > 0`,
			`DELETE FROM results WHERE at >= ?1 << 32 AND at < (?1 + 1) << 32`,
			`DELETE FROM records WHERE at >= ?1 << 32 AND at < (?1 + 1) << 32`,
		} {
			if _, err := s.w.conn.ExecContext(ctx, query, number); err != nil {
				return err
			}
		}
	}
	_, err := s.w.conn.ExecContext(ctx, `PRAGMA incremental_vacuum`)
	return err
}
