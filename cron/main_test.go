package cron

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

func TestMain(m *testing.M) {
	if os.Getenv(boxRole) != "" {
		serveBox()
	}
	fakeagent.Main()
	os.Exit(m.Run())
}

// bench is a scheduler on a directory of the test.
type bench struct {
	*scheduler
	t    testing.TB
	stop context.CancelFunc
	over chan struct{} // closed when serve has returned
	load chan *config
}

// newBench returns a scheduler with the jobs of a file, in dir.
func newBench(t testing.TB, dir, file string) *bench {
	t.Helper()
	box := boxtest.New(t, boxtest.Env{})
	c, err := parseConfig([]byte(file), offer{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	st := &store{dir: dir, instance: box.Instance(), log: box.Log()}
	b := &bench{scheduler: newScheduler(box, st, c), t: t, load: make(chan *config), over: make(chan struct{})}
	b.stop = func() {}
	return b
}

// serve runs the scheduler until the test ends or stop is called.
func (b *bench) start() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if err := b.open(ctx); err != nil {
		b.t.Fatal(err)
	}
	go func() {
		defer close(b.over)
		b.serve(ctx, b.load)
	}()
	b.stop = sync.OnceFunc(func() { cancel(); <-b.over })
	b.t.Cleanup(b.stop)
}

// reload replaces the jobs.
func (b *bench) reload(file string) {
	b.t.Helper()
	c, err := parseConfig([]byte(file), offer{}, b.now())
	if err != nil {
		b.t.Fatal(err)
	}
	b.load <- c
	synctest.Wait()
}

// lines returns the lines of a job's summary file.
func lines(t testing.TB, dir, name string) []summary {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name+".jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var list []summary
	for line := range strings.Lines(string(data)) {
		var s summary
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		list = append(list, s)
	}
	return list
}

// only returns the lines with a status.
func only(list []summary, status string) (found []summary) {
	for _, s := range list {
		if s.Status == status {
			found = append(found, s)
		}
	}
	return found
}

// agents stands in for the run engine where time is not real: it notes when it
// was asked, takes its time, and answers.
type agents struct {
	took func(q question) time.Duration

	mu     sync.Mutex
	asked  []time.Time
	byName map[string][]time.Time // prompt -> times
	most   int                    // at the same time
	inHand int
}

func (a *agents) answer(ctx context.Context, q question) (runner.Result, error) {
	a.mu.Lock()
	a.asked = append(a.asked, time.Now())
	if a.byName == nil {
		a.byName = make(map[string][]time.Time)
	}
	a.byName[q.request.Prompt] = append(a.byName[q.request.Prompt], time.Now())
	a.inHand++
	a.most = max(a.most, a.inHand)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.inHand--
		a.mu.Unlock()
	}()
	q.started()
	var took time.Duration
	if a.took != nil {
		took = a.took(q)
	}
	select {
	case <-ctx.Done():
		return runner.Result{}, &runner.CancelledError{Reason: "stopped"}
	case <-time.After(took):
	}
	return runner.Result{ID: q.id, Status: ledger.Completed, Text: "answer to " + q.request.Prompt}, nil
}

// seconds returns when the agent was asked, in seconds after the given time.
func (a *agents) seconds(since time.Time) []float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []float64
	for _, at := range a.asked {
		list = append(list, at.Sub(since).Seconds())
	}
	return list
}

func (a *agents) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

func (a *agents) together() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most
}

// times returns when the agent was asked what.
func (a *agents) times() map[string][]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.byName)
}

// readMeta reads the meta.json of a run.
func readMeta(t testing.TB, dir string) meta {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m meta
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// eventually waits for what cannot be awaited: a change in the file system by
// another process or goroutine.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: did not happen", what)
		}
	}
}
