package runner

import (
	"context"
	"time"
)

// The bounds on the output that is kept of one process.
const (
	stdoutLimit = 64 << 20
	stderrLimit = 4 << 20
)

// watch attends one process: it takes its output, looks at its tree now and
// then, and ends it when a limit is reached. All of it happens on the goroutine
// of the run's caller; only waiting for the processes to be gone does not.
type watch struct {
	*process
	ctx    context.Context
	exited <-chan struct{} // nil once seen

	limit  <-chan time.Time // the time limit
	linger <-chan time.Time // the grace after a complete answer
	drain  <-chan time.Time // the bound on output after the end
	idle   *time.Ticker     // looks whether any comes
	looks  *time.Ticker
	timers []*time.Timer

	ending bool          // the tree is being ended
	gone   chan struct{} // closed when all that has to end has ended; nil before
	ended  bool          // gone was seen
	dry    bool          // no more output is waited for
	empty  int           // looks in a row that found nothing to read
	late   int           // bytes that came after the end
	spent  bool          // the bound on output after the end is reached
}

func (w *watch) begin() {
	w.looks = time.NewTicker(lookGap)
	if w.command.limit > 0 {
		w.limit = w.timer(w.command.limit)
	}
}

func (w *watch) timer(d time.Duration) <-chan time.Time {
	t := time.NewTimer(d)
	w.timers = append(w.timers, t)
	return t.C
}

func (w *watch) stop() {
	w.looks.Stop()
	if w.idle != nil {
		w.idle.Stop()
	}
	for _, t := range w.timers {
		t.Stop()
	}
}

// over tells whether the process has ended, all that has to end with it too,
// and its output was taken.
func (w *watch) over() bool {
	return w.ended && (w.open == 0 || w.dry)
}

// step waits for one thing to happen and deals with it.
func (w *watch) step() {
	var idle <-chan time.Time
	if w.idle != nil {
		idle = w.idle.C
	}
	done := w.ctx.Done()
	if w.ending || w.exited == nil {
		done = nil // what ends already is not ended again
	}
	select {
	case c := <-w.output:
		w.took(c)
	case <-w.exited:
		w.exit()
	case <-w.gone:
		w.gone, w.ended = nil, true
	case <-done:
		w.result.cancelled = true
		w.end()
	case <-w.limit:
		w.limit = nil
		w.expire()
	case <-w.linger:
		w.linger = nil
		w.outstay()
	case <-w.drain:
		w.spent = true
		w.judgeDry()
	case <-idle:
		w.judgeDry()
	case <-w.looks.C:
		w.look()
	}
}

func (w *watch) took(c chunk) {
	w.take(c)
	if w.exited == nil {
		w.empty = 0
		w.late += c.n
	}
	if w.complete && w.linger == nil && w.exited != nil && !w.ending {
		w.linger = w.timer(doneGrace)
	}
}

// exit deals with the agent's end: the output is drained within bounds, and
// what it left behind is ended as far as it has to be.
func (w *watch) exit() {
	w.exited = nil
	w.drain = w.timer(drainLimit)
	w.idle = time.NewTicker(drainIdle)
	if w.ending {
		return
	}
	w.limit = nil
	if !w.tree.orphans() {
		w.ended = true
		return
	}
	w.gone = make(chan struct{})
	go func(gone chan struct{}) {
		defer close(gone)
		w.result.leftovers, w.result.background = w.tree.settle(!w.keep)
	}(w.gone)
}

// judgeDry decides whether output that is still held open was waited for long
// enough. What the agent itself wrote is taken in any case: the pipe was seen
// empty after its end, or more was read than a pipe can hold.
func (w *watch) judgeDry() {
	if w.quiet() {
		w.empty++
	}
	w.dry = w.empty >= drainLooks || w.spent && (w.empty > 0 || w.late > pipeMost)
}

// end begins to end the tree.
func (w *watch) end() {
	w.ending = true
	w.limit, w.linger = nil, nil
	w.gone = make(chan struct{})
	go func(gone chan struct{}) {
		defer close(gone)
		w.tree.end(w.process.exited)
	}(w.gone)
}

// expire ends a process that reached its time limit.
func (w *watch) expire() {
	if !w.ending {
		w.result.timedOut = true
		w.end()
	}
}

// outstay ends a process that does not end after its answer.
func (w *watch) outstay() {
	if !w.ending && w.exited != nil {
		w.result.lingered = true
		w.end()
	}
}

// look notes the tree's processes while their parents live.
func (w *watch) look() {
	if w.exited == nil {
		return
	}
	found := w.tree.look()
	if w.seen != nil {
		w.seen(named(found))
	}
}
