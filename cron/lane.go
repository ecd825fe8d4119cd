package cron

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psyb0t/aicodebox/runner"
)

// lane is the life of one job in this box: it waits for the job's times, and
// holds the run in hand. It outlives changes of the file.
type lane struct {
	*scheduler
	name string

	settling atomic.Bool // the times that passed are being dealt with

	mu      sync.Mutex
	job     job        // as the file says
	current *execution // in this box

	stop    context.CancelFunc // ends the loop; nil without one
	stopped chan struct{}      // closed when it has ended
}

const (
	// atStart is how old a time may be when the box starts and still be on
	// time, so that a box that starts at that very second does not miss it.
	atStart = 2 * time.Second
	// onTime is how late a box that was up may be: a machine can stall.
	onTime = time.Minute
	// lookUp is how often the clock is looked at: it can be set, and a machine
	// can sleep.
	lookUp = 5 * time.Second
)

func (l *lane) logger() *slog.Logger { return l.log.With("job", l.name) }

// open starts to wait for j's times.
func (l *lane) open(ctx context.Context, j job) {
	ctx, l.stop = context.WithCancel(ctx)
	l.stopped = make(chan struct{})
	go func(stopped chan struct{}) {
		defer close(stopped)
		l.loop(ctx, j)
	}(l.stopped)
}

// close stops waiting for times. The run in hand goes on.
func (l *lane) close() {
	if l.stop == nil {
		return
	}
	l.stop()
	<-l.stopped
	l.stop = nil
}

// loop waits for times and deals with them until ctx ends.
func (l *lane) loop(ctx context.Context, j job) {
	seen := l.settle(j, atStart)
	for {
		if !l.sleep(ctx, seen, j.schedule.next(seen)) {
			return
		}
		now := l.now()
		b := j.backlog(seen, now, onTime)
		switch {
		case len(b.late) > 0 || b.lost > 0 || seen.Sub(now) > farOff:
			seen = l.settle(j, onTime)
		case !b.due.IsZero():
			l.tick(j, b.due)
			seen = b.due
		}
	}
}

// sleep waits until next, or until the clock is far behind what was seen. It
// returns false when ctx ends.
func (l *lane) sleep(ctx context.Context, seen, next time.Time) bool {
	for {
		now := l.now()
		if !next.IsZero() && !next.After(now) || seen.Sub(now) > farOff {
			return true
		}
		pause := lookUp
		if !next.IsZero() {
			pause = min(pause, next.Sub(now))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// settle deals with all times that have passed, and returns up to when.
func (l *lane) settle(j job, patience time.Duration) time.Time {
	l.settling.Store(true)
	defer l.wake()
	defer l.settling.Store(false)
	now := l.now()
	seen := now
	var due time.Time
	var found missed
	err := l.store.change(j.name, func(m *memory) error {
		m.clock(now)
		m.begin(j, now)
		b := j.backlog(time.Unix(m.Last, 0), now, patience)
		found = m.settle(j, b, now, l.store.instance)
		seen, due = time.Unix(m.Last, 0), b.due
		if found.count == 0 && found.run == 0 {
			return nil
		}
		return l.store.append(m, found.summary(j, now))
	})
	if err != nil {
		l.logger().Error("missed times cannot be recorded", "error", err)
		return now
	}
	if found.count > 0 || found.run > 0 {
		l.logger().Warn("times of a job have passed while nothing could run it", "missed", found.count,
			"caught_up", found.run, "policy", j.misfire, "first", found.first, "last", found.last)
	}
	if !due.IsZero() {
		l.tick(j, due)
		return due
	}
	return seen
}

// summary is the line about missed times.
func (f missed) summary(j job, now time.Time) summary {
	zone := j.schedule.zone
	return summary{
		Job: j.name, FiredAt: stamp(now, zone), FinishedAt: stamp(now, zone), Schedule: j.schedule.text,
		Trigger: bySchedule, Status: statusMissed, Missed: f.count, More: f.atLeast, CatchUp: f.run,
		First: stamp(f.first, zone), Last: stamp(f.last, zone), Misfire: j.misfire,
		Error: "no box was there to run it",
	}
}

// tick deals with a time that has come.
func (l *lane) tick(j job, due time.Time) {
	if !l.claim(due) {
		return
	}
	if e := l.inHand(); e != nil && e.record.trigger == bySchedule && e.giveUp(errNextTime) {
		<-e.done
	}
	_, err := l.begin(j, bySchedule, due)
	switch {
	case errors.Is(err, errHeld):
		l.skip(j, due)
	case err != nil:
		l.logger().Error("a job cannot be run", "due", due, "error", err)
	}
}

// claim makes due this box's own, or logs why it is not.
func (l *lane) claim(due time.Time) bool {
	var v verdict
	err := l.store.change(l.name, func(m *memory) error {
		v = m.claim(due, l.store.instance)
		return nil
	})
	switch {
	case err != nil:
		l.logger().Error("a job is not run, since it cannot be recorded that its time was dealt with", "due", due, "error", err)
		return false
	case v == lost:
		l.logger().Info("another box on this state directory has dealt with this time", "due", due)
	case v == finished:
		l.logger().Info("this time was dealt with before: the clock was set back", "due", due)
	}
	return v == won
}

// inHand returns the run in hand, or nil.
func (l *lane) inHand() *execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// begin starts a run. It returns errHeld if the job runs already, here or in
// another box, and errStopping once the box takes no more work.
func (l *lane) begin(j job, by trigger, due time.Time) (*execution, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	base, err := l.enter()
	if err != nil {
		return nil, err
	}
	r := &record{job: j, trigger: by, due: due, runID: runner.NewID(), fired: l.now(), status: statusRunning}
	free, err := l.prepare(r)
	if err != nil {
		l.work.Done()
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(base)
	e := &execution{lane: l, record: r, cancel: cancel, done: make(chan struct{})}
	l.current = e
	go func() {
		defer l.work.Done()
		defer cancel(nil)
		defer l.ended(e, free)
		e.run(ctx)
	}()
	return e, nil
}

// prepare takes the job's run lock and notes that r begins.
func (l *lane) prepare(r *record) (free func(), err error) {
	free, err = l.store.lockRun(l.name)
	if err != nil {
		return nil, err
	}
	err = l.store.recover(l.name, r.fired)
	if err == nil {
		err = l.store.begin(r)
	}
	if err != nil {
		free()
		return nil, err
	}
	return free, nil
}

// ended takes e out of the lane.
func (l *lane) ended(e *execution, free func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = nil
	free()
	close(e.done)
}

// skip notes that a time came while the job still ran.
func (l *lane) skip(j job, due time.Time) {
	l.logger().Warn("the job still runs: this time is skipped", "due", due)
	err := l.store.change(l.name, func(m *memory) error {
		if m.Running != nil {
			m.Running.Skipped++
			return nil
		}
		now := stamp(l.now(), j.schedule.zone)
		return l.store.append(m, summary{
			Job: j.name, FiredAt: now, FinishedAt: now, Schedule: j.schedule.text, Trigger: bySchedule,
			ScheduledFor: stamp(due, j.schedule.zone), Status: statusSkipped, Error: "the run before had not ended",
		})
	})
	if err != nil {
		l.logger().Error("a skipped time cannot be recorded", "due", due, "error", err)
	}
}
