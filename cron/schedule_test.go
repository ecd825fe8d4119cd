package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
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

// TestNextAgainstAnother compares next with an implementation that shares
// nothing with it but the rules, over random schedules, zones and moments, half
// of them near a change of the clocks.
func TestNextAgainstAnother(t *testing.T) {
	t.Parallel()
	var zones []*time.Location
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kathmandu",
		"America/Sao_Paulo", "Pacific/Apia", "America/St_Johns", "Antarctica/Troll", "Africa/Casablanca", "Pacific/Chatham",
	} {
		zones = append(zones, zone(t, name))
	}
	const parts = 4
	for part := range parts {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(8, uint64(part)))
			for range 10_000 / parts {
				text, loc := randomSchedule(rnd), zones[rnd.IntN(len(zones))]
				s, err := parseSchedule(text, loc)
				if err != nil {
					t.Fatal(err)
				}
				after := randomMoment(rnd, loc)
				for range 2 {
					got, want := s.next(after), another(text, loc, after)
					if !got.Equal(want) {
						t.Fatalf("%q in %v after %v:\n got %v\nwant %v", text, loc, after.In(loc), got, want)
					}
					after = got
				}
			}
		})
	}
}

func randomMoment(rnd *rand.Rand, loc *time.Location) time.Time {
	at := time.Date(2007+rnd.IntN(30), 1, 1, 0, 0, rnd.IntN(365*86400), rnd.IntN(2)*rnd.IntN(1e9), time.UTC).In(loc)
	if _, end := at.ZoneBounds(); !end.IsZero() && rnd.IntN(2) == 0 {
		at = end.Add(time.Duration(rnd.IntN(3*86400)-2*86400) * time.Second)
	}
	return at
}

func randomSchedule(rnd *rand.Rand) string {
	fields := []string{
		randomField(rnd, 0, 59, 30), randomField(rnd, 0, 59, 30), randomField(rnd, 0, 23, 40),
		randomField(rnd, 1, 28, 70), randomField(rnd, 1, 12, 80), randomField(rnd, 0, 6, 70),
	}
	if rnd.IntN(4) == 0 {
		fields = fields[1:]
	}
	return strings.Join(fields, " ")
}

// randomField is a star in so many of a hundred cases.
func randomField(rnd *rand.Rand, low, high, stars int) string {
	if rnd.IntN(100) < stars {
		return "*"
	}
	value := func() int { return low + rnd.IntN(high-low+1) }
	var items []string
	for range 1 + rnd.IntN(2) {
		a := value()
		b := a + rnd.IntN(high-a+1)
		switch rnd.IntN(5) {
		case 0:
			items = append(items, fmt.Sprintf("%d-%d", a, b))
		case 1:
			items = append(items, fmt.Sprintf("*/%d", 2+rnd.IntN((high-low)/2)))
		case 2:
			items = append(items, fmt.Sprintf("%d-%d/%d", a, b, 1+rnd.IntN(max(1, b-a))))
		default:
			items = append(items, strconv.Itoa(a))
		}
	}
	return strings.Join(items, ",")
}

// another returns the next time by trying wall-clock times one by one, minute
// by minute: clocks change at whole minutes.
func another(text string, loc *time.Location, after time.Time) time.Time {
	words := strings.Fields(text)
	if len(words) == 5 {
		words = append([]string{"0"}, words...)
	}
	a := newAttempt(words, loc, after)
	y, m, d := after.In(loc).Date()
	for n := -1; n < 366*9; n++ {
		day := time.Date(y, m, d+n, 0, 0, 0, 0, time.UTC)
		if a.rightDay(day) {
			a.tryDay(day)
		}
		// A day of the calendar can begin before the one before it has ended.
		if !a.best.IsZero() && wallClock(a.best, loc).Before(day.AddDate(0, 0, 1)) {
			break
		}
	}
	return a.best
}

type attempt struct {
	loc                                   *time.Location
	after, best                           time.Time
	seconds, minutes, hours, days, months [60]bool
	weekdays                              [60]bool
	anyDay, anyWeekday, hourly            bool
	offsets                               []time.Duration // around the day
	smallest, largest                     time.Duration   // of offsets
}

