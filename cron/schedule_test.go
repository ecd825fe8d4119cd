package cron

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func mustSchedule(t testing.TB, text, zoneName string) schedule {
	t.Helper()
	s, err := parseSchedule(text, zone(t, zoneName))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func shown(times []time.Time) []string {
	var out []string
	for _, at := range times {
		out = append(out, at.Format("Mon 2006-01-02 15:04:05 -0700"))
	}
	return out
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, zone, after string
		want              []string
	}{
		{"*/20 * * * * *", "UTC", "2026-12-01T00:00:00Z", []string{"Tue 2026-12-01 00:00:20 +0000", "Tue 2026-12-01 00:00:40 +0000"}},
		{"30 9 * * MON-FRI", "Europe/Berlin", "2026-12-04T12:00:00Z", []string{"Mon 2026-12-07 09:30:00 +0100"}},
		{"@daily", "Asia/Tokyo", "2026-12-01T00:00:00Z", []string{"Wed 2026-12-02 00:00:00 +0900"}},
		{"@HOURLY", "UTC", "2026-12-01T00:00:00Z", []string{"Tue 2026-12-01 01:00:00 +0000"}},
		{"@every 1h30m", "UTC", "2026-12-01T00:00:01Z", []string{"Tue 2026-12-01 01:30:00 +0000", "Tue 2026-12-01 03:00:00 +0000"}},
		{"@every 7s", "UTC", "1969-12-31T23:59:58Z", []string{"Thu 1970-01-01 00:00:00 +0000", "Thu 1970-01-01 00:00:07 +0000"}},
		{"0 0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", []string{"Fri 2104-02-29 00:00:00 +0000"}},
		{"0 0 12 * * 7", "UTC", "2026-12-01T00:00:00Z", []string{"Sun 2026-12-06 12:00:00 +0000"}},
		{"0 0 12 30 12 ?", "Pacific/Apia", "2011-12-29T00:00:00Z", []string{"Sun 2012-12-30 12:00:00 +1400"}}, // that day was left out
	} {
		s := mustSchedule(t, test.text, test.zone)
		got := shown(s.upcoming(instant(t, test.after), len(test.want)))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s in %s:\n%s", test.text, test.zone, diff)
		}
	}
}

