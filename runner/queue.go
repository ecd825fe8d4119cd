package runner

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// queue hands out turns and slots. A run holds the turn of its directory, so
// that one directory has one run at a time, and then one of the box's slots,
// so that the machine has a bounded number. Both are given in the order asked.
type queue struct {
	mu      sync.Mutex
	slots   int                  // free
	line    []*waiter            // runs with a turn, waiting for a slot
	turns   map[string][]*waiter // directory -> who waits; the key is there while the turn is held
	waiting int
	max     int // runs that may wait
}

// waiter is a run that waits for a turn or a slot. ready is closed when it has it.
type waiter struct{ ready chan struct{} }

func newQueue(slots, maxWaiting int) *queue {
	return &queue{slots: slots, max: maxWaiting, turns: make(map[string][]*waiter)}
}

// enter takes the turn of dir and a slot. patience bounds the wait for both; a
// negative one is none. Without patience for a turn (now), a busy directory is
// ErrBusy at once. queued is called, with the place in the queue, if it waits.
func (q *queue) enter(ctx context.Context, dir string, now bool, patience time.Duration, queued func(int)) (leave func(), err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	w, place, err := q.askTurn(dir, now)
	if err != nil {
		return nil, err
	}
	if err := q.await(ctx, w, place, timer.C, queued); err != nil {
		q.leaveTurnLine(dir, w)
		if errors.Is(err, errOutOfPatience) {
			err = ErrBusy
		}
		return nil, err
	}
	w, place, err = q.askSlot()
	if err != nil {
		q.endTurn(dir)
		return nil, err
	}
	if err := q.await(ctx, w, place, timer.C, queued); err != nil {
		q.leaveSlotLine(w)
		q.endTurn(dir)
		if errors.Is(err, errOutOfPatience) {
			err = ErrQueueFull
		}
		return nil, err
	}
	return sync.OnceFunc(func() { q.endSlot(); q.endTurn(dir) }), nil
}

// await waits until w is ready. A nil w is ready.
func (q *queue) await(ctx context.Context, w *waiter, place int, patience <-chan time.Time, queued func(int)) error {
	if w == nil {
		return nil
	}
	if queued != nil {
		queued(place)
	}
	var err error
	select {
	case <-w.ready:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-patience:
		err = errOutOfPatience
	}
	q.mu.Lock()
	q.waiting--
	q.mu.Unlock()
	return err
}

// askTurn takes dir's turn (nil waiter) or joins its line.
func (q *queue) askTurn(dir string, now bool) (*waiter, int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line, busy := q.turns[dir]
	if !busy {
		q.turns[dir] = nil
		return nil, 0, nil
	}
	if now {
		return nil, 0, ErrBusy
	}
	w, err := q.newWaiter()
	if err != nil {
		return nil, 0, err
	}
	q.turns[dir] = append(line, w)
	return w, len(line) + 1, nil
}

// askSlot takes a slot (nil waiter) or joins the line.
func (q *queue) askSlot() (*waiter, int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.slots > 0 {
		q.slots--
		return nil, 0, nil
	}
	w, err := q.newWaiter()
	if err != nil {
		return nil, 0, err
	}
	q.line = append(q.line, w)
	return w, len(q.line), nil
}

// newWaiter counts one more waiting run. Callers hold q.mu.
func (q *queue) newWaiter() (*waiter, error) {
	if q.waiting >= q.max {
		return nil, ErrQueueFull
	}
	q.waiting++
	return &waiter{ready: make(chan struct{})}, nil
}

// endTurn hands dir's turn to the next in line.
func (q *queue) endTurn(dir string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.turns[dir]
	if len(line) == 0 {
		delete(q.turns, dir)
		return
	}
	q.turns[dir] = line[1:]
	close(line[0].ready)
}

// endSlot hands the slot to the next in line.
func (q *queue) endSlot() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.line) == 0 {
		q.slots++
		return
	}
	w := q.line[0]
	q.line = q.line[1:]
	close(w.ready)
}

// leaveTurnLine takes w out of dir's line, or gives the turn back if it came
// at the last moment.
func (q *queue) leaveTurnLine(dir string, w *waiter) {
	q.mu.Lock()
	i := slices.Index(q.turns[dir], w)
	if i >= 0 {
		q.turns[dir] = slices.Delete(q.turns[dir], i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		q.endTurn(dir)
	}
}

// leaveSlotLine is leaveTurnLine for slots.
func (q *queue) leaveSlotLine(w *waiter) {
	q.mu.Lock()
	i := slices.Index(q.line, w)
	if i >= 0 {
		q.line = slices.Delete(q.line, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		q.endSlot()
	}
}
