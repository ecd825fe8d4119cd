package cron

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// question is what is asked of the run engine.
type question struct {
	request aicodebox.Request
	id      string
	wait    time.Duration // for the workspace; negative leaves it to the box
	started func()        // the agent is about to start
}

// answerer answers questions: the runner, for a box that serves.
type answerer func(ctx context.Context, q question) (runner.Result, error)

// engine returns the answerer that runs the agent of box.
func engine(box *aicodebox.Box) answerer {
	return func(ctx context.Context, q question) (runner.Result, error) {
		opts := []runner.Option{
			runner.Surface("cron"), runner.ID(q.id), runner.OnStart(func(string) { q.started() }),
		}
		if q.wait >= 0 {
			opts = append(opts, runner.Wait(max(q.wait, time.Millisecond)))
		}
		return runner.Run(ctx, box, q.request, opts...)
	}
}

// The reasons for giving up on a run that waits.
var (
	errNextTime = errors.New("its workspace was busy until the next time came")
	errStopping = errors.New("the box is shutting down")
)

// execution is one run of a job, from the moment it asks for its workspace to
// the end of its records.
type execution struct {
	lane   *lane
	record *record
	cancel context.CancelCauseFunc
	done   chan struct{}

	mu      sync.Mutex
	started bool
	gaveUp  error
}

// giveUp ends the wait of an execution whose agent has not started. It tells
// whether that was so.
func (e *execution) giveUp(reason error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started {
		return false
	}
	e.gaveUp = reason
	e.cancel(reason)
	return true
}

// start notes that the agent starts, unless the execution was given up.
func (e *execution) start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gaveUp != nil {
		return
	}
	e.started = true
	r := e.record
	r.fired, r.status = e.lane.now(), statusRunning
	if err := e.lane.store.start(r); err != nil {
		e.lane.logger().Error("the records of a run cannot be begun", "run", r.runID, "error", err)
	}
}

// run asks the agent and keeps the records.
func (e *execution) run(ctx context.Context) {
	r, l := e.record, e.lane
	log := l.logger().With("run", r.runID)
	release, err := l.box.Hold()
	if err == nil {
		defer release()
		var res runner.Result
		res, err = l.ask(ctx, e.question())
		e.judge(res, err)
	} else {
		e.judge(runner.Result{}, err)
	}
	r.finished = l.now()
	if err := l.store.finish(r); err != nil {
		log.Error("the records of a run are not complete", "error", err)
	}
	log.Info("job ended", "status", r.status, "exit", r.exitCode, "trigger", r.trigger, "error", r.failure,
		"took", r.finished.Sub(r.fired).Round(time.Millisecond))
	l.tell(r)
}

// question fills in the job's request.
func (e *execution) question() question {
	r, now := e.record, e.lane.now()
	j := r.job
	shown := j.workspace
	if dir, err := workspaceDir(e.lane.box, j.workspace); err == nil {
		r.workspace, shown = dir, dir
	}
	r.instruction = j.fill(j.instruction, shown, now)
	r.system = j.fill(j.system, shown, now)
	r.appendSystem = withHint(j.fill(j.appendSystem, shown, now), r.previous)
	wait := time.Duration(-1)
	if r.trigger == bySchedule {
		if next := j.schedule.next(now); !next.IsZero() {
			wait = next.Sub(now)
		}
	}
	return question{
		id: r.runID, wait: wait, started: e.start,
		request: aicodebox.Request{
			Prompt: r.instruction, Workspace: j.workspace, Model: j.model, Effort: j.effort, System: r.system,
			AppendSystem: r.appendSystem, Fresh: j.fresh, Timeout: j.timeout, Format: aicodebox.FormatText,
		},
	}
}

// workspaceDir returns the absolute directory of a job's workspace.
func workspaceDir(box *aicodebox.Box, name string) (string, error) {
	root := box.Workspaces()
	if root == nil {
		return "", errors.New("the box has no workspaces yet")
	}
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(root.Dir(), name)
		if err != nil || !filepath.IsLocal(rel) {
			return "", fmt.Errorf("the workspace %q is not under the workspace root; give a relative path below it", name)
		}
		name = rel
	}
	return root.Resolve(name)
}

// withHint adds where the run before left its records.
func withHint(text, previous string) string {
	if previous == "" {
		return text
	}
	hint := "The previous run of this scheduled job left its records in " + previous +
		": result.txt is its answer, meta.json says when it ran and how it ended."
	if text == "" {
		return hint
	}
	return text + "\n\n" + hint
}

// judge says how the run ended.
func (e *execution) judge(res runner.Result, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.record
	var cancelled *runner.CancelledError
	switch {
	case err != nil && !e.started && e.gaveUp != nil:
		r.skip(e.gaveUp)
	case errors.Is(err, runner.ErrBusy) && r.trigger == bySchedule:
		r.skip(errNextTime)
	case errors.Is(err, runner.ErrBusy), errors.Is(err, runner.ErrQueueFull), errors.Is(err, runner.ErrDraining):
		r.skip(err)
	case errors.As(err, &cancelled):
		r.take(cancelled.Result)
		if !e.started {
			r.exitCode = -1
		}
		r.status, r.failure = statusCancelled, cancelled.Error()
		if e.lane.box.Work().Err() != nil {
			r.status = statusInterrupted
		}
	case err != nil:
		r.status, r.exitCode, r.failure = statusFailed, -1, err.Error()
	default:
		r.take(res)
		r.failure = r.fault(res)
		r.status = statusCompleted
		if r.failure != "" {
			r.status = statusFailed
		}
	}
}

func (r *record) skip(reason error) {
	r.status, r.failure = statusSkipped, reason.Error()
}

// take keeps what the agent gave.
func (r *record) take(res runner.Result) {
	r.text, r.stdout, r.stderr, r.exitCode = res.Text, res.Stdout, res.Stderr, res.ExitCode
	r.session, r.usage = res.SessionID, res.Usage
}

// fault tells why a run that ended is a failure, or "".
func (r *record) fault(res runner.Result) string {
	switch {
	case res.Provider != nil:
		return res.Provider.Error()
	case res.Error != "":
		return res.Error
	case res.ExitCode != 0:
		return fmt.Sprintf("the agent ended with exit code %d", res.ExitCode)
	case res.ParseError != "":
		return res.ParseError
	case res.Status != ledger.Completed:
		return "the run ended as " + string(res.Status)
	case strings.TrimSpace(res.Text) == "" && !r.job.allowEmpty:
		return "the agent gave an empty answer"
	}
	return ""
}