// TestCase_C01 goes over nights on which the clocks change.
func TestCase_C01(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text, zone, after string
		want                    []string
	}{
		{
			"a daily job in the gap", "0 30 2 * * *", "America/New_York", "2026-03-07T12:00:00-05:00",
			[]string{"Sun 2026-03-08 03:00:00 -0400", "Mon 2026-03-09 02:30:00 -0400"},
		},
		{
			"a daily job in the fold", "0 30 1 * * *", "America/New_York", "2026-10-31T12:00:00-04:00",
			[]string{"Sun 2026-11-01 01:30:00 -0400", "Mon 2026-11-02 01:30:00 -0500"},
		},
		{
			"after the second pass has begun", "0 30 1 * * *", "America/New_York", "2026-11-01T01:10:00-05:00",
			[]string{"Mon 2026-11-02 01:30:00 -0500"},
		},
		{
			"a change of half an hour, forward", "0 15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			[]string{"Sun 2026-10-04 02:30:00 +1100", "Mon 2026-10-05 02:15:00 +1100"},
		},
		{
			"a change of half an hour, back", "0 45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00+11:00",
			[]string{"Sun 2026-04-05 01:45:00 +1100", "Mon 2026-04-06 01:45:00 +1030"},
		},
		{
			"a midnight that does not exist", "@daily", "Africa/Cairo", "2026-04-23T12:00:00+02:00",
			[]string{"Fri 2026-04-24 01:00:00 +0300", "Sat 2026-04-25 00:00:00 +0300"},
		},
		{
			"a midnight that comes twice", "0 0 23 * * *", "Africa/Cairo", "2026-10-29T12:00:00+03:00",
			[]string{"Thu 2026-10-29 23:00:00 +0300", "Fri 2026-10-30 23:00:00 +0200"},
		},
		{
			"many times in the gap are one", "*/10 * 2 * * *", "America/New_York", "2026-03-07T12:00:00-05:00",
			[]string{"Sun 2026-03-08 03:00:00 -0400", "Mon 2026-03-09 02:00:00 -0400"},
		},
		{
			"in the gap and right after it", "0 0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			[]string{"Sun 2026-03-29 03:00:00 +0200", "Mon 2026-03-30 02:00:00 +0200"},
		},
		{
			"half-hourly through the gap", "0 */30 * * * *", "America/New_York", "2026-03-08T01:00:00-05:00",
			[]string{"Sun 2026-03-08 01:30:00 -0500", "Sun 2026-03-08 03:00:00 -0400", "Sun 2026-03-08 03:30:00 -0400"},
		},
		{
			"half-hourly through the fold", "0 */30 * * * *", "America/New_York", "2026-11-01T00:45:00-04:00",
			[]string{
				"Sun 2026-11-01 01:00:00 -0400", "Sun 2026-11-01 01:30:00 -0400", "Sun 2026-11-01 01:00:00 -0500",
				"Sun 2026-11-01 01:30:00 -0500", "Sun 2026-11-01 02:00:00 -0500",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := mustSchedule(t, test.text, test.zone)
			got := shown(s.upcoming(instant(t, test.after), len(test.want)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMinutesKeepRunning counts the minutes of the two nights: none is left
// out and none comes twice.
func TestMinutesKeepRunning(t *testing.T) {
	t.Parallel()
	s := mustSchedule(t, "0 * * * * *", "America/New_York")
	for _, from := range []string{"2026-03-08T00:00:00-05:00", "2026-11-01T00:00:00-04:00"} {
		at := instant(t, from)
		for range 6 * 60 {
			next := s.next(at)
			if next.Sub(at) != time.Minute {
				t.Fatalf("after %v comes %v", at, next)
			}
			at = next
		}
	}
}

// TestCase_C03 restricts the day of the month and the day of the week.
func TestCase_C03(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"0 0 9 13 * 5":   {"Fri 2026-12-04", "Fri 2026-12-11", "Sun 2026-12-13", "Fri 2026-12-18"},
		"0 0 9 1-31 * 1": {"Tue 2026-12-01", "Wed 2026-12-02", "Thu 2026-12-03", "Fri 2026-12-04"},
		"0 0 9 * * 1":    {"Mon 2026-12-07", "Mon 2026-12-14", "Mon 2026-12-21", "Mon 2026-12-28"},
		"0 0 9 13 * *":   {"Sun 2026-12-13", "Wed 2027-01-13", "Sat 2027-02-13", "Sat 2027-03-13"},
	} {
		s := mustSchedule(t, text, "Europe/Berlin")
		var got []string
		for _, at := range s.upcoming(instant(t, "2026-12-01T00:00:00Z"), len(want)) {
			got = append(got, at.Format("Mon 2006-01-02"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

func TestScheduleRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "is empty",
		"x":                       "expected 5 to 6 fields",
		"* * * *":                 "expected 5 to 6 fields",
		"0 0 0 * * * 2027":        "expected 5 to 6 fields",
		"0 60 * * * *":            "60",
		"0 0 24 * * *":            "24",
		"0 0 0 0 * *":             "0",
		"0 1,,2 * * * *":          "comma",
		"0 0 0 L * *":             "no meaning here",
		"0 0 0 * * FRI#2":         "no meaning here",
		"0 H 0 * * *":             "no meaning here",
		"TZ=UTC 0 0 0 * * *":      "timezone",
		"CRON_TZ=UTC 0 0 * * *":   "timezone",
		"@reboot":                 "unrecognized",
		"@every":                  "one duration",
		"@every 1d":               "cannot be read",
		"@every 500ms":            "whole seconds",
		"@every 1500ms":           "whole seconds",
		"@every -1h":              "whole seconds",
		"@every 1h 30m":           "one duration",
		strings.Repeat("1,", 600): "comma",
	} {
		_, err := parseSchedule(text, time.UTC)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want something with %q", text, err, want)
		}
	}
}

// FuzzSchedule wants times that come later, and no panic.
func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{"0 30 2 * * *", "@every 90s", "*/7 22-2 * 13 FEB-NOV FRI-MON", "? ? * * ? 7", "@", "0 0 0 29 2 *"} {
		f.Add(seed, int64(1_780_000_000))
	}
	berlin := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, text string, at int64) {
		s, err := parseSchedule(text, berlin)
		if err != nil {
			return
		}
		after := time.Unix(at%5e9, 0)
		for range 3 {
			next := s.next(after)
			if next.IsZero() {
				return
			}
			if !next.After(after) {
				t.Fatalf("%q: after %v comes %v", text, after, next)
			}
			after = next
		}
	})
}
