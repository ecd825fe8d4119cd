package cron

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/psyb0t/aicodebox"
)

// scheduler runs the jobs of one box.
type scheduler struct {
	box    *aicodebox.Box
	log    *slog.Logger
	store  *store
	now    func() time.Time // the clock on the wall
	ask    answerer
	notify func(ctx context.Context, n aicodebox.Notice) error
	owed   chan struct{} // has one when missed times may be there to run

	mu      sync.Mutex
	config  *config
	lanes   map[string]*lane
	base    context.Context // of runs; nil while nothing can run
	closing bool
	work    sync.WaitGroup // runs and notices in hand
}

func newScheduler(box *aicodebox.Box, s *store, c *config) *scheduler {
	return &scheduler{
		box: box, log: box.Log(), store: s, now: wallTime, ask: engine(box), notify: box.Notify,
		owed: make(chan struct{}, 1), config: c, lanes: make(map[string]*lane),
	}
}

// wallTime is the time without the reading that does not follow when the clock
// is set.
func wallTime() time.Time { return time.Now().Round(0) }

// open makes the scheduler able to run jobs, with ctx's values.
func (s *scheduler) open(ctx context.Context) error {
	if err := s.store.open(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base = context.WithoutCancel(ctx)
	return nil
}

// serve runs the jobs until ctx ends and nothing is in hand. What comes on
// reloaded replaces the jobs.
func (s *scheduler) serve(ctx context.Context, reloaded <-chan *config) {
	s.recover()
	s.apply(ctx, s.configuration())
	var catchingUp sync.WaitGroup
	catchingUp.Go(func() { s.catchUp(ctx) })
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case c := <-reloaded:
			s.apply(ctx, c)
		}
	}
	s.close()
	catchingUp.Wait()
	s.work.Wait()
}

// recover ends the records of runs whose box died, also of jobs that are no
// longer in the file.
func (s *scheduler) recover() {
	for _, name := range s.store.known() {
		free, err := s.store.lockRun(name)
		if err == nil {
			err = s.store.recover(name, s.now())
			free()
		}
		if err != nil && !errors.Is(err, errHeld) {
			s.log.Error("the records of a run that was cut short cannot be ended", "job", name, "error", err)
		}
	}
}

func (s *scheduler) configuration() *config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// lane returns the lane of a job, made if need be.
func (s *scheduler) lane(j job) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[j.name]
	if l == nil {
		l = &lane{scheduler: s, name: j.name, job: j}
		s.lanes[j.name] = l
	}
	return l
}

// apply makes the jobs be those of c. Jobs that stay as they are notice
// nothing; runs in hand go on. Only serve's goroutine calls it.
func (s *scheduler) apply(ctx context.Context, c *config) {
	s.mu.Lock()
	s.config = c
	var gone []*lane
	for name, l := range s.lanes {
		if _, there := c.find(name); !there {
			gone = append(gone, l)
		}
	}
	s.mu.Unlock()
	for _, l := range gone {
		l.retire()
	}
	for _, j := range c.jobs {
		s.lane(j).apply(ctx, j)
	}
	s.wake()
}

// apply makes j the lane's job.
func (l *lane) apply(ctx context.Context, j job) {
	l.mu.Lock()
	same := l.stop != nil && l.job.same(j)
	l.job = j
	l.mu.Unlock()
	switch {
	case !j.enabled:
		l.retire()
	case !same:
		l.close()
		l.open(ctx, j)
		l.logger().Info("job scheduled", "schedule", j.schedule.text, "zone", j.schedule.zone, "next", j.schedule.next(l.now()))
	}
}

// retire ends the lane's waiting. Times that pass from now on are not missed.
func (l *lane) retire() {
	l.close()
	err := l.store.change(l.name, func(m *memory) error {
		m.Plan, m.Owed = "", nil
		return nil
	})
	if err != nil {
		l.logger().Error("the state of a job cannot be changed", "error", err)
	}
}

// same tells whether two jobs differ in nothing that matters.
func (j job) same(other job) bool {
	plan := j.plan() == other.plan()
	j.schedule, other.schedule = schedule{}, schedule{}
	j.line, other.line = 0, 0
	return plan && j == other
}

// close takes no more times, and gives up on runs that wait.
func (s *scheduler) close() {
	s.mu.Lock()
	s.closing = true
	var lanes []*lane
	for _, l := range s.lanes {
		lanes = append(lanes, l)
	}
	s.mu.Unlock()
	for _, l := range lanes {
		l.close()
		if e := l.inHand(); e != nil {
			e.giveUp(errStopping)
		}
	}
}

// enter counts one more run in hand, and returns the context of runs. It
// returns errStopping while nothing can run.
func (s *scheduler) enter() (context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.base == nil {
		return nil, errStopping
	}
	s.work.Add(1)
	return s.base, nil
}

// wake makes catchUp look for missed times.
func (s *scheduler) wake() {
	select {
	case s.owed <- struct{}{}:
	default:
	}
}

const (
	// betweenStarts spreads the runs that catch up.
	betweenStarts = time.Second
	// patience is how long a run that catches up may hold up those of other
	// jobs.
	patience = 5 * time.Minute
)

// catchUp runs missed times, one after another over all jobs, oldest first.
func (s *scheduler) catchUp(ctx context.Context) {
	for {
		e, more := s.nextOwed()
		switch {
		case e != nil:
			if !pause(ctx, betweenStarts, nil) || !pause(ctx, patience, e.done) {
				return
			}
		case more: // of jobs that run
			if !pause(ctx, betweenStarts, nil) {
				return
			}
		default:
			if !pause(ctx, time.Minute, s.owed) {
				return
			}
		}
	}
}

// pause waits for d, or until ready. It returns false when ctx ends.
func pause(ctx context.Context, d time.Duration, ready <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-ready:
	}
	return true
}

// nextOwed starts the oldest missed time of a job that does not run. more tells
// that there are times of jobs that do.
func (s *scheduler) nextOwed() (e *execution, more bool) {
	type debt struct {
		job job
		at  int64
	}
	var debts []debt
	for _, j := range s.configuration().jobs {
		if !j.enabled || j.misfire == misfireSkip {
			continue
		}
		if m, err := s.store.read(j.name); err == nil && len(m.Owed) > 0 {
			debts = append(debts, debt{j, m.Owed[0]})
		}
	}
	slices.SortStableFunc(debts, func(a, b debt) int { return int(a.at - b.at) })
	for _, d := range debts {
		l := s.lane(d.job)
		if l.settling.Load() {
			continue // a time that is on time goes first
		}
		e, err := l.begin(d.job, byCatchUp, time.Time{})
		if err == nil {
			return e, true
		}
		if !errors.Is(err, errHeld) && !errors.Is(err, errNothingOwed) {
			s.log.Error("a missed time of a job cannot be run", "job", d.job.name, "error", err)
		}
	}
	return nil, len(debts) > 0
}
