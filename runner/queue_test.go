package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(8, 64)
		leave, err := q.enter(t.Context(), "a", false, time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		order := make(chan int, 3)
		for i := range 3 {
			go func() {
				leave, err := q.enter(t.Context(), "a", false, time.Minute, func(place int) {
					if place != i+1 {
						t.Errorf("run %d is at %d", i, place)
					}
				})
				if err != nil {
					t.Error(err)
					return
				}
				order <- i
				leave()
			}()
			synctest.Wait()
		}
		leave()
		for i := range 3 {
			if got := <-order; got != i {
				t.Errorf("run %d came, want %d", got, i)
			}
		}
	})
}

func TestQueueRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 1)
		leave, err := q.enter(t.Context(), "a", false, time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.enter(t.Context(), "a", true, 0, nil); !errors.Is(err, ErrBusy) {
			t.Errorf("without patience: %v", err)
		}
		if _, err := q.enter(t.Context(), "a", false, time.Second, nil); !errors.Is(err, ErrBusy) {
			t.Errorf("the turn never came: %v", err)
		}
		if _, err := q.enter(t.Context(), "b", true, time.Second, nil); !errors.Is(err, ErrQueueFull) {
			t.Errorf("the slot never came: %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("left")
		go func() {
			time.Sleep(time.Second)
			cancel(left)
		}()
		if _, err := q.enter(ctx, "a", false, time.Minute, nil); !errors.Is(err, left) {
			t.Errorf("cancelled: %v", err)
		}
		go func() { // fills the queue
			leave, err := q.enter(t.Context(), "a", false, time.Hour, nil)
			if err == nil {
				leave()
			}
		}()
		synctest.Wait()
		if _, err := q.enter(t.Context(), "a", false, time.Minute, nil); !errors.Is(err, ErrQueueFull) {
			t.Errorf("a full queue: %v", err)
		}
		leave()
		synctest.Wait()
		if len(q.turns) != 0 || q.slots != 1 || q.waiting != 0 {
			t.Errorf("something is still held: %+v", q)
		}
	})
}
