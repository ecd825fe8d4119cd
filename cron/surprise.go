package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	gocron "github.com/netresearch/go-cron"
)

// surprise is something about a schedule that its author may not expect.
type surprise struct {
	warning bool // probably a mistake; otherwise good to know
	text    string
}

func (s surprise) String() string {
	if s.warning {
		return "warning: " + s.text
	}
	return "note: " + s.text
}

// star is the bit by which the parser marks a field that was written as a star.
const star = 1 << 63

// surprises lists what may surprise about j's schedule in the year after now.
func surprises(j job, now time.Time) []surprise {
	if j.schedule.spec == nil {
		return []surprise{{text: "@every counts from the beginning of 1970 in UTC, not from the start of the box"}}
	}
	found := surpriseOfDays(j.schedule.spec)
	found = append(found, surpriseOfSeconds(j.schedule)...)
	found = append(found, surpriseOfSteps(j.schedule.text)...)
	return append(found, surpriseOfClocks(j.schedule, now)...)
}

func surpriseOfDays(spec *gocron.SpecSchedule) []surprise {
	const everyDay, everyWeekday = 1<<32 - 2, 1<<7 - 1
	switch {
	case spec.Dom&star != 0 && spec.Dow&star != 0:
		return nil
	case spec.Dom&star == 0 && spec.Dow&star == 0:
		if spec.Dom&everyDay == everyDay || spec.Dow&everyWeekday == everyWeekday {
			return []surprise{{true, "it runs every day: day of month and day of week are both restricted, so that either is enough, and one of them names all days; write a star for that one to let the other decide"}}
		}
		return []surprise{{true, "day of month and day of week are both restricted: it runs on days that match either, not both"}}
	case spec.Dom&star == 0:
		return surpriseOfLateDays(spec)
	}
	return nil
}

// surpriseOfLateDays looks for months that have none of the days.
func surpriseOfLateDays(spec *gocron.SpecSchedule) []surprise {
	const february, allMonths = 1 << 2, 1<<13 - 2
	var without []string
	for month := time.January; month <= time.December; month++ {
		days := time.Date(2027, month+1, 0, 0, 0, 0, 0, time.UTC).Day() // of a year that is no leap year
		if spec.Month&(1<<month) != 0 && spec.Dom&(1<<(days+1)-2) == 0 {
			without = append(without, month.String())
		}
	}
	switch {
	case without == nil:
		return nil
	case spec.Month&allMonths == february:
		return []surprise{{true, "29 February comes in leap years only"}}
	}
	return []surprise{{true, "it leaves out months that have no such day: " + strings.Join(without, ", ")}}
}

func surpriseOfSeconds(s schedule) []surprise {
	const allMinutes = 1<<60 - 1
	var found []surprise
	if s.spec.Second&star != 0 {
		text := "the first field is the second: a star there runs it every second"
		if s.spec.Minute&allMinutes != allMinutes || !s.hourly {
			text += " of the minutes that the other fields name"
		}
		found = append(found, surprise{true, text + "; write 0 there for once a minute"})
	}
	if n := len(strings.Fields(s.text)); n == 5 && s.text[0] != '@' {
		found = append(found, surprise{text: "five fields: the first is the minute, and the second is 0"})
	}
	return found
}

// surpriseOfSteps looks for steps that do not fit into what they divide.
func surpriseOfSteps(text string) []surprise {
	fields := strings.Fields(text)
	if len(fields) == 5 {
		fields = append([]string{"0"}, fields...)
	}
	if len(fields) != 6 {
		return nil
	}
	var found []surprise
	for i, unit := range []struct {
		name, whole string
		size        int
	}{{"second", "minute", 60}, {"minute", "hour", 60}, {"hour", "day", 24}, {"day", "month", 0}} {
		step, ok := strings.CutPrefix(fields[i], "*/")
		n, err := strconv.Atoi(step)
		if !ok || err != nil || n < 2 || unit.size > 0 && unit.size%n == 0 {
			continue
		}
		found = append(found, surprise{true, fmt.Sprintf(
			"%s in the field of the %s starts anew with each %s, so that the last step is shorter than the others", fields[i], unit.name, unit.whole)})
	}
	return found
}

// surpriseOfClocks looks for the next time that the clocks skip and the next
// that they show twice.
func surpriseOfClocks(s schedule, now time.Time) []surprise {
	if s.hourly {
		return nil
	}
	var found []surprise
	var gap, fold bool
	_, change := now.In(s.zone).ZoneBounds()
	for !change.IsZero() && change.Before(now.AddDate(1, 1, 0)) {
		before, after := wallOf(change.Add(-1)).Add(1), wallOf(change)
		switch {
		case after.After(before) && !gap:
			if wall := s.spec.Next(before.Add(-1)); !wall.IsZero() && wall.Before(after) {
				gap = true
				found = append(found, surprise{text: fmt.Sprintf("the clocks skip %s; that day it runs at %s",
					wall.Format(time.DateTime), change.Format(time.TimeOnly))})
			}
		case before.After(after) && !fold:
			if wall := s.spec.Next(after.Add(-1)); !wall.IsZero() && wall.Before(before) {
				fold = true
				found = append(found, surprise{text: fmt.Sprintf("the clocks show %s twice; it runs the first time only",
					wall.Format(time.DateTime))})
			}
		}
		_, change = change.ZoneBounds()
	}
	return found
}
