package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// writeUntilKilled is a box that only writes: whole runs, one after the other,
// whose ids it prints once they are finished. With count it ends by itself.
func writeUntilKilled(path, owner, count string) {
	s, err := Open(context.Background(), path)
	if err != nil {
		panic(err)
	}
	limit, err := strconv.Atoi(count)
	for i := 0; err != nil || i < limit; i++ {
		id := fmt.Sprintf("%s-%d", owner, i)
		if err := writeRun(s, id, owner); err != nil {
			panic(err)
		}
		fmt.Println(id)
	}
	if err := s.Close(); err != nil {
		panic(err)
	}
	os.Exit(0)
}

func writeRun(s ledger.Store, id, owner string) error {
	ctx := context.Background()
	first := ledger.Record{Sequence: 0, Data: []byte("first of " + id)}
	last := ledger.Record{Sequence: 1, Data: []byte("last of " + id)}
	err := s.Begin(ctx, waiting(id, owner))
	if err == nil {
		err = s.Start(ctx, id, time.Now())
	}
	if err == nil {
		err = s.Append(ctx, id, []ledger.Record{first})
	}
	if err == nil {
		err = s.Finish(ctx, id, ended(resultOf(id), last))
	}
	return err
}

// resultOf is the result of a run, of a size that depends on its id.
func resultOf(id string) []byte {
	return bytes.Repeat([]byte(id), 1+int(id[len(id)-1])*len(id)*10)
}

// box starts writeUntilKilled and returns what it prints.
func box(t *testing.T, path, owner string, runs int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SQLITE_TEST_WRITE="+path, "SQLITE_TEST_OWNER="+owner)
	if runs > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprint("SQLITE_TEST_RUNS=", runs))
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// whole checks that a run is there with all that belongs to it.
func whole(t *testing.T, s ledger.Store, id string) {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	if err != nil || r.Status != ledger.Completed {
		t.Errorf("run %s: %v, %v", id, r.Status, err)
	}
	if data, err := s.Result(t.Context(), id); err != nil || !bytes.Equal(data, resultOf(id)) {
		t.Errorf("result of %s: %d bytes, %v", id, len(data), err)
	}
	var got []string
	for r, err := range s.Records(t.Context(), id, -1) {
		must(t, err)
		got = append(got, string(r.Data))
	}
	if strings.Join(got, ", ") != "first of "+id+", last of "+id {
		t.Errorf("records of %s: %q", id, got)
	}
}

// sound lets SQLite look at every page.
func sound(t *testing.T, s *store) {
	t.Helper()
	var verdict string
	must(t, s.reader.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict))
	if verdict != "ok" {
		t.Errorf("integrity check: %s", verdict)
	}
}

// A box is killed at any moment, twenty times over: what Finish had returned
// for is there, and what was in flight is found by its owner.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	var finished []string
	for life := range 20 {
		cmd, lines := box(t, path, fmt.Sprint("life", life), 0)
		for range 1 + rand.IntN(6) {
			if !lines.Scan() {
				t.Fatal("the box ended by itself")
			}
			finished = append(finished, lines.Text())
		}
		time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		for lines.Scan() { // what it had said before it died
			finished = append(finished, lines.Text())
		}
		_ = cmd.Wait()
	}
	s := opened(t, path)
	sound(t, s)
	for _, id := range finished {
		whole(t, s, id)
	}
	t.Logf("%d finished runs", len(finished))
	owners, err := s.Owners(t.Context())
	must(t, err)
	for _, owner := range owners {
		runs, err := s.Interrupt(t.Context(), owner, time.Now(), time.Now())
		if err != nil || len(runs) != 1 { // a box runs one at a time here
			t.Errorf("%s had %d in flight, %v", owner, len(runs), err)
		}
	}
	sound(t, s)
}

