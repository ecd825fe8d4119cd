package cron

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func read(t testing.TB, text string) *config {
	t.Helper()
	c, err := parseConfig([]byte(text), offer{}, testNow)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfig(t *testing.T) {
	t.Parallel()
	c := read(t, `
model: m-default
thinking: low
timezone: Europe/Berlin
telegram_chat_id: -100123
timeout_seconds: 60
misfire: once
misfire_grace: 30m
no_continue: yes
append_system_prompt: be short
workspace: common
jobs:
  - name: all_defaults
    schedule: "0 30 9 * * *"
    instruction: do it
  - &second
    name: overrides
    schedule: '@every 90s'
    instruction: |
      two
      lines
    model: 1.50
    effort: high
    timezone: UTC
    telegram_chat_id: 0
    telegram_thread_id: 7
    timeout_seconds: 0
    misfire: all
    misfire_grace: 90
    no_continue: false
    allow_empty: on
    enabled: off
    workspace: own/place
    append_system_prompt: ""
  - <<: *second
    name: merged
    model:
`)
	if diff := cmp.Diff([]string{"all_defaults", "overrides", "merged"}, c.names()); diff != "" {
		t.Fatal(diff)
	}
	want := job{
		name: "all_defaults", line: 13, zoneName: "Europe/Berlin", instruction: "do it", workspace: "common",
		model: "m-default", effort: "low", appendSystem: "be short", fresh: true, chat: -100123, timeout: time.Minute,
		misfire: misfireOnce, grace: 30 * time.Minute, enabled: true,
	}
	compare(t, want, c.jobs[0])
	want = job{
		name: "overrides", line: 16, zoneName: "UTC", instruction: "two\nlines\n", workspace: "own/place",
		model: "1.50", effort: "high", thread: 7, misfire: misfireAll, grace: 90 * time.Second, allowEmpty: true,
	}
	compare(t, want, c.jobs[1])
	want.name, want.line, want.model = "merged", 35, "m-default"
	compare(t, want, c.jobs[2])
}

func compare(t *testing.T, want, got job) {
	t.Helper()
	got.schedule = schedule{}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(job{}), cmp.Comparer(func(a, b schedule) bool { return true })); diff != "" {
		t.Error(diff)
	}
}

// TestConfigRefuses wants every fault of a file, each with line, job and key.
func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"empty", "", []string{"line 1: jobs: the file is empty"}},
		{"comments only", "# nothing\n", []string{"line 1: jobs: "}},
		{"a list", "- a\n", []string{"line 1: jobs: the file must be a mapping"}},
		{"no jobs", "model: a\n", []string{"line 1: jobs: must be a list"}},
		{"empty list", "model: a\njobs: []\n", []string{"line 2: jobs: must be a list"}},
		{"jobs is a text", "jobs: many\n", []string{"line 1: jobs: must be a list"}},
		{"job is a text", "jobs: [one]\n", []string{"line 1: job 1: must be a mapping"}},
		{"two documents", "jobs:\n  - {name: a, schedule: '@daily', instruction: x}\n---\njobs: []\n", []string{"line 3: a second document"}},
		{"missing keys", "jobs:\n  - name: a\n", []string{`line 2: job "a": schedule: is missing`, `line 2: job "a": instruction: is missing`}},
		{"no name", "jobs:\n  - schedule: '@daily'\n    instruction: x\n", []string{"line 2: job 1: name: is missing"}},
		{
			"all at once", `modle: x
timezone: Nowhere/Land
jobs:
  - name: a
    shedule: "@daily"
    instruction: x
  - name: b c
    schedule: "61 * * * * *"
    instruction: ""
    timeout_seconds: soon
    misfire: maybe
    misfire_grace: 1d
    enabled: 2
  - name: a
    schedule: "0 0 0 31 2 *"
    instruction: x
    telegram_chat_id: me
    telegram_thread_id: -1
    effort: low
    thinking: high
    model: [a]
    instruction: y
`, []string{
				`line 1: modle: no such key; did you mean model?`,
				`line 2: timezone: "Nowhere/Land" is no time zone`,
				`line 4: job "a": schedule: is missing`,
				`line 5: job "a": shedule: no such key; did you mean schedule?`,
				`line 7: job "b c": name: must be made of letters`,
				`line 8: job "b c": schedule: "61 * * * * *" cannot be read`,
				`line 9: job "b c": instruction: must be a text that is not empty`,
				`line 10: job "b c": timeout_seconds: must be a whole number of seconds`,
				`line 11: job "b c": misfire: must be skip, once or all, and is "maybe"`,
				`line 12: job "b c": misfire_grace: must be a duration`,
				`line 13: job "b c": enabled: must be true or false, and is "2"`,
				`line 14: job "a": name: another job, in line 4, has this name`,
				`line 15: job "a": schedule: "0 0 0 31 2 *" names dates that never come`,
				`line 17: job "a": telegram_chat_id: must be a whole number`,
				`line 18: job "a": telegram_thread_id: must be the number of a topic`,
				`line 20: job "a": thinking: is another word for effort`,
				`line 21: job "a": model: must be a single value`,
				`line 22: job "a": instruction: the key is given twice, here and in line 16`,
			},
		},
		{
			"schedules without quotes", "jobs:\n  - name: a\n    schedule: * * * * * *\n    instruction: x\n  - schedule: @daily # often\n    name: b\n    instruction: x\n",
			[]string{`line 3: job "a": schedule: quote the schedule`, `line 5: job "b": schedule: quote the schedule, since a @ at its start means something else in YAML: schedule: "@daily"`},
		},
		{
			"one on a line with others", "jobs: [{name: a, schedule: */5 * * * *, instruction: x}]\n",
			[]string{`line 1: job "a": schedule: quote the schedule, since a * at its start means something else in YAML: schedule: "*/5 * * * *"`},
		},
		{"an anchor nobody made", "jobs:\n  - name: *b\n", []string{"line 2: this is no YAML: unknown anchor 'b' referenced"}},
		{"an open bracket", "jobs: [\n", []string{"line 2: this is no YAML: "}},
		{"a tab", "jobs:\n\t- name: a\n", []string{"line 2: this is no YAML: "}},
		{"a schedule that is a list", "jobs:\n  - {name: a, instruction: x, schedule: [1, 2]}\n", []string{`line 2: job "a": schedule: must be a text in quotes`}},
		{"jobs twice", "jobs: []\njobs: []\n", []string{"line 1: jobs: must be a list", "line 2: jobs: the key is given twice"}},
		{"too large", "# " + strings.Repeat("x", maxFile), []string{"line 1: the file has more than 1048576 bytes"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := parseConfig([]byte(test.file), offer{}, testNow)
			if err == nil {
				t.Fatal("it was accepted")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.want) {
				t.Errorf("got %d errors, want %d:\n%v", len(lines), len(test.want), err)
			}
			for i, want := range test.want {
				if i < len(lines) && !strings.HasPrefix(lines[i], want) {
					t.Errorf("got  %s\nwant %s...", lines[i], want)
				}
			}
		})
	}
}

