package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

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
