// Package cron is the surface of the clock: it runs prompts at the times that
// a file names.
//
//	aicodebox.Run(adapter, cron.Surface())
//
// It is on with AICODEBOX_CRON_MODE=1 and reads the YAML file that
// AICODEBOX_CRON_MODE_FILE names.
//
// Each job of the file has a lane, which waits for the job's next time (see
// schedule for what that is when the clocks change). When it comes, the lane
// claims it in the state directory, so that no other box, and no clock that was
// set back, runs it again. It takes the job's run lock: a job that still runs is
// left alone. Then an execution asks the runner, waiting for the workspace until
// the job's next time at most, writes the records of the run (see store), and
// tells the job's chat through the box.
//
// Times that passed while no box was there are found by comparing the newest
// time that was dealt with to the clock. They are recorded, and run later if
// the job's misfire policy says so: one after another, so that a start after a
// long outage is no stampede.
//
// A hangup signal makes the file be read again; runs in hand go on.
package cron

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // images without zone files know the zones all the same

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner"
)

// Surface links the scheduler. It is served when AICODEBOX_CRON_MODE is on.
func Surface() aicodebox.Option { return aicodebox.Seat(&surface{}) }

var (
	_ aicodebox.SettingsSurface = (*surface)(nil)
	_ aicodebox.HandlerSurface  = (*surface)(nil)
	_ aicodebox.CommandSurface  = (*surface)(nil)
)

// surface is the scheduler of one box.
type surface struct {
	box       *aicodebox.Box
	file      string
	fileName  string // of the variable that names it
	dir       string
	keep      int64
	scheduler *scheduler
}

// Mode answers to AICODEBOX_CRON_MODE.
func (s *surface) Mode() string { return "CRON" }

// Settings declares the variables of the scheduler.
func (s *surface) Settings(set aicodebox.Settings) {
	s.box = set.Box()
	s.fileName = set.Name("CRON_MODE_FILE")
	s.file = set.Required("CRON_MODE_FILE", "YAML file with the jobs")
	s.dir = set.String("CRON_MODE_HISTORY_DIR", filepath.Join(s.box.StateDir(), "cron"), "directory of the jobs' history and state")
	s.keep = set.Int("CRON_MODE_HISTORY_KEEP", 0, 0, 1_000_000, "newest runs to keep of each job; 0 keeps all")
	if abs, err := filepath.Abs(s.dir); err == nil {
		s.dir = abs
	}
}

// Init reads the file of jobs.
func (s *surface) Init(box *aicodebox.Box) error {
	s.box = box
	c, err := readFile(s.file, box)
	if err != nil {
		return err
	}
	s.scheduler = s.newScheduler(c)
	s.scheduler.warn(c)
	return nil
}

func (s *surface) newScheduler(c *config) *scheduler {
	return newScheduler(s.box, &store{
		dir: s.dir, instance: s.box.Instance(), keep: int(s.keep), log: s.box.Log(),
	}, c)
}

// readFile reads a cron file. Each fault is an error of its own that names the
// file.
func readFile(path string, box *aicodebox.Box) (*config, error) {
	data, err := readLimited(path)
	if err != nil {
		return nil, fmt.Errorf("read the cron file: %w", err)
	}
	c, err := parseConfig(data, offer{box.Models(), box.Efforts()}, wallTime())
	if err == nil {
		return c, nil
	}
	var errs []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		errs = append(errs, fmt.Errorf("cron file %s: %s", path, line))
	}
	return nil, errors.Join(errs...)
}

// readLimited reads no more of a file than shows that it is too large.
func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return data, errors.Join(err, f.Close())
}

// warn logs what may surprise in the file.
func (s *scheduler) warn(c *config) {
	for _, j := range c.jobs {
		log := s.log.With("job", j.name)
		if _, err := workspaceDir(s.box, j.workspace); err != nil {
			log.Warn("the job's workspace cannot be used: its runs will fail", "error", err)
		}
		for _, x := range surprises(j, s.now()) {
			if x.warning {
				log.Warn("the schedule may surprise", "schedule", j.schedule.text, "why", x.text)
			}
		}
	}
}

// Serve runs the jobs until ctx is done, and then until the runs in hand have
// ended.
func (s *surface) Serve(ctx context.Context) error {
	reload := s.box.Reload()
	if err := runner.Open(s.box); err != nil {
		return err
	}
	if err := s.scheduler.open(ctx); err != nil {
		return err
	}
	reloaded := make(chan *config)
	watching, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.watch(watching, reload, reloaded)
	}()
	s.scheduler.serve(ctx, reloaded)
	stop()
	<-ended
	return nil
}

// watch reads the file again whenever the box is asked to. A file with faults
// is told of, and the jobs stay as they were.
func (s *surface) watch(ctx context.Context, reload <-chan struct{}, reloaded chan<- *config) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
		}
		reload = s.box.Reload()
		c, err := readFile(s.file, s.box)
		if err != nil {
			s.box.Log().Error("the cron file is not taken, and the jobs stay as they were", "error", err)
			continue
		}
		s.scheduler.warn(c)
		select {
		case <-ctx.Done():
			return
		case reloaded <- c:
			s.box.Log().Info("the cron file was read again", "jobs", len(c.jobs))
		}
	}
}

// shownTimes is how many of the next times a person is shown.
const shownTimes = 5

// zoneOf names the zone of a job for people.
func zoneOf(j job, now time.Time) string {
	if j.zoneName != "" {
		return j.zoneName
	}
	name, _ := now.In(j.schedule.zone).Zone()
	return "the box's own time, " + name
}
