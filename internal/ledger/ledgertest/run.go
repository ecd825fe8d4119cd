package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

func testLife(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	want := run("r", 0)
	want.Created = base // in its own zone
	want.Key, want.KeyHash, want.Meta = "POST /run k", "hash", json.RawMessage(`{"a": [1,2]}`)
	must(t, s.Begin(ctx, want))
	want.Created = base.UTC()
	equal(t, "begun", get(t, s, "r"), want)

	must(t, s.Start(ctx, "r", base.Add(time.Second)))
	want.Status, want.Started = ledger.Running, base.Add(time.Second).UTC()
	equal(t, "started", get(t, s, "r"), want)

	want.Processes = []ledger.Process{{PID: 7, Start: 1 << 63, Command: "agent \"x\""}, {PID: 8}}
	must(t, s.Track(ctx, "r", want.Processes))
	equal(t, "tracked", get(t, s, "r"), want)

	left := []ledger.Process{{PID: 9, Command: "server"}}
	must(t, s.Finish(ctx, "r", ledger.End{
		Status: ledger.Failed, Error: "timeout", Ended: base.Add(2 * time.Second), Keep: base.Add(time.Hour),
		Result: []byte("result"), Processes: left,
	}))
	want.Status, want.Error, want.Processes = ledger.Failed, "timeout", left
	want.Ended, want.Keep = base.Add(2*time.Second).UTC(), base.Add(time.Hour).UTC()
	equal(t, "finished", get(t, s, "r"), want)

	must(t, s.Track(ctx, "r", nil))
	want.Processes = nil
	equal(t, "its background ended", get(t, s, "r"), want)
}

func testNotFound(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	must(t, s.Begin(ctx, run("there", 0)))
	_, err := s.Get(ctx, "x")
	wantErr(t, "Get", err, ledger.ErrNotFound)
	_, err = s.Get(ctx, "")
	wantErr(t, "Get of nothing", err, ledger.ErrNotFound)
	_, err = s.Result(ctx, "x")
	wantErr(t, "Result", err, ledger.ErrNotFound)
	_, err = s.ByKey(ctx, "x")
	wantErr(t, "ByKey", err, ledger.ErrNotFound)
	_, err = s.ByKey(ctx, "")
	wantErr(t, "ByKey of nothing", err, ledger.ErrNotFound)
	wantErr(t, "Start", s.Start(ctx, "x", base), ledger.ErrNotFound)
	wantErr(t, "Track", s.Track(ctx, "x", nil), ledger.ErrNotFound)
	wantErr(t, "Append", s.Append(ctx, "x", []ledger.Record{record(0, "a")}), ledger.ErrNotFound)
	wantErr(t, "Finish", s.Finish(ctx, "x", end(0, nil)), ledger.ErrNotFound)
	count := 0
	for _, err := range s.Records(ctx, "x", -1) {
		wantErr(t, "Records", err, ledger.ErrNotFound)
		count++
	}
	equal(t, "errors of Records", count, 1)
	equal(t, "records of a run without any", len(records(t, s, "there", -1)), 0)
}

func testFinalStays(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	must(t, s.Begin(ctx, run("r", 0)))
	must(t, s.Finish(ctx, "r", end(0, []byte("first"), record(0, "a"))))
	want := get(t, s, "r")
	must(t, s.Start(ctx, "r", base))
	must(t, s.Append(ctx, "r", []ledger.Record{record(1, "b")}))
	must(t, s.Finish(ctx, "r", ledger.End{Status: ledger.Cancelled, Ended: base, Result: []byte("second"), Records: []ledger.Record{record(0, "c")}}))
	equal(t, "run", get(t, s, "r"), want)
	equal(t, "records", records(t, s, "r", -1), []ledger.Record{record(0, "a")})
	data, err := s.Result(ctx, "r")
	must(t, err)
	equal(t, "result", string(data), "first")
}

func testDuplicateID(t *testing.T, s ledger.Store) {
	must(t, s.Begin(t.Context(), run("r", 0)))
	again := run("r", 1)
	again.Workspace = "/other"
	if err := s.Begin(t.Context(), again); err == nil || errors.Is(err, ledger.ErrKeyUsed) {
		t.Errorf("a second run of one id: %v", err)
	}
	equal(t, "run", get(t, s, "r"), run("r", 0))
}

func testKey(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	keyed := func(id string) ledger.Run {
		r := run(id, 0)
		r.Key, r.KeyHash = "key", "hash of "+id
		return r
	}
	must(t, s.Begin(ctx, keyed("a")))
	wantErr(t, "second run of the key", s.Begin(ctx, keyed("b")), ledger.ErrKeyUsed)
	_, err := s.Get(ctx, "b")
	wantErr(t, "the refused run", err, ledger.ErrNotFound)
	must(t, s.Begin(ctx, run("c", 0)))
	must(t, s.Begin(ctx, run("d", 0))) // no key is not a key

	must(t, s.Finish(ctx, "a", end(0, nil)))
	wantErr(t, "after the first ended", s.Begin(ctx, keyed("b")), ledger.ErrKeyUsed)
	first, err := s.ByKey(ctx, "key")
	must(t, err)
	equal(t, "holder", first, get(t, s, "a"))

	must(t, s.Sweep(ctx, first.Keep.Add(1), 0, 0))
	_, err = s.ByKey(ctx, "key")
	wantErr(t, "a swept key", err, ledger.ErrNotFound)
	must(t, s.Begin(ctx, keyed("b")))
}

