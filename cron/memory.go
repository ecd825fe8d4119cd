package cron

import (
	"slices"
	"time"
)

// memory is what is remembered of a job over restarts. Times are seconds since
// 1970.
type memory struct {
	Plan     string   `json:"plan"`               // schedule and zone that the rest is about
	Last     int64    `json:"last"`               // newest time that is dealt with
	By       string   `json:"by,omitempty"`       // instance that dealt with it
	Recent   []int64  `json:"recent,omitempty"`   // newest times that ran
	Owed     []int64  `json:"owed,omitempty"`     // missed times that are still to run, oldest first
	Running  *running `json:"running,omitempty"`  // the run in hand
	Previous string   `json:"previous,omitempty"` // directory of the run before, under the store's
	Newest   *summary `json:"newest,omitempty"`   // the last line about a run, its texts left out
}

// running is a run in hand.
type running struct {
	RunID   string    `json:"run_id"`
	Trigger trigger   `json:"trigger"`
	Due     time.Time `json:"due,omitzero"`
	Began   time.Time `json:"began"`
	Dir     string    `json:"dir,omitempty"` // under the store's
	Plan    string    `json:"schedule"`
	Skipped int       `json:"skipped,omitempty"` // times that came while it ran
}

const (
	// mostRecent is how many times are remembered one by one, for clocks that
	// were far off.
	mostRecent = 64
	// farOff is how far the clock may be behind the newest time dealt with
	// before it is taken that the clock was wrong then.
	farOff = 24 * time.Hour
)

// verdict is what came of a claim.
type verdict int

const (
	won      verdict = iota // the time is the claimer's to run
	finished                // this box dealt with it: the clock was set back
	lost                    // another box dealt with it
)

// claim makes due a time that is dealt with.
func (m *memory) claim(due time.Time, instance string) verdict {
	at := due.Unix()
	behind := time.Duration(m.Last-at) * time.Second
	if slices.Contains(m.Recent, at) || behind >= 0 && behind <= farOff {
		if m.By == instance {
			return finished
		}
		return lost
	}
	m.Last, m.By = at, instance
	m.remember(at)
	return won
}

func (m *memory) remember(at int64) {
	m.Recent = append(m.Recent, at)
	if n := len(m.Recent) - mostRecent; n > 0 {
		m.Recent = slices.Delete(m.Recent, 0, n)
	}
}

// begin makes m about the plan of j, from now on, if it was about another. It
// tells whether it was.
func (m *memory) begin(j job, now time.Time) (anew bool) {
	if m.Plan == j.plan() {
		return false
	}
	m.Plan, m.Owed = j.plan(), nil
	m.Last = now.Unix()
	return true
}

// clock forgets a newest time that a clock far ahead left behind.
func (m *memory) clock(now time.Time) {
	if time.Duration(m.Last-now.Unix())*time.Second > farOff {
		m.Last = now.Unix()
	}
}

// missed is what was found of a job's times that passed while nothing could
// run.
type missed struct {
	count       int  // times that will not run
	atLeast     bool // there are more than count
	run         int  // times that will
	first, last time.Time
}

// settle deals with the times that b holds, other than the one that is on time.
func (m *memory) settle(j job, b backlog, now time.Time, instance string) missed {
	late := slices.DeleteFunc(b.late, func(at time.Time) bool { return slices.Contains(m.Recent, at.Unix()) })
	found := missed{count: b.lost, atLeast: b.many, first: b.first, last: b.last}
	switch {
	case j.misfire == misfireAll:
	case j.misfire == misfireOnce && len(late) > 0 && b.due.IsZero(): // else that one is the one
		found.count += len(late) - 1 + len(m.Owed)
		late, m.Owed = late[len(late)-1:], nil
	default:
		found.count += len(late)
		late = nil
	}
	for _, at := range late {
		m.Owed = append(m.Owed, at.Unix())
	}
	found.run = len(late)
	if !b.last.IsZero() {
		m.Last, m.By = b.last.Unix(), instance
	}
	m.dropOwed(j, now, &found)
	return found
}

// dropOwed drops what has become too late to run, or is no longer wanted.
func (m *memory) dropOwed(j job, now time.Time, found *missed) {
	m.Owed = slices.DeleteFunc(m.Owed, func(at int64) bool {
		if j.misfire != misfireSkip && j.inGrace(time.Unix(at, 0), now) {
			return false
		}
		found.count++
		if due := time.Unix(at, 0).In(j.schedule.zone); found.first.IsZero() || due.Before(found.first) {
			found.first = due
		}
		return true
	})
}

// takeOwed takes the oldest missed time that is to run.
func (m *memory) takeOwed() (due time.Time, ok bool) {
	if len(m.Owed) == 0 {
		return time.Time{}, false
	}
	at := m.Owed[0]
	m.Owed = slices.Delete(m.Owed, 0, 1)
	m.remember(at)
	return time.Unix(at, 0), true
}