// Boxes share a file: each finds its own runs, and all the others'.
func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	const boxes, runs = 2, 12
	var wg sync.WaitGroup
	for i := range boxes {
		cmd, lines := box(t, path, fmt.Sprint("box", i), runs)
		wg.Go(func() {
			for lines.Scan() {
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	s := opened(t, path)
	for i := range runs {
		must(t, writeRun(s, fmt.Sprintf("own-%d", i), "own"))
	}
	wg.Wait()
	all, err := s.List(t.Context(), 0, ledger.Completed)
	if err != nil || len(all) != (boxes+1)*runs {
		t.Errorf("%d runs, %v", len(all), err)
	}
	for _, r := range all {
		whole(t, s, r.ID)
	}
	sound(t, s)
}

func TestCorrupt(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"garbage": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("garbage"), 1000), 0o600) },
		"zeros":   func(path string) error { return overwrite(path, 0, make([]byte, 8192)) },
		"schema":  func(path string) error { return overwrite(path, 100, bytes.Repeat([]byte{0xff}, 3000)) },
		"cut":     func(path string) error { return os.Truncate(path, 4096+100) },
	} {
		path := filepath.Join(t.TempDir(), "runs.db")
		s, err := Open(t.Context(), path)
		must(t, err)
		must(t, writeRun(s, "old-1", "box"))
		must(t, s.Close())
		must(t, spoil(path))
		spoiled, err := os.ReadFile(path)
		must(t, err)

		s, err = Open(t.Context(), path)
		if err == nil && name == "cut" { // found later
			_, err = s.Result(t.Context(), "old-1")
			must(t, s.Close())
		}
		if !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: error = %v", name, err)
			continue
		}
		if name == "cut" {
			continue
		}
		aside, err := MoveAside(t.Context(), path)
		must(t, err)
		if kept, err := os.ReadFile(aside); err != nil || !bytes.Equal(kept, spoiled) {
			t.Errorf("%s: %d bytes kept, %v", name, len(kept), err)
		}
		must(t, writeRun(opened(t, path), "new-1", "box"))
		if aside, err := MoveAside(t.Context(), path); aside != "" || err != nil {
			t.Errorf("%s: moved a good file to %s, %v", name, aside, err)
		}
		whole(t, opened(t, path), "new-1")
	}
}

func overwrite(path string, at int64, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, at)
	return errors.Join(err, f.Close())
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "dir.db"), 0o700))
	for _, path := range []string{filepath.Join(file, "runs.db"), filepath.Join(file, "d", "runs.db"), filepath.Join(dir, "dir.db")} {
		_, err := Open(t.Context(), path)
		wantErr(t, err, ledger.ErrReadOnly)
	}
}

// A file at its largest size is what a full disk is: refused writes leave what
// was there, and a run that ended can at least say so.
func TestFull(t *testing.T) {
	t.Parallel()
	s := opened(t, filepath.Join(t.TempDir(), "runs.db"))
	var pages int
	must(t, s.w.conn.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages))
	_, err := s.w.conn.ExecContext(t.Context(), fmt.Sprint("PRAGMA max_page_count = ", pages+300))
	must(t, err)
	must(t, writeRun(s, "whole-1", "box"))

	begun(t, s, "large")
	err = s.Finish(t.Context(), "large", ended(make([]byte, 3<<20)))
	wantErr(t, err, ledger.ErrFull)
	r, err := s.Get(t.Context(), "large")
	if err != nil || r.Status != ledger.Completed {
		t.Errorf("run = %+v, %v", r, err)
	}
	_, err = s.Result(t.Context(), "large")
	wantErr(t, err, ledger.ErrNotFound)

	for i := 0; err == nil || errors.Is(err, ledger.ErrNotFound); i++ {
		id := fmt.Sprint("filler", i)
		if err = s.Begin(t.Context(), waiting(id, "box")); err == nil {
			err = s.Append(t.Context(), id, []ledger.Record{{Data: make([]byte, 100_000)}})
		}
	}
	wantErr(t, err, ledger.ErrFull)
	whole(t, s, "whole-1")
	sound(t, s)

	_, err = s.w.conn.ExecContext(t.Context(), "PRAGMA max_page_count = 100000")
	must(t, err)
	must(t, writeRun(s, "after-1", "box"))
	whole(t, s, "after-1")
}