func newAttempt(words []string, loc *time.Location, after time.Time) *attempt {
	a := &attempt{
		loc: loc, after: after, seconds: members(words[0], 0, 59), minutes: members(words[1], 0, 59),
		hours: members(words[2], 0, 23), days: members(words[3], 1, 31), months: members(words[4], 1, 12),
		weekdays: members(words[5], 0, 6), anyDay: words[3] == "*", anyWeekday: words[5] == "*",
	}
	a.hourly = a.hours == members("*", 0, 23)
	return a
}

// members says which numbers a field names.
func members(field string, low, high int) (set [60]bool) {
	for item := range strings.SplitSeq(field, ",") {
		span, step, stepped := strings.Cut(item, "/")
		from, to := low, high
		if span != "*" {
			a, b, isRange := strings.Cut(span, "-")
			from, _ = strconv.Atoi(a)
			to = from
			if isRange {
				to, _ = strconv.Atoi(b)
			}
		}
		by := 1
		if stepped {
			by, _ = strconv.Atoi(step)
		}
		for v := from; v <= to; v += by {
			set[v] = true
		}
	}
	return set
}

func (a *attempt) rightDay(day time.Time) bool {
	if !a.months[day.Month()] {
		return false
	}
	dom, dow := a.days[day.Day()], a.weekdays[day.Weekday()]
	if a.anyDay || a.anyWeekday {
		return dom && dow
	}
	return dom || dow
}

// tryDay looks at all the named minutes of a calendar day that can be the next.
func (a *attempt) tryDay(day time.Time) {
	a.lookAround(day)
	early := int(a.after.Add(a.smallest).Sub(day) / time.Minute) // minutes that are over
	for n := max(0, early-1); n < 24*60; n++ {
		if !a.hours[n/60] {
			n += 59 - n%60
			continue
		}
		if !a.minutes[n%60] {
			continue
		}
		wall := day.Add(time.Duration(n) * time.Minute)
		if !a.best.IsZero() && wall.Add(-a.largest).After(a.best) {
			return
		}
		a.tryMinute(wall)
	}
}

func (a *attempt) tryMinute(wall time.Time) {
	var first time.Time
	for _, off := range a.offsets {
		at := wall.Add(-off)
		if !wallClock(at, a.loc).Equal(wall) {
			continue
		}
		if a.hourly {
			a.trySeconds(at)
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	switch {
	case a.hourly:
	case first.IsZero():
		a.tryGap(wall)
	default:
		a.trySeconds(first)
	}
}

func (a *attempt) trySeconds(minute time.Time) {
	for s := range 60 {
		if at := minute.Add(time.Duration(s) * time.Second); a.seconds[s] && at.After(a.after) {
			a.propose(at)
			return
		}
	}
}

// tryGap finds the first minute whose clock shows more than wall.
func (a *attempt) tryGap(wall time.Time) {
	at := wall.Add(-a.largest)
	for !wallClock(at, a.loc).After(wall) {
		at = at.Add(time.Minute)
	}
	jump := wallClock(at, a.loc).Sub(wallClock(at.Add(-time.Second), a.loc))
	if jump < 24*time.Hour { // else the day does not exist
		a.propose(at)
	}
}

func (a *attempt) propose(at time.Time) {
	if at.After(a.after) && (a.best.IsZero() || at.Before(a.best)) {
		a.best = at
	}
}

func (a *attempt) lookAround(day time.Time) {
	a.offsets = a.offsets[:0]
	for h := -30; h <= 54; h += 3 {
		_, seconds := day.Add(time.Duration(h) * time.Hour).In(a.loc).Zone()
		if off := time.Duration(seconds) * time.Second; !slices.Contains(a.offsets, off) {
			a.offsets = append(a.offsets, off)
		}
	}
	a.smallest, a.largest = slices.Min(a.offsets), slices.Max(a.offsets)
}

func wallClock(t time.Time, loc *time.Location) time.Time {
	_, seconds := t.In(loc).Zone()
	return t.UTC().Add(time.Duration(seconds) * time.Second)
}
