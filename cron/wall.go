package cron

import "time"

// A wall-clock time is written as a time.Time in UTC with the fields that the
// clock on the wall shows.

// moment is what a wall-clock time stands for in a zone.
type moment struct {
	at     time.Time // the first moment at which the clock shows it, or the end of the gap
	gap    bool      // the clock never shows it: it was put forward over it
	exists bool      // false when the whole day is left out, as 30 December 2011 was in Samoa
}

// offset returns how far the clock of t's zone is ahead of UTC at t.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// wallOf returns what the clock of t's zone shows at t.
func wallOf(t time.Time) time.Time { return t.UTC().Add(offset(t)) }

// mostOffset is more than any zone's distance from UTC.
const mostOffset = 24 * time.Hour

// resolve finds the moment that wall stands for in zone.
func resolve(wall time.Time, zone *time.Location) moment {
	stretch := wall.Add(-mostOffset).In(zone)
	for {
		at := wall.Add(-offset(stretch))
		start, end := stretch.ZoneBounds()
		if !start.IsZero() && at.Before(start) {
			return moment{at: start, gap: true, exists: hasDay(wall, start)}
		}
		if end.IsZero() || at.Before(end) {
			return moment{at: at.In(zone), exists: true}
		}
		stretch = end
	}
}

// hasDay tells whether the gap that ends at end leaves anything of the day of
// wall.
func hasDay(wall, end time.Time) bool {
	day := time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC)
	from := wallOf(end.Add(-1)).Add(1)
	return from.After(day) || wallOf(end).Before(day.AddDate(0, 0, 1))
}

// pastFold returns what the clock shows at t. If it shows it for the second
// time, that is moved to the last time shown twice, so that what comes after is
// new.
func pastFold(t time.Time) time.Time {
	wall := wallOf(t)
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return wall
	}
	before := wallOf(start.Add(-1))
	if wall.After(before) {
		return wall
	}
	return before
}
