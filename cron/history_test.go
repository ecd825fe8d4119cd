package cron

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/boxtest"
)

func newStore(t testing.TB, dir string) *store {
	t.Helper()
	s := &store{dir: dir, instance: "this", log: boxtest.Log(t)}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	return s
}

// aRun writes the records of a run that began at a time.
func aRun(t testing.TB, s *store, j job, at time.Time) *record {
	t.Helper()
	r := &record{job: j, trigger: bySchedule, runID: fmt.Sprint(at.UnixNano()), workspace: "/w/one", fired: at, status: statusRunning}
	for _, step := range []func(*record) error{s.begin, s.start} {
		if err := step(r); err != nil {
			t.Fatal(err)
		}
	}
	r.finished, r.status, r.text, r.stdout, r.stderr = at.Add(time.Second), statusCompleted, "answer", []byte("out\n"), []byte("err\n")
	if err := s.finish(r); err != nil {
		t.Fatal(err)
	}
	return r
}

func testJob(t testing.TB, name string) job {
	t.Helper()
	return read(t, "timezone: Europe/Berlin\nmodel: m\njobs: [{name: "+name+", schedule: '@daily', instruction: x, telegram_chat_id: 7}]").jobs[0]
}

// TestMetaShape holds the shape of what is written.
func TestMetaShape(t *testing.T) {
	t.Parallel()
	s, j := newStore(t, t.TempDir()), testJob(t, "a")
	at := time.Date(2026, 12, 1, 9, 0, 0, 5e8, time.UTC)
	r := &record{
		job: j, trigger: bySchedule, due: at.Truncate(time.Second), runID: "id", workspace: "/w/one two", instruction: "do <it>",
		system: "sys", fired: at, status: statusRunning,
	}
	if err := s.begin(r); err != nil {
		t.Fatal(err)
	}
	if err := s.start(r); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(s.dir, "history", "w_one_two", "20261201-090000-a"); r.dir != want {
		t.Fatalf("got %s, want %s", r.dir, want)
	}
	golden(t, "meta-start.json", filepath.Join(r.dir, "meta.json"), s.dir)
	r.finished, r.status, r.exitCode, r.failure, r.text, r.session = at.Add(time.Minute), statusFailed, 4, "the agent ended with exit code 4", "part", "s1"
	r.stdout, r.stderr = []byte("part\n"), []byte("boom\n")
	if err := s.finish(r); err != nil {
		t.Fatal(err)
	}
	golden(t, "meta-end.json", filepath.Join(r.dir, "meta.json"), s.dir)
	golden(t, "summary.jsonl", filepath.Join(s.dir, "a.jsonl"), s.dir)
	for name, want := range map[string]string{"stdout.log": "part\n", "stderr.log": "boom\n", "result.txt": "part"} {
		if data, err := os.ReadFile(filepath.Join(r.dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

// golden compares a file to one in testdata, with the directory dir written as
// <dir>.
func golden(t testing.TB, name, path, dir string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got = []byte(strings.ReplaceAll(string(got), dir, "<dir>"))
	path = filepath.Join("testdata", name)
	want, err := os.ReadFile(path)
	if os.Getenv("CRON_TEST_UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s:\n%s", name, diff)
	}
}

// TestSameSecond has runs that begin in the same second.
func TestSameSecond(t *testing.T) {
	t.Parallel()
	s, j := newStore(t, t.TempDir()), testJob(t, "a")
	seen := map[string]bool{}
	for range 3 {
		seen[aRun(t, s, j, testNow).dir] = true
	}
	if len(seen) != 3 || len(lines(t, s.dir, "a")) != 3 {
		t.Errorf("got %v", seen)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	s.keep = 2
	a, other := testJob(t, "a"), testJob(t, "x-a") // whose name ends alike
	var dirs []string
	aRun(t, s, other, testNow)
	for i := range 5 {
		dirs = append(dirs, aRun(t, s, a, testNow.Add(time.Duration(i)*time.Hour)).dir)
	}
	left, err := s.dirsOf("a")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(left)
	if diff := cmp.Diff(dirs[3:], left); diff != "" {
		t.Error(diff)
	}
	if left, _ := s.dirsOf("x-a"); len(left) != 1 {
		t.Errorf("another job lost its runs: %v", left)
	}
	if n := len(lines(t, s.dir, "a")); n != 5 {
		t.Errorf("%d lines", n)
	}
}

// TestInterrupted finds runs that a box left behind when it died: while one
// waited, before its first record was written, and while its agent worked.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		start bool
		lose  bool
	}{{"waiting", false, false}, {"working", true, false}, {"before its record", true, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, j := newStore(t, t.TempDir()), testJob(t, "a")
			r := &record{job: j, trigger: bySchedule, due: testNow, runID: "id", workspace: "/w", fired: testNow, status: statusRunning}
			if err := s.begin(r); err != nil {
				t.Fatal(err)
			}
			if test.start {
				if err := s.start(r); err != nil {
					t.Fatal(err)
				}
			}
			if test.lose {
				if err := os.Remove(filepath.Join(r.dir, "meta.json")); err != nil {
					t.Fatal(err)
				}
			}
			d := &scheduler{store: s, log: s.log, now: func() time.Time { return testNow.Add(time.Hour) }}
			free, err := s.lockRun("a") // while it lives, nobody touches it
			if err != nil {
				t.Fatal(err)
			}
			d.recover()
			if n := len(lines(t, s.dir, "a")); n != 0 {
				t.Fatalf("a run that goes on was ended: %d lines", n)
			}
			free()
			d.recover()
			d.recover()
			got := lines(t, s.dir, "a")
			if len(got) != 1 || got[0].Status != statusInterrupted || got[0].Error != "interrupted by restart" || got[0].RunID != "id" {
				t.Fatalf("got %+v", got)
			}
			if !test.start {
				return
			}
			m := readMeta(t, r.dir)
			if m.Status != statusInterrupted || m.FinishedAt == nil || *m.Error != "interrupted by restart" || *m.ExitCode != -1 || m.Name != "a" {
				t.Errorf("got %+v", m)
			}
			next := &record{job: j, trigger: bySchedule, runID: "id2", fired: testNow}
			if err := s.begin(next); err != nil || next.previous != r.dir {
				t.Errorf("the next run hears of %q, %v", next.previous, err)
			}
		})
	}
}

// TestDamage goes on after files were cut short or spoilt.
func TestDamage(t *testing.T) {
	t.Parallel()
	s, j := newStore(t, t.TempDir()), testJob(t, "a")
	aRun(t, s, j, testNow)
	for path, text := range map[string]string{
		filepath.Join(s.dir, "a.jsonl"):                `{"job":"a","status":"comp`,
		filepath.Join(s.dir, "state", "a.json"):        `{"plan":`,
		filepath.Join(s.dir, "telegram_messages.json"): `[`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	aRun(t, s, j, testNow.Add(time.Hour))
	data, err := os.ReadFile(filepath.Join(s.dir, "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	second := strings.Split(string(data), "\n")[1]
	if !json.Valid([]byte(second)) {
		t.Errorf("the new line is spoilt: %s", data)
	}
	if err := s.rememberMessages([]message{{MessageID: 1}}); err != nil {
		t.Error(err)
	}
}

func TestLinesAreHalved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\nfour\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := halve(path); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "four\n" {
		t.Errorf("got %q", data)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	for i := range 101 {
		if err := s.rememberMessages([]message{{ChatID: 1, MessageID: 2 * i}, {ChatID: 1, MessageID: 2*i + 1}}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "telegram_messages.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file messageFile
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if n := len(file.Messages); n != 200 || file.Messages[0].MessageID != 2 || file.Messages[199].MessageID != 201 {
		t.Errorf("%d messages, %+v to %+v", n, file.Messages[0], file.Messages[n-1])
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"/workspace/c1":       "workspace_c1",
		"/workspace/a b/ü/..": "workspace_a_b___..",
		"/":                   "root",
		"":                    "root",
		"/..":                 "root",
		"/.hidden":            "hidden",
	} {
		if got := slug(dir); got != want {
			t.Errorf("%q: got %q, want %q", dir, got, want)
		}
	}
	if long := slug("/" + strings.Repeat("x", 400)); len(long) > 200 || long == slug("/"+strings.Repeat("x", 401)) {
		t.Errorf("got %q", long)
	}
}

func FuzzSlug(f *testing.F) {
	f.Add("/workspace/a")
	f.Add("../..")
	f.Fuzz(func(t *testing.T, dir string) {
		name := slug(dir)
		if name == "" || name[0] == '.' || len(name) > 255 || name != filepath.Base(name) || !filepath.IsLocal(name) {
			t.Errorf("%q gives %q", dir, name)
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{{"abc", "abc"}, {"abcdef", "abcd"}, {"abcé", "abc"}, {"ab\xff", "ab\ufffd"[:2]}} {
		if got := cut(test.in, 4); got != test.want {
			t.Errorf("%q: got %q", test.in, got)
		}
	}
}

// TestClaims holds the rules by which a time is run once.
func TestClaims(t *testing.T) {
	t.Parallel()
	m := &memory{}
	at := func(hours int) time.Time { return testNow.Add(time.Duration(hours) * time.Hour) }
	for i, step := range []struct {
		due  time.Time
		by   string
		want verdict
	}{
		{at(0), "a", won},
		{at(0), "a", finished},
		{at(0), "b", lost},
		{at(-1), "b", lost},
		{at(1), "b", won},
		{at(0), "b", finished},
		{at(1), "a", lost},
		{at(24 * 900), "a", won}, // the clock was far ahead
		{at(2), "a", won},
		{at(1), "a", finished},
		{at(24 * 900), "b", lost},
	} {
		if got := m.claim(step.due, step.by); got != step.want {
			t.Errorf("step %d: got %v, want %v", i, got, step.want)
		}
	}
}

// TestBacklog counts times over very long outages without counting for ever.
func TestBacklog(t *testing.T) {
	t.Parallel()
	j := read(t, "misfire: all\nmisfire_grace: 20h\njobs: [{name: a, schedule: '* * * * * *', instruction: x}]").jobs[0]
	b := j.backlog(testNow.AddDate(-1, 0, 0), testNow, 2*time.Second)
	if !b.due.Equal(testNow) || len(b.late) != 3600 || !b.many || !b.last.Equal(testNow.Add(-time.Second)) || !b.first.Equal(testNow.AddDate(-1, 0, 0).Add(time.Second)) {
		t.Errorf("due %v, %d late, %d lost, many %v, from %v to %v", b.due, len(b.late), b.lost, b.many, b.first, b.last)
	}
	if b := j.backlog(testNow, testNow, time.Second); !b.due.IsZero() || !b.first.IsZero() || b.lost != 0 {
		t.Errorf("got %+v", b)
	}
}
