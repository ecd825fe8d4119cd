package cron

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func every(seconds int, more string) string {
	return fmt.Sprintf("jobs:\n  - {name: a, schedule: '*/%d * * * * *', instruction: do%s}\n", seconds, more)
}

func TestTicks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		b, a := newBench(t, dir, every(20, "")), &agents{}
		b.ask = a.answer
		time.Sleep(5 * time.Second)
		b.start()
		time.Sleep(75*time.Second + time.Millisecond)
		synctest.Wait()
		if diff := cmp.Diff([]float64{20, 40, 60, 80}, a.seconds(begin)); diff != "" {
			t.Error(diff)
		}
		got := lines(t, dir, "a")
		if len(got) != 4 || got[3].FiredAt != "2000-01-01T00:01:20Z" || got[3].Status != statusCompleted ||
			got[3].ScheduledFor != got[3].FiredAt || *got[3].ExitCode != 0 || *got[3].Text != "answer to do" {
			t.Errorf("got %+v", got)
		}
	})
}

// TestOverlap has a job that takes longer than the time to its next.
func TestOverlap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		b := newBench(t, dir, every(1, ""))
		a := &agents{took: func(question) time.Duration { return 2500 * time.Millisecond }}
		b.ask = a.answer
		b.start()
		time.Sleep(8*time.Second + time.Millisecond)
		synctest.Wait()
		if diff := cmp.Diff([]float64{1, 4, 7}, a.seconds(begin)); diff != "" {
			t.Error(diff)
		}
		got := lines(t, dir, "a")
		if len(got) != 2 || got[0].SkippedTicks != 2 || readMeta(t, got[0].HistoryDir).SkippedTicks != 2 {
			t.Errorf("got %+v", got)
		}
	})
}

// TestCase_C02 has a job every five minutes and an hour without a box.
func TestCase_C02(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy      string
		runs        int
		notRun      int
		grace       string
		longerBreak time.Duration
	}{
		{"skip", 0, 12, "1h", 0},
		{"once", 1, 11, "1h", 0},
		{"all", 12, 0, "1h", 0},
		{"all", 3, 9, "15m", 0},
		{"once", 0, 12, "1m", 0},
		// Back at 02:05: that is on time, and 01:05 is an hour old to the second.
		{"all", 13, 12, "1h", time.Hour + 2*time.Minute + 400*time.Millisecond},
	} {
		t.Run(test.policy+" within "+test.grace, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				file := "jobs:\n  - {name: a, schedule: '0 */5 * * * *', instruction: do, misfire: " + test.policy + ", misfire_grace: " + test.grace + "}\n"
				before := newBench(t, dir, file)
				before.ask = (&agents{}).answer
				before.start()
				pauseFor := 3 * time.Minute
				time.Sleep(pauseFor)
				before.stop()
				time.Sleep(time.Hour + test.longerBreak)
				restart := time.Now()
				after, a := newBench(t, dir, file), &agents{}
				after.ask = a.answer
				after.start()
				time.Sleep(100 * time.Second)
				synctest.Wait()
				starts := a.seconds(restart)
				if len(starts) != test.runs {
					t.Fatalf("it ran %d times, want %d", len(starts), test.runs)
				}
				for i := range starts {
					if i > 0 && starts[i]-starts[i-1] < 1 {
						t.Errorf("starts are not spread: %v", starts)
					}
				}
				list := lines(t, dir, "a")
				caughtUp := 0
				for _, run := range only(list, statusCompleted) {
					if run.Trigger == byCatchUp && run.ScheduledFor != "" {
						caughtUp++
					}
				}
				missed := only(list, statusMissed)
				if len(missed) != 1 || missed[0].Missed != test.notRun || missed[0].CatchUp != caughtUp {
					t.Errorf("%d caught up, and got %+v", caughtUp, missed)
				}
			})
		})
	}
}

// TestCase_C02_Many has twenty jobs that were all due while no box was there.
func TestCase_C02_Many(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var file strings.Builder
		file.WriteString("misfire: once\njobs:\n")
		for i := range 20 {
			fmt.Fprintf(&file, "  - {name: j%d, schedule: '0 30 0 * * *', instruction: do}\n", i)
		}
		before := newBench(t, dir, file.String())
		before.start()
		time.Sleep(time.Minute)
		before.stop()
		time.Sleep(time.Hour)
		restart := time.Now()
		after := newBench(t, dir, file.String())
		a := &agents{took: func(question) time.Duration { return time.Minute }}
		after.ask = a.answer
		after.start()
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		starts := a.seconds(restart)
		if len(starts) != 20 || a.together() != 1 {
			t.Errorf("%d ran, at most %d at once: %v", len(starts), a.together(), starts)
		}
	})
}

// TestOwedOverRestart stops a box in the middle of catching up.
func TestOwedOverRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		file := "jobs:\n  - {name: a, schedule: '0 */5 * * * *', instruction: do, misfire: all, misfire_grace: 3h}\n"
		run := func(down, up time.Duration) int {
			b := newBench(t, dir, file)
			a := &agents{took: func(question) time.Duration { return 2 * time.Second }}
			b.ask = a.answer
			b.start()
			time.Sleep(up)
			b.stop()
			time.Sleep(down)
			return a.count()
		}
		run(time.Hour, time.Minute)
		first, second := run(time.Second, 7*time.Second), run(time.Second, 100*time.Second)
		if first == 0 || first > 4 || first+second != 12 {
			t.Errorf("ran %d and then %d, want 12 in all", first, second)
		}
	})
}

