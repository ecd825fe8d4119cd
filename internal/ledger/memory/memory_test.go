package memory

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/internal/ledger/ledgertest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	ledgertest.Test(t, New)
}

func finish(t *testing.T, s *store, id string, size int) error {
	t.Helper()
	if err := s.Begin(t.Context(), ledger.Run{ID: id, Status: ledger.Running}); err != nil {
		t.Fatal(err)
	}
	return s.Finish(t.Context(), id, ledger.End{Status: ledger.Completed, Ended: time.Now(), Result: make([]byte, size)})
}

func TestBounds(t *testing.T) {
	t.Parallel()
	s := newStore(3, 1000)
	for i := range 10 {
		if err := finish(t, s, fmt.Sprint("r", i), 10); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.runs) != 3 || s.bytes != 30 {
		t.Errorf("%d runs of %d bytes", len(s.runs), s.bytes)
	}
	if err := finish(t, s, "large", 995); err != nil {
		t.Fatal(err)
	}
	if len(s.runs) != 1 || s.bytes != 995 {
		t.Errorf("%d runs of %d bytes", len(s.runs), s.bytes)
	}
	if err := finish(t, s, "huge", 1001); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("error = %v", err)
	}
	if err := s.Begin(t.Context(), ledger.Run{ID: "r", Status: ledger.Running}); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "r", []ledger.Record{{Data: make([]byte, 1001)}}); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("error = %v", err)
	}
	if r := s.runs["huge"]; r == nil || r.Status != ledger.Completed || r.result != nil || s.bytes != 995 {
		t.Errorf("what did not fit left %+v and %d bytes", r, s.bytes)
	}
}
