package cron

import "time"

// backlog is the times of a job that have passed without being dealt with.
type backlog struct {
	due         time.Time   // the newest, if it can still count as on time
	late        []time.Time // others within the grace, oldest first
	lost        int         // still others
	many        bool        // there are more than lost
	first, last time.Time   // of late and lost; zero if there are none
}

const (
	// mostCounted bounds the work over times that passed.
	mostCounted = 50_000
	// mostLate is how many missed times of one job are run at most.
	mostLate = 5_000
)

// inGrace tells whether a missed time may still run. Parts of seconds do not
// count, so that a time that is exactly as old as the grace may.
func (j job) inGrace(due, now time.Time) bool {
	return now.Truncate(time.Second).Sub(due) <= j.grace
}

// backlog looks at the times after the given one up to now. The newest is on
// time if it is not older than patience.
func (j job) backlog(after, now time.Time, patience time.Duration) backlog {
	times, count, many := j.passed(after, now)
	b := backlog{many: many}
	if n := len(times); n > 0 && now.Sub(times[n-1]) <= patience {
		b.due, times = times[n-1], times[:n-1]
		count--
	}
	for _, at := range times {
		if j.inGrace(at, now) {
			b.late = append(b.late, at)
		}
	}
	b.lost = count - len(b.late)
	if n := len(times); n > 0 {
		b.first, b.last = j.schedule.next(after), times[n-1]
	}
	return b
}

// passed returns the newest times after the given one up to now, oldest first,
// and how many there are. It counts no further than makes sense; then there are
// many.
func (j job) passed(after, now time.Time) (times []time.Time, count int, many bool) {
	leaps := []time.Duration{j.grace, time.Hour, time.Minute}
	steps := 0
	for at := j.schedule.next(after); !at.IsZero() && !at.After(now); at = j.schedule.next(at) {
		times = append(times, at)
		if len(times) > 2*mostLate {
			times = append(times[:0], times[len(times)-mostLate:]...)
		}
		count++
		for steps++; steps > mostCounted && len(leaps) > 0; leaps = leaps[1:] {
			if to := now.Add(-leaps[0] - time.Second); to.After(at) {
				at, steps, many, times = to, 0, true, nil
			}
		}
	}
	return times[max(0, len(times)-mostLate):], count, many
}