// TestCase_C05 has two boxes on one directory, and a clock that is set back.
func TestCase_C05(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(500 * time.Millisecond)
		one, two, a := newBench(t, dir, every(1, "")), newBench(t, dir, every(1, "")), &agents{}
		one.ask, two.ask = a.answer, a.answer
		one.start()
		two.start()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		slots := map[string]int{}
		for _, run := range lines(t, dir, "a") {
			slots[run.ScheduledFor]++
		}
		if a.count() != 5 || len(slots) != 5 {
			t.Errorf("%d runs of %v", a.count(), slots)
		}
		two.stop()
		one.stop()

		back := newBench(t, dir, every(1, ""))
		back.ask = a.answer
		back.now = func() time.Time { return time.Now().Add(-2 * time.Minute).Round(0) }
		back.start()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if a.count() != 5 {
			t.Errorf("times were run again: %d runs", a.count())
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if a.count() != 8 {
			t.Errorf("it did not go on: %d runs", a.count())
		}
	})
}

// TestClockFarAhead has a clock that was years ahead for a while.
func TestClockFarAhead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b, a := newBench(t, dir, every(10, "")), &agents{}
		ahead := 3 * 365 * 24 * time.Hour
		b.now = func() time.Time { return time.Now().Add(ahead).Round(0) }
		b.ask = a.answer
		b.start()
		time.Sleep(20 * time.Second)
		b.stop()
		n := a.count()
		b = newBench(t, dir, every(10, ""))
		b.ask = a.answer
		b.start()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if a.count() <= n {
			t.Error("the job waits until the clock is there again")
		}
	})
}

// TestStall has a machine that sleeps while the box is up.
func TestStall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		asleep time.Duration
		runs   int
	}{{20 * time.Second, 1}, {10 * time.Minute, 0}} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			var gone atomic.Int64
			b, a := newBench(t, dir, "jobs: [{name: a, schedule: '0 30 0 * * *', instruction: do}]"), &agents{}
			b.now = func() time.Time { return time.Now().Add(time.Duration(gone.Load())).Round(0) }
			b.ask = a.answer
			b.start()
			time.Sleep(29*time.Minute + 58*time.Second)
			synctest.Wait()
			gone.Store(int64(test.asleep))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if a.count() != test.runs || len(only(lines(t, dir, "a"), statusMissed)) != 1-test.runs {
				t.Errorf("asleep for %v: %d runs, %+v", test.asleep, a.count(), lines(t, dir, "a"))
			}
		})
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		b := newBench(t, dir, "jobs:\n- {name: long, schedule: '10 0 0 * * *', instruction: long}\n- {name: a, schedule: '*/10 * * * * *', instruction: old}")
		a := &agents{took: func(q question) time.Duration {
			if q.request.Prompt == "long" {
				return time.Minute
			}
			return 0
		}}
		b.ask = a.answer
		time.Sleep(time.Second)
		b.start()
		time.Sleep(10 * time.Second) // 11
		b.reload("jobs:\n- {name: a, schedule: '*/10 * * * * *', instruction: new}\n- {name: c, schedule: '*/7 * * * * *', instruction: c}")
		time.Sleep(20 * time.Second) // 31
		b.reload("jobs:\n- {name: a, schedule: '*/10 * * * * *', instruction: new, enabled: false}\n- {name: long, schedule: '40 0 0 * * *', instruction: long}")
		time.Sleep(30 * time.Second) // 61: long still runs when its new time comes
		b.reload("jobs:\n- {name: a, schedule: '*/10 * * * * *', instruction: new, misfire: all}")
		time.Sleep(10 * time.Second) // 71
		synctest.Wait()
		want := map[string][]float64{"old": {10}, "long": {10}, "new": {20, 30, 70}, "c": {14, 21, 28}}
		got := map[string][]float64{}
		for prompt, times := range a.times() {
			for _, at := range times {
				got[prompt] = append(got[prompt], at.Sub(begin).Seconds())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if got := lines(t, dir, "long"); len(got) != 1 || got[0].Status != statusCompleted || got[0].SkippedTicks != 1 {
			t.Errorf("the run in hand was cut: %+v", got)
		}
	})
}

// TestStop ends a box while a job runs and another waits.
func TestStop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dir, every(10, ""))
		a := &agents{took: func(question) time.Duration { return 15 * time.Second }}
		b.ask = a.answer
		time.Sleep(time.Second)
		b.start()
		time.Sleep(10 * time.Second)
		b.stop() // waits for the run in hand
		got := lines(t, dir, "a")
		if len(got) != 1 || got[0].Status != statusCompleted || got[0].FinishedAt != "2000-01-01T00:00:25Z" {
			t.Errorf("got %+v", got)
		}
		if _, err := b.lane(b.config.jobs[0]).begin(b.config.jobs[0], byHand, time.Time{}); err == nil {
			t.Error("it takes work after the stop")
		}
	})
}
