// Package ledgertest checks that an engine keeps runs as ledger.Store says.
// Every engine's tests call Test. What it leaves to them is durability: kills,
// full disks, several processes on one store.
package ledgertest

import (
	"errors"
	"reflect"
	"strings"
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

// A reader that is slow does not keep writers waiting.
// live takes a begun run to its end.
