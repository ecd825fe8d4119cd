package cron

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner"
)

// Commands offers `box cron check` and `box cron run`.
func (s *surface) Commands() []aicodebox.Command {
	return []aicodebox.Command{{
		Name:    "cron",
		Summary: "check FILE: reads a cron file and shows when its jobs run; run JOB: runs a job now",
		Run:     s.command,
	}}
}

var errStopped = errors.New("the command was stopped")

var errUsage = errors.New("say check FILE (the file in CRON_MODE_FILE if none is given), or run JOB")

func (s *surface) command(ctx context.Context, box *aicodebox.Box, args []string, out io.Writer) error {
	switch {
	case len(args) > 0 && len(args) <= 2 && args[0] == "check":
		file := s.file
		if len(args) == 2 {
			file = args[1]
		}
		return s.check(box, file, out)
	case len(args) == 2 && args[0] == "run":
		return s.runNow(ctx, box, args[1], out)
	}
	return errUsage
}

// check shows when the jobs of a file run, and what may surprise.
func (s *surface) check(box *aicodebox.Box, file string, out io.Writer) error {
	if file == "" {
		return errUsage
	}
	c, err := readFile(file, box)
	if err != nil {
		return err
	}
	now := wallTime()
	for i, j := range c.jobs {
		if i > 0 {
			printf(out, "\n")
		}
		show(out, box, j, now)
	}
	return nil
}

func show(out io.Writer, box *aicodebox.Box, j job, now time.Time) {
	state := ""
	if !j.enabled {
		state = ", not enabled"
	}
	printf(out, "%s: %q (%s%s)\n", j.name, j.schedule.text, zoneOf(j, now), state)
	for _, at := range j.schedule.upcoming(now, shownTimes) {
		printf(out, "  %s\n", at.Format("Mon 2006-01-02 15:04:05 -0700 MST"))
	}
	for _, x := range surprises(j, now) {
		printf(out, "  %s\n", x)
	}
	if box.Workspaces() == nil {
		return
	}
	if _, err := workspaceDir(box, j.workspace); err != nil {
		printf(out, "  warning: workspace: %v\n", err)
	}
}

func printf(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format, args...) // a reader that has gone asks for no more
}

// runNow runs a job and shows what came of it. What is wrong with the run is
// the error.
func (s *surface) runNow(ctx context.Context, box *aicodebox.Box, name string, out io.Writer) error {
	j, err := s.jobToRun(box, name)
	if err != nil {
		return err
	}
	if err := runner.Open(box); err != nil {
		return err
	}
	d := s.newScheduler(&config{[]job{j}})
	if err := d.open(ctx); err != nil {
		return err
	}
	e, err := d.lane(j).begin(j, byHand, time.Time{})
	if errors.Is(err, errHeld) {
		return fmt.Errorf("job %s runs already", name)
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		if !e.giveUp(errStopped) {
			e.cancel(errStopped)
		}
	})()
	<-e.done
	d.work.Wait() // for the notice
	return e.record.show(out)
}

func (s *surface) jobToRun(box *aicodebox.Box, name string) (job, error) {
	switch {
	case s.file == "":
		return job{}, fmt.Errorf("%s must name the file with the jobs", s.fileName)
	case box.Workspaces() == nil:
		return job{}, errors.New("the root of the workspaces does not exist; make the directory that WORKSPACE names")
	}
	c, err := readFile(s.file, box)
	if err != nil {
		return job{}, err
	}
	j, ok := c.find(name)
	if !ok {
		names := c.names()
		slices.Sort(names)
		return job{}, fmt.Errorf("the file has no job %q; it has %s", name, strings.Join(names, ", "))
	}
	return j, nil
}

// show writes what came of a run.
func (r *record) show(out io.Writer) error {
	if text := strings.TrimRight(r.text, "\n"); text != "" {
		printf(out, "%s\n", text)
	}
	records := ""
	if r.dir != "" {
		records = "; its records are in " + r.dir
	}
	if r.failure != "" {
		return fmt.Errorf("job %s: %s (%s)%s", r.job.name, r.failure, r.status, records)
	}
	return nil
}
