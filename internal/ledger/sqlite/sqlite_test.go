package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/internal/ledger/ledgertest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("SQLITE_TEST_WRITE"); path != "" {
		writeUntilKilled(path, os.Getenv("SQLITE_TEST_OWNER"), os.Getenv("SQLITE_TEST_RUNS"))
	}
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
}

func opened(t testing.TB, path string) *store {
	t.Helper()
	s, err := Open(t.Context(), path)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s.(*store)
}

func begun(t testing.TB, s ledger.Store, id string) {
	t.Helper()
	must(t, s.Begin(t.Context(), waiting(id, "box")))
}

func waiting(id, owner string) ledger.Run {
	return ledger.Run{
		ID: id, Owner: owner, Surface: "api", Workspace: "/w", Status: ledger.Waiting,
		Created: time.Now(), Key: "key of " + id,
	}
}

func ended(result []byte, records ...ledger.Record) ledger.End {
	return ledger.End{
		Status: ledger.Completed, Ended: time.Now(), Keep: time.Now().Add(time.Hour),
		Result: result, Records: records,
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

func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", `odd ?#%41&"name.db`)
	s, err := Open(t.Context(), path)
	must(t, err)
	begun(t, s, "r")
	must(t, s.Finish(t.Context(), "r", ended([]byte("result"), ledger.Record{Data: []byte("record")})))
	want, err := s.Get(t.Context(), "r")
	must(t, err)
	must(t, s.Close())

	again := opened(t, path)
	if got, err := again.Get(t.Context(), "r"); err != nil || got.Keep != want.Keep || got.Key != want.Key {
		t.Errorf("run = %+v, %v", got, err)
	}
	if data, err := again.Result(t.Context(), "r"); err != nil || string(data) != "result" {
		t.Errorf("result = %q, %v", data, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// Prompts and answers are nobody else's business.
func TestModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, filepath.Join(dir, "runs.db"))
	begun(t, s, "r")
	for name, want := range map[string]os.FileMode{"": os.ModeDir | 0o700, "runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%q has mode %v", name, info.Mode())
		}
	}
}

func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			err = s.Begin(t.Context(), waiting(fmt.Sprint(i), "box"))
			if err := errors.Join(err, s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := opened(t, path).List(t.Context(), 0)
	if err != nil || len(all) != 8 {
		t.Errorf("%d runs, %v", len(all), err)
	}
}

func TestNewerFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	s := opened(t, path)
	_, err := s.w.conn.ExecContext(t.Context(), "PRAGMA user_version = 99")
	must(t, err)
	_, err = Open(t.Context(), path)
	wantErr(t, err, ErrNewer)
}

// Dropped runs give their room back.
func TestSweepShrinks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(t.Context(), path)
	must(t, err)
	for i := range 4 {
		id := fmt.Sprint(i)
		begun(t, s, id)
		must(t, s.Finish(t.Context(), id, ended(make([]byte, 1<<20))))
	}
	must(t, s.Sweep(t.Context(), time.Now(), 1, 0))
	must(t, s.Close())
	info, err := os.Stat(path)
	must(t, err)
	if info.Size() > 2<<20 {
		t.Errorf("%d bytes for one run of 1 MiB", info.Size())
	}
}

// One caller's error is not another's, although they share transactions.
func TestErrorsStayApart(t *testing.T) {
	t.Parallel()
	s := opened(t, filepath.Join(t.TempDir(), "runs.db"))
	s.w.turn <- struct{}{} // let them gather
	begun := make(chan error, 20)
	for i := range cap(begun) {
		id := fmt.Sprint(i / 2) // two of each id
		go func() {
			r := waiting(id, "box")
			r.Key = fmt.Sprint("key", i) // so that only the ids collide
			begun <- s.Begin(context.Background(), r)
		}()
	}
	for s.w.gathered() < cap(begun) {
		time.Sleep(time.Millisecond)
	}
	<-s.w.turn
	failures := 0
	for range cap(begun) {
		if err := <-begun; err != nil {
			failures++
		}
	}
	all, err := s.List(t.Context(), 0)
	if failures != 10 || len(all) != 10 || err != nil {
		t.Errorf("%d failures, %d runs, %v", failures, len(all), err)
	}
}

func (w *writer) gathered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting)
}

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	s := opened(t, filepath.Join(t.TempDir(), "runs.db"))
	s.w.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- s.Begin(ctx, waiting("r", "box")) }()
	for s.w.gathered() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	wantErr(t, <-result, context.Canceled)
	<-s.w.turn
	begun(t, s, "other")
	if all, err := s.List(t.Context(), 0); err != nil || len(all) != 1 || all[0].ID != "other" {
		t.Errorf("runs %v, %v", all, err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "runs.db"))
	must(t, err)
	must(t, s.Close())
	_, getErr := s.Get(t.Context(), "r")
	for _, err := range []error{getErr, s.Begin(t.Context(), waiting("r", "box"))} {
		if err == nil || strings.Contains(err.Error(), dir) {
			t.Errorf("use of a closed ledger: %v", err)
		}
	}
}
