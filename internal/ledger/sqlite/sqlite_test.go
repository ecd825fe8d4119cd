package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/internal/ledger/ledgertest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	ledgertest.Test(t, func() ledger.Store {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"))
		must(t, err)
		return s
	})
}
