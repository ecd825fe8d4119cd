package ledgertest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

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
	want[5].Data = bytes.Repeat([]byte{0, 0xff, '\n'}, 1<<17)
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
	for _, err := range s.Records(ctx, "r", -1) {
		must(t, err)
		if n++; n == 3 {
			break
		}
	}
	equal(t, "taken before the break", n, 3)
}

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
	large := make([]byte, 2<<20+3)
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
