package ledgertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

func listed(t *testing.T, s ledger.Store) string {
	t.Helper()
	all, err := s.List(t.Context(), 0)
	must(t, err)
	return ids(all)
}

func testSweepExpired(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	for i := range 70 {
		id := fmt.Sprintf("old%d", i)
		must(t, s.Begin(ctx, run(id, i)))
		must(t, s.Finish(ctx, id, end(0, []byte("x"), record(0, "r"))))
	}
	must(t, s.Begin(ctx, run("flying", 1000)))
	must(t, s.Begin(ctx, run("new", 1001)))
	must(t, s.Finish(ctx, "new", end(time.Minute, []byte("y"), record(0, "r"))))
	must(t, s.Begin(ctx, run("forever", 1002)))
	must(t, s.Finish(ctx, "forever", ledger.End{Status: ledger.Completed, Ended: base}))

	must(t, s.Sweep(ctx, base.Add(time.Hour), 0, 0)) // kept until this very moment
	equal(t, "kept", len(strings.Fields(listed(t, s))), 73)
	must(t, s.Sweep(ctx, base.Add(time.Hour+time.Second), 0, 0))
	equal(t, "kept after", listed(t, s), "forever new flying")
	equal(t, "records", records(t, s, "new", -1), []ledger.Record{record(0, "r")})
	data, err := s.Result(ctx, "new")
	must(t, err)
	equal(t, "result", string(data), "y")
	_, err = s.Result(ctx, "old7")
	wantErr(t, "a swept result", err, ledger.ErrNotFound)

	// What is begun next does not inherit from what was dropped.
	must(t, s.Begin(ctx, run("next", 1003)))
	equal(t, "records of the next", len(records(t, s, "next", -1)), 0)
}

func testSweepCount(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	must(t, s.Begin(ctx, run("flying", 0)))
	for i := range 6 {
		r := run(fmt.Sprintf("r%d", i), i+1)
		if i == 1 {
			r.Key = "key"
		}
		must(t, s.Begin(ctx, r))
		// The later begun, the sooner ended: what counts is the end.
		must(t, s.Finish(ctx, r.ID, end(-time.Duration(i)*time.Second, nil)))
	}
	must(t, s.Sweep(ctx, base, 6, 0))
	equal(t, "within the bound", listed(t, s), "r5 r4 r3 r2 r1 r0 flying")
	must(t, s.Sweep(ctx, base, 3, 0))
	equal(t, "at the bound", listed(t, s), "r2 r1 r0 flying")
	must(t, s.Sweep(ctx, base, 2, 0))
	equal(t, "a key lasts longer", listed(t, s), "r1 r0 flying")
	must(t, s.Sweep(ctx, base, 1, 0))
	equal(t, "the newest stays", listed(t, s), "r0 flying")
}

func testSweepBytes(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	for i := range 5 {
		id := fmt.Sprintf("r%d", i)
		must(t, s.Begin(ctx, run(id, i)))
		must(t, s.Append(ctx, id, []ledger.Record{record(0, strings.Repeat("a", 300))}))
		must(t, s.Finish(ctx, id, end(time.Duration(i), make([]byte, 500), record(1, strings.Repeat("b", 200)))))
	}
	must(t, s.Sweep(ctx, base, 0, 5000))
	equal(t, "within the bound", listed(t, s), "r4 r3 r2 r1 r0")
	must(t, s.Sweep(ctx, base, 0, 3999))
	equal(t, "beyond the bound", listed(t, s), "r4 r3 r2")
	must(t, s.Sweep(ctx, base, 0, 1))
	equal(t, "the newest stays", listed(t, s), "r4")
}