func testList(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	none, err := s.List(ctx, 5)
	must(t, err)
	equal(t, "empty", len(none), 0)
	for i := range 6 {
		must(t, s.Begin(ctx, run(fmt.Sprintf("r%d", i), i)))
	}
	must(t, s.Start(ctx, "r1", base))
	must(t, s.Start(ctx, "r4", base))
	must(t, s.Finish(ctx, "r0", end(0, []byte("x"))))
	must(t, s.Finish(ctx, "r5", ledger.End{Status: ledger.Cancelled, Ended: base, Keep: base}))
	for _, tc := range []struct {
		limit int
		only  []ledger.Status
		want  string
	}{
		{0, nil, "r5 r4 r3 r2 r1 r0"},
		{-1, nil, "r5 r4 r3 r2 r1 r0"},
		{2, nil, "r5 r4"},
		{10, []ledger.Status{ledger.Running, ledger.Waiting}, "r4 r3 r2 r1"},
		{1, []ledger.Status{ledger.Running}, "r4"},
		{10, []ledger.Status{ledger.Cancelled, ledger.Running}, "r5 r4 r1"},
		{10, []ledger.Status{ledger.Completed, ledger.Cancelled}, "r5 r0"},
		{10, []ledger.Status{ledger.Failed}, ""},
	} {
		got, err := s.List(ctx, tc.limit, tc.only...)
		must(t, err)
		equal(t, fmt.Sprintf("List(%d, %v)", tc.limit, tc.only), ids(got), tc.want)
	}
	all, err := s.List(ctx, 1)
	must(t, err)
	equal(t, "listed", all[0], get(t, s, "r5"))
}

func testInterrupt(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	for i, id := range []string{"waiting", "running", "done", "foreign"} {
		r := run(id, i)
		if id == "foreign" {
			r.Owner = "box-2"
		}
		must(t, s.Begin(ctx, r))
	}
	must(t, s.Start(ctx, "running", base))
	must(t, s.Track(ctx, "running", []ledger.Process{{PID: 1}}))
	must(t, s.Append(ctx, "running", []ledger.Record{record(0, "a")}))
	must(t, s.Finish(ctx, "done", end(0, []byte("x"))))
	before := []ledger.Run{get(t, s, "running"), get(t, s, "waiting")}
	done, foreign := get(t, s, "done"), get(t, s, "foreign")
	owners, err := s.Owners(ctx)
	must(t, err)
	slices.Sort(owners)
	equal(t, "owners", owners, []string{"box-1", "box-2"})

	ended, keep := base.Add(time.Minute).UTC(), base.Add(time.Hour).UTC()
	got, err := s.Interrupt(ctx, "box-1", ended, keep)
	must(t, err)
	slices.SortFunc(got, func(a, b ledger.Run) int { return strings.Compare(a.ID, b.ID) })
	equal(t, "interrupted, as they were", got, before)
	for _, want := range before {
		want.Status, want.Error, want.Ended, want.Keep = ledger.Failed, ledger.Interrupted, ended, keep
		equal(t, "interrupted", get(t, s, want.ID), want)
		_, err := s.Result(ctx, want.ID)
		wantErr(t, "its result", err, ledger.ErrNotFound)
	}
	equal(t, "its records", records(t, s, "running", -1), []ledger.Record{record(0, "a")})
	equal(t, "the finished one", get(t, s, "done"), done)
	equal(t, "another box's", get(t, s, "foreign"), foreign)

	owners, err = s.Owners(ctx)
	must(t, err)
	equal(t, "owners after", owners, []string{"box-2"})
	again, err := s.Interrupt(ctx, "box-1", ended, keep)
	must(t, err)
	equal(t, "interrupted twice", len(again), 0)
	must(t, s.Finish(ctx, "running", end(0, []byte("late"))))
	equal(t, "a late end", get(t, s, "running").Error, ledger.Interrupted)
}

func testContext(t *testing.T, s ledger.Store) {
	must(t, s.Begin(t.Context(), run("r", 0)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, getErr := s.Get(ctx, "r")
	for name, err := range map[string]error{
		"Begin":  s.Begin(ctx, run("new", 0)),
		"Finish": s.Finish(ctx, "r", end(0, nil)),
		"Sweep":  s.Sweep(ctx, base, 1, 1),
		"Get":    getErr,
	} {
		wantErr(t, name, err, context.Canceled)
	}
	equal(t, "runs", listed(t, s), "r")
	equal(t, "status", get(t, s, "r").Status, ledger.Waiting)
}

func testAtOnce(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	const callers, each = 8, 12
	var wg sync.WaitGroup
	var keys sync.Map
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", c, i)
				r := run(id, i)
				r.Key = fmt.Sprint("key", i) // the same for all callers
				err := s.Begin(ctx, r)
				if errors.Is(err, ledger.ErrKeyUsed) {
					continue
				}
				if _, twice := keys.LoadOrStore(r.Key, id); err != nil || twice {
					t.Errorf("Begin(%s) = %v, key held twice: %v", id, err, twice)
				}
				live(ctx, t, s, id)
			}
		})
	}
	wg.Wait()
	equal(t, "runs", len(strings.Fields(listed(t, s))), each)
}

func live(ctx context.Context, t *testing.T, s ledger.Store, id string) {
	err := errors.Join(
		s.Start(ctx, id, base),
		s.Append(ctx, id, []ledger.Record{record(0, id)}),
		s.Finish(ctx, id, end(0, []byte(id), record(1, id))),
	)
	got, resultErr := s.Result(ctx, id)
	if err := errors.Join(err, resultErr); err != nil || string(got) != id {
		t.Errorf("%s: result %q, %v", id, got, err)
	}
	n := 0
	for _, err := range s.Records(ctx, id, -1) {
		if n++; err != nil {
			t.Error(err)
		}
	}
	if n != 2 {
		t.Errorf("%s: %d records", id, n)
	}
}