func TestConfigOffer(t *testing.T) {
	t.Parallel()
	file := "model: a\njobs:\n  - {name: x, schedule: '@daily', instruction: do, model: b, effort: high}\n"
	_, err := parseConfig([]byte(file), offer{models: []string{"a", "c"}, efforts: []string{"low"}}, testNow)
	want := `line 3: job "x": model: this box does not offer "b"; it offers a, c
line 3: job "x": effort: this box does not offer "high"; it offers low`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestCase_J04 reads a file that begins with a byte-order mark, and keeps one
// inside a text.
func TestCase_J04(t *testing.T) {
	t.Parallel()
	c := read(t, "\xef\xbb\xbfjobs:\n  - {name: a, schedule: '@daily', instruction: \"x\ufeffy\"}\n")
	if got := c.jobs[0].instruction; got != "x\ufeffy" {
		t.Errorf("got %q", got)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	j := read(t, "timezone: Asia/Tokyo\njobs: [{name: tick, schedule: '@daily', instruction: x}]").jobs[0]
	got := j.fill("at {system_datetime} job {job_name} in {workspace}, {other} {", "/w/a", testNow)
	if want := "at 2026-12-01 21:00:00 JST job tick in /w/a, {other} {"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestSurprises(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"0 0 9 * * 1":    nil,
		"0 */15 * * * *": nil,
		"0 0 9 13 * 5":   {"warning: day of month and day of week are both restricted"},
		"0 0 9 1-31 * 1": {"warning: it runs every day"},
		"0 0 9 13 * 0-6": {"warning: it runs every day"},
		"0 0 9 31 * *":   {"warning: it leaves out months that have no such day: February, April, June, September, November"},
		"0 0 9 29 2 *":   {"warning: 29 February"},
		"0 0 9 31 1 *":   nil,
		"* 5 9 * * *":    {"warning: the first field is the second: a star there runs it every second of the minutes"},
		"* * * * * *":    {"warning: the first field is the second: a star there runs it every second; write 0"},
		"0 9 * * *":      {"note: five fields"},
		"@every 1h":      {"note: @every counts"},
		"@daily":         nil,
		"0 */7 * * * *":  {"warning: */7 in the field of the minute starts anew with each hour"},
		"0 0 0 */2 * *":  {"warning: */2 in the field of the day starts anew with each month"},
		"0 30 2 * * *": {
			"note: the clocks skip 2027-03-28 02:30:00; that day it runs at 03:00:00",
			"note: the clocks show 2027-10-31 02:30:00 twice; it runs the first time only",
		},
	} {
		s := mustSchedule(t, text, "Europe/Berlin")
		got := surprises(job{schedule: s}, testNow)
		if len(got) != len(want) {
			t.Errorf("%s: got %v", text, got)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(got[i].String(), want[i]) {
				t.Errorf("%s: got %s, want %s...", text, got[i], want[i])
			}
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("jobs:\n  - {name: a, schedule: '@daily', instruction: x}\n"))
	f.Add([]byte("a: &a [*a]\njobs: *a\n"))
	f.Add([]byte("jobs: &j\n  - <<: *j\n"))
	f.Add([]byte("? [x]\n: y\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig(data, offer{}, testNow)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "line ") {
					t.Errorf("no line in %q", line)
				}
			}
			return
		}
		for _, j := range c.jobs {
			if j.schedule.next(testNow).IsZero() || !nameForm.MatchString(j.name) || j.instruction == "" {
				t.Errorf("accepted %+v", j)
			}
		}
	})
}
