package cron

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox/internal/atomicfile"
)

// stampForm begins the name of a run's directory, in UTC so that names sort by
// time whatever the clocks do.
const stampForm = "20060102-150405"

// slug makes a file name of a directory's path.
func slug(dir string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && nameForm.MatchString(string(r)) || r == '.' {
			return r
		}
		return '_'
	}, strings.Trim(filepath.ToSlash(dir), "/"))
	if name = strings.TrimLeft(name, "."); name == "" {
		return "root"
	}
	if len(name) > maxName {
		sum := fnv.New32a()
		_, _ = io.WriteString(sum, dir) // it never fails
		return fmt.Sprintf("%s-%08x", name[:maxName], sum.Sum32())
	}
	return name
}

// makeDir makes the directory of a run: its own even if another began in the
// same second.
func (s *store) makeDir(r *record) (string, error) {
	parent := filepath.Join(s.dir, historyFolder, slug(r.workspace))
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	for at := r.fired.UTC(); ; at = at.Add(time.Second) {
		dir := filepath.Join(parent, at.Format(stampForm)+"-"+r.job.name)
		err := os.Mkdir(dir, 0o700)
		if !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// begin notes that r waits for its turn: a box that dies from here on leaves a
// line behind. A run that catches up takes the oldest time that is owed, or
// errNothingOwed is returned. The caller holds the job's run lock.
func (s *store) begin(r *record) error {
	return s.change(r.job.name, func(m *memory) error {
		if r.trigger == byCatchUp {
			due, ok := m.takeOwed()
			if !ok {
				return errNothingOwed
			}
			r.due = due
		}
		r.previous = s.previous(m)
		m.Running = &running{RunID: r.runID, Trigger: r.trigger, Due: r.due, Began: r.fired, Plan: r.job.schedule.text}
		return nil
	})
}

var errNothingOwed = errors.New("no missed time is owed")

// previous returns the directory of the run before, or "" if it is gone.
func (s *store) previous(m *memory) string {
	if m.Previous == "" {
		return ""
	}
	dir := filepath.Join(s.dir, m.Previous)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// start makes the directory of r, whose agent is about to start.
func (s *store) start(r *record) error {
	dir, err := s.makeDir(r)
	if err != nil {
		return fmt.Errorf("make the directory of a run: %w", err)
	}
	err = s.change(r.job.name, func(m *memory) error {
		if m.Running != nil && m.Running.RunID == r.runID {
			m.Running.Dir, m.Running.Began = s.relative(dir), r.fired
		}
		return nil
	})
	if err == nil {
		r.dir = dir
		err = writeMeta(dir, r.meta())
	}
	return err
}

// finish writes all that is known of r, which has ended.
func (s *store) finish(r *record) error {
	var errs []error
	err := s.change(r.job.name, func(m *memory) error {
		if m.Running != nil && m.Running.RunID == r.runID {
			r.skipped = m.Running.Skipped
			m.Running = nil
		}
		if r.dir != "" {
			m.Previous = s.relative(r.dir)
			errs = append(errs, writeRun(r))
		}
		errs = append(errs, s.append(m, r.summary()))
		return nil
	})
	if s.keep > 0 && r.dir != "" {
		errs = append(errs, s.prune(r.job.name))
	}
	return errors.Join(append(errs, err)...)
}

func (s *store) relative(dir string) string {
	rel, err := filepath.Rel(s.dir, dir)
	if err != nil {
		return dir
	}
	return rel
}

// writeRun writes the files of a run that has ended, meta.json last.
func writeRun(r *record) error {
	for name, data := range map[string][]byte{"stdout.log": r.stdout, "stderr.log": r.stderr, "result.txt": []byte(r.text)} {
		if err := os.WriteFile(filepath.Join(r.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return writeMeta(r.dir, r.meta())
}

func writeMeta(dir string, m meta) error { return writeJSON(filepath.Join(dir, "meta.json"), m) }

func writeJSON(path string, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return atomicfile.Write(path, text.Bytes(), 0o600)
}

// append adds a line to <job>.jsonl. The caller holds the job's lock.
func (s *store) append(m *memory, line summary) error {
	if line.Status != statusSkipped && line.Status != statusMissed {
		kept := line
		kept.Text, kept.Stderr = nil, nil
		m.Newest = &kept
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(line); err != nil {
		return err
	}
	return appendLine(filepath.Join(s.dir, line.Job+".jsonl"), text.Bytes())
}

// mostLines is how large a file of lines grows before its older half goes.
const mostLines = 64 << 20

// appendLine adds a line to a file. A line that was cut short by a crash is
// ended first.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err = f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	if err == nil {
		_, err = f.Write(line)
	}
	err = errors.Join(err, f.Close())
	if err == nil && size > mostLines {
		err = halve(path)
	}
	return err
}

// halve drops the older half of a file of lines.
func halve(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data = data[len(data)/2:]
	return atomicfile.Write(path, data[bytes.IndexByte(data, '\n')+1:], 0o600)
}

// prune removes the oldest directories of a job beyond the number to keep.
func (s *store) prune(name string) error {
	dirs, err := s.dirsOf(name)
	if err != nil {
		return err
	}
	slices.SortFunc(dirs, func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) })
	var errs []error
	for _, dir := range dirs[min(s.keep, len(dirs)):] {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// dirsOf returns the directories of a job's runs, in all workspaces.
func (s *store) dirsOf(name string) ([]string, error) {
	top := filepath.Join(s.dir, historyFolder)
	places, err := os.ReadDir(top)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, place := range places {
		runs, err := os.ReadDir(filepath.Join(top, place.Name()))
		if err != nil {
			continue // not a directory, or gone
		}
		for _, run := range runs {
			at, of, ok := strings.Cut(run.Name(), "-"+name)
			if _, err := time.Parse(stampForm, at); ok && of == "" && err == nil {
				dirs = append(dirs, filepath.Join(top, place.Name(), run.Name()))
			}
		}
	}
	return dirs, nil
}

// recover ends the records of a run whose box died. The caller holds the job's
// run lock, so that no box runs it.
func (s *store) recover(name string, now time.Time) error {
	m, err := s.read(name)
	if err != nil || m.Running == nil {
		return err
	}
	return s.change(name, func(m *memory) error {
		if m.Running == nil {
			return nil
		}
		was := *m.Running
		m.Running = nil
		s.log.Warn("a run of a job was cut short when its box died", "job", name, "run", was.RunID)
		if err := errors.Join(s.interrupted(name, was, m, now)...); err != nil {
			s.log.Error("the records of a run that was cut short cannot be written", "job", name, "error", err)
		}
		return nil
	})
}

const interruption = "interrupted by restart"

// interrupted writes that the run was ended by the end of its box.
func (s *store) interrupted(name string, was running, m *memory, now time.Time) (errs []error) {
	line := summary{
		Job: name, FiredAt: stamp(was.Began, time.Local), FinishedAt: stamp(now, time.Local), Schedule: was.Plan,
		Trigger: was.Trigger, ScheduledFor: stamp(was.Due, time.Local), RunID: was.RunID,
		Status: statusInterrupted, Error: interruption, SkippedTicks: was.Skipped,
	}
	code := -1
	line.ExitCode = &code
	if was.Dir != "" {
		dir := filepath.Join(s.dir, was.Dir)
		line.HistoryDir, m.Previous = dir, was.Dir
		errs = append(errs, interruptMeta(dir, line))
	}
	return append(errs, s.append(m, line))
}

// interruptMeta writes the end into meta.json, which may not be there yet.
func interruptMeta(dir string, line summary) error {
	m := meta{Name: line.Job, Schedule: line.Schedule, Trigger: line.Trigger, RunID: line.RunID, StartedAt: line.FiredAt}
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.Status, m.FinishedAt, m.ExitCode, m.Error = statusInterrupted, &line.FinishedAt, line.ExitCode, orNull(interruption)
	m.SkippedTicks = line.SkippedTicks
	return writeMeta(dir, m)
}
