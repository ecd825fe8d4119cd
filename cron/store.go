package cron

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/psyb0t/aicodebox/internal/atomicfile"
)

// store is the directory with all of cron's state. Several boxes can share one:
// what they must agree on is changed under locks on files, which the system
// frees when a process ends.
//
//	history/<workspace>/<time>-<job>/   the records of one run
//	<job>.jsonl                         one line for each run
//	telegram_messages.json              the messages that told of runs
//	state/<job>.json                    what was done, and is still owed
//	state/<job>.lock                    held while that is changed
//	state/<job>.run                     held while the job runs
type store struct {
	dir      string
	instance string // of this box
	keep     int    // runs to keep of each job; 0 keeps all
	log      *slog.Logger
}

const (
	stateFolder   = "state"
	historyFolder = "history"
)

// open makes the directories.
func (s *store) open() error {
	for _, name := range []string{stateFolder, historyFolder} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o700); err != nil {
			return fmt.Errorf("make the directory of the job histories: %w", err)
		}
	}
	return nil
}

func (s *store) stateFile(name, ending string) string {
	return filepath.Join(s.dir, stateFolder, name+ending)
}

// errHeld is returned for a lock that somebody else holds.
var errHeld = errors.New("another process holds the lock")

// lock takes the lock of a file and returns how to free it. With wait it waits;
// otherwise it returns errHeld if it is taken.
func lock(path string, wait bool) (free func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	err = syscall.Flock(int(f.Fd()), how)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(f.Fd()), how)
	}
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errHeld
	}
	return nil, err
}

// lockRun takes the lock that says that a job runs, in this box or another. It
// returns errHeld if the job runs already.
func (s *store) lockRun(name string) (free func(), err error) {
	return lock(s.stateFile(name, ".run"), false)
}

// change lets f change what is remembered of a job, alone over all boxes. If f
// returns an error nothing is changed.
func (s *store) change(name string, f func(m *memory) error) error {
	free, err := lock(s.stateFile(name, ".lock"), true)
	if err != nil {
		return fmt.Errorf("lock the state of job %s: %w", name, err)
	}
	defer free()
	m, err := s.read(name)
	if err != nil {
		return err
	}
	if err := f(m); err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.stateFile(name, ".json"), append(data, '\n'), 0o600)
}

// read returns what is remembered of a job. What cannot be understood is as if
// it were not there.
func (s *store) read(name string) (*memory, error) {
	m := new(memory)
	data, err := os.ReadFile(s.stateFile(name, ".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of job %s: %w", name, err)
	}
	if err := json.Unmarshal(data, m); err != nil {
		s.log.Error("the state of a job is damaged and is begun anew", "job", name, "error", err)
		return new(memory), nil
	}
	return m, nil
}

// known returns the names of all jobs that something is remembered of.
func (s *store) known() []string {
	entries, err := os.ReadDir(filepath.Join(s.dir, stateFolder))
	if err != nil {
		s.log.Error("the states of jobs cannot be listed", "error", err)
		return nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && nameForm.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}
