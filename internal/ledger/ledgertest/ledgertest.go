// Package ledgertest checks that an engine keeps runs as ledger.Store says.
// Every engine's tests call Test. What it leaves to them is durability: kills,
// full disks, several processes on one store.
package ledgertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// Test runs the checks as parallel subtests, each on an empty store from open,
// which the subtest closes.
func Test(t *testing.T, open func() ledger.Store) {
	t.Helper()
	for _, c := range []struct {
		name  string
		check func(t *testing.T, s ledger.Store)
	}{
		{"Life", testLife},
		{"NotFound", testNotFound},
		{"FinalStays", testFinalStays},
		{"DuplicateID", testDuplicateID},
		{"Key", testKey},
		{"Records", testRecords},
		{"RecordsWhileWriting", testRecordsWhileWriting},
		{"Result", testResult},
		{"OddText", testOddText},
		{"List", testList},
		{"Interrupt", testInterrupt},
		{"SweepExpired", testSweepExpired},
		{"SweepCount", testSweepCount},
		{"SweepBytes", testSweepBytes},
		{"Context", testContext},
		{"AtOnce", testAtOnce},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open()
			t.Cleanup(func() {
				must(t, s.Close())
				must(t, s.Close())
			})
			c.check(t, s)
		})
	}
}

// base is a moment with nanoseconds, which have to come back.
var base = time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.FixedZone("somewhere", 3600))

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error = %v, want %v", what, err, want)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) { // go-cmp takes seconds for megabytes
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// run is a waiting run, begun number seconds after base.
func run(id string, number int) ledger.Run {
	return ledger.Run{
		ID: id, Owner: "box-1", Surface: "api", Workspace: "/w/" + id, Status: ledger.Waiting,
		Created: base.Add(time.Duration(number) * time.Second).UTC(),
	}
}

func end(after time.Duration, result []byte, records ...ledger.Record) ledger.End {
	ended := base.Add(after).UTC()
	return ledger.End{Status: ledger.Completed, Ended: ended, Keep: ended.Add(time.Hour), Result: result, Records: records}
}

func record(sequence int64, data string) ledger.Record {
	return ledger.Record{Sequence: sequence, Attempt: 1, Data: []byte(data)}
}

func get(t *testing.T, s ledger.Store, id string) ledger.Run {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	must(t, err)
	return r
}

func records(t *testing.T, s ledger.Store, id string, after int64) []ledger.Record {
	t.Helper()
	var list []ledger.Record
	for r, err := range s.Records(t.Context(), id, after) {
		must(t, err)
		list = append(list, r)
	}
	return list
}

func ids(runs []ledger.Run) string {
	var list []string
	for _, r := range runs {
		list = append(list, r.ID)
	}
	return strings.Join(list, " ")
}

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

func testRecords(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	must(t, s.Begin(ctx, run("r", 0)))
	must(t, s.Begin(ctx, run("other", 0)))
	must(t, s.Append(ctx, "other", []ledger.Record{record(0, "not mine"), record(1<<32-1, "nor this")}))
	must(t, s.Append(ctx, "r", nil))
	var want []ledger.Record
	for i := range int64(1000) {
		want = append(want, ledger.Record{Sequence: i, Attempt: int(i / 300), Data: fmt.Appendf(nil, "{\"n\":%d}", i)})
	}
	want[5].Data = bytes.Repeat([]byte{0, 0xff, '\n'}, 1<<19)
	must(t, s.Append(ctx, "r", want[500:700]))
	must(t, s.Append(ctx, "r", want[:500]))
	must(t, s.Append(ctx, "r", []ledger.Record{record(600, "to be replaced")}))
	equal(t, "replaced", records(t, s, "r", 599)[0], record(600, "to be replaced"))
	must(t, s.Append(ctx, "r", want[600:601]))
	must(t, s.Finish(ctx, "r", end(0, nil, want[650:]...)))
	equal(t, "all", records(t, s, "r", -1), want)
	equal(t, "after 0", records(t, s, "r", 0), want[1:])
	equal(t, "after 998", records(t, s, "r", 998), want[999:])
	equal(t, "after the last", len(records(t, s, "r", 999)), 0)
	equal(t, "other", records(t, s, "other", 0), []ledger.Record{record(1<<32-1, "nor this")})

	n := 0
	for range s.Records(ctx, "r", -1) {
		if n++; n == 3 {
			break
		}
	}
	equal(t, "taken before the break", n, 3)
}

// A reader that is slow does not keep writers waiting.
func testRecordsWhileWriting(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	must(t, s.Begin(ctx, run("r", 0)))
	must(t, s.Append(ctx, "r", []ledger.Record{record(0, "a"), record(1, "b"), record(2, "c")}))
	var got []string
	for r, err := range s.Records(ctx, "r", -1) {
		must(t, err)
		got = append(got, string(r.Data))
		must(t, s.Append(ctx, "r", []ledger.Record{record(r.Sequence, "replaced"), record(r.Sequence+100, "new")}))
		_, err := s.Get(ctx, "r")
		must(t, err)
	}
	if len(got) < 3 || !slices.Equal(got[:3], []string{"a", "b", "c"}) {
		t.Errorf("read %q", got)
	}
}

func testResult(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	large := make([]byte, 5<<20+3)
	for i := range large {
		large[i] = byte(i * 7 >> 3)
	}
	for name, data := range map[string][]byte{"nil": nil, "empty": {}, "small": []byte("x\x00y"), "large": large} {
		must(t, s.Begin(ctx, run(name, 0)))
		_, err := s.Result(ctx, name)
		wantErr(t, "result of a run in flight", err, ledger.ErrNotFound)
		must(t, s.Finish(ctx, name, end(0, data)))
		got, err := s.Result(ctx, name)
		must(t, err)
		if !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes came back, want %d", name, len(got), len(data))
		}
	}
}

func testOddText(t *testing.T, s ledger.Store) {
	want := run("id ☃ '\"%_", 0)
	want.Surface, want.Workspace, want.Owner = "a\x00b", "/w/\xff\xfe", "'; DROP TABLE runs; --"
	want.Key, want.KeyHash = "k\x00ey", "\n"
	must(t, s.Begin(t.Context(), want))
	equal(t, "run", get(t, s, want.ID), want)
	got, err := s.ByKey(t.Context(), want.Key)
	must(t, err)
	equal(t, "by key", got, want)
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

func listed(t *testing.T, s ledger.Store) string {
	t.Helper()
	all, err := s.List(t.Context(), 0)
	must(t, err)
	return ids(all)
}

func testSweepExpired(t *testing.T, s ledger.Store) {
	ctx := t.Context()
	for i := range 200 {
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
	equal(t, "kept", len(strings.Fields(listed(t, s))), 203)
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

// live takes a begun run to its end.
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
	if n := len(records(t, s, id, -1)); n != 2 {
		t.Errorf("%s: %d records", id, n)
	}
}
