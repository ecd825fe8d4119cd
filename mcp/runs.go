package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// getRun waits a while for a run and returns what is known of it.
func (s *surface) getRun(c *call, args *arguments) (output, error) {
	id := args.required("run_id")
	wait := time.Duration(args.number("wait_seconds", int64(s.sync/time.Second), 0, 3600)) * time.Second
	if err := args.check(); err != nil {
		return output{}, err
	}
	info, err := s.lookup(c.ctx, id)
	if err != nil {
		return output{}, err
	}
	if !ended(info.Status) && wait > 0 {
		if err := s.await(c, id, wait); err != nil {
			return output{}, err
		}
		if info, err = s.lookup(c.ctx, id); err != nil {
			return output{}, err
		}
	}
	if !ended(info.Status) {
		out := unfinished(id, time.Since(info.Created))
		o := out.data.(outcome)
		o.Status, o.Workspace = info.Status, s.relative(info.Workspace)
		out.data = o
		return out, nil
	}
	r, err := runner.ResultOf(c.ctx, s.box, id)
	if err != nil {
		return output{}, lost(id, err)
	}
	r.ID = id
	return s.report(id, r, nil)
}

// await returns when the run has ended, or after a while.
func (s *surface) await(c *call, id string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(c.ctx, wait)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = runner.Await(ctx, s.box, id)
	}()
	p := c.progress()
	tick := time.NewTicker(s.beat)
	defer tick.Stop()
	p.send(ctx, "waiting for the run")
	for {
		select {
		case <-over:
			return c.ctx.Err()
		case <-tick.C:
			p.send(ctx, "the agent works")
		}
	}
}

// cancelRun ends a run.
func (s *surface) cancelRun(c *call, args *arguments) (output, error) {
	id := args.required("run_id")
	if err := args.check(); err != nil {
		return output{}, err
	}
	if _, err := s.lookup(c.ctx, id); err != nil {
		return output{}, err
	}
	info, err := runner.Cancel(c.ctx, s.box, id, "cancel_run was called")
	if err != nil {
		return output{}, lost(id, err)
	}
	text := "The run is cancelled."
	if info.Status != ledger.Cancelled {
		text = fmt.Sprintf("The run had ended before (%s); get_run has its answer.", info.Status)
	}
	return output{data: outcome{ID: id, Status: info.Status}, text: text}, nil
}

// lookup finds a run of this surface. Those of others belong to other tokens.
func (s *surface) lookup(ctx context.Context, id string) (runner.Info, error) {
	info, err := runner.Lookup(ctx, s.box, id)
	if err == nil && info.Surface != "mcp" {
		err = runner.ErrNotFound
	}
	if err != nil {
		return info, lost(id, err)
	}
	return info, nil
}

// lost says that a run cannot be found.
func lost(id string, err error) error {
	if errors.Is(err, runner.ErrNotFound) {
		return fmt.Errorf("no run %.100q is known; answers are kept for 6 hours. Start the task with run_prompt", id)
	}
	return errors.New("the record of the run could not be read; call again later")
}

func ended(status ledger.Status) bool {
	return status == ledger.Completed || status == ledger.Failed || status == ledger.Cancelled
}
