// Package instance tells the boxes on one state directory apart, and the dead
// from the living. Each start of a box has an id of its own and holds the lock
// of the file instances/ID.lock for as long as it lives; the system frees it
// when the process ends, however it ends. A starting box cleans up after the
// owners of runs whose lock is free, and after those only.
package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrHeld is returned by Claim for an instance that lives.
var ErrHeld = errors.New("instance is running")

const (
	subdir = "instances"
	suffix = ".lock"

	// A box that only looks holds a shared lock for microseconds. Taking a
	// lock waits that out.
	patience = time.Second
	pause    = time.Millisecond
)

// Lock is a held instance lock.
type Lock struct {
	path string
	file *os.File
}

// Claim takes the lock of the instance id in the state directory dir, making
// the file if need be: a box for itself when it starts, or for a dead instance
// that it is about to clean up after, so that no other box does the same. It
// returns ErrHeld when the instance lives. The ids of living boxes are never
// reused; one must be a plain file name.
func Claim(dir, id string) (*Lock, error) {
	path, err := lockPath(dir, id)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock instance %s: %w", id, err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		f, err := open(path, os.O_CREATE|os.O_RDWR, syscall.LOCK_EX)
		if err == nil {
			return &Lock{path, f}, nil
		}
		transient := errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist)
		if !transient {
			return nil, fmt.Errorf("lock instance %s: %w", id, err)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("lock instance %s: %w", id, ErrHeld)
		}
	}
}

// Release frees the lock and removes its file. It may be called more than
// once.
func (l *Lock) Release() error {
	if l.file == nil {
		return nil
	}
	// Removed while the lock is held: whoever waits for it finds that the file
	// is no longer the one at this path.
	err := os.Remove(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, l.file.Close())
	l.file = nil
	return err
}

// Alive tells whether somebody holds the lock of id. An instance without a
// file is dead; one whose file cannot be looked at counts as alive, because
// cleaning up after the living does more harm than waiting.
func Alive(dir, id string) bool {
	path, err := lockPath(dir, id)
	if err != nil {
		return false
	}
	f, err := open(path, os.O_RDONLY, syscall.LOCK_SH)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_ = f.Close()
	return false
}

// Free returns the ids that have a file whose lock is free: the boxes that
// died without Release. A state directory that cannot be read has none.
func Free(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, subdir))
	if err != nil {
		return nil
	}
	var free []string
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), suffix)
		if ok && id != "" && !Alive(dir, id) {
			free = append(free, id)
		}
	}
	return free
}

func lockPath(dir, id string) (string, error) {
	if id == "" || id != filepath.Base(id) || strings.HasPrefix(id, ".") || strings.IndexByte(id, 0) >= 0 {
		return "", fmt.Errorf("instance id %q is not a plain file name", id)
	}
	return filepath.Join(dir, subdir, id+suffix), nil
}

// open opens and locks the file without waiting. It returns fs.ErrNotExist
// when the file was removed before the lock was there.
func open(path string, flags, how int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := hold(f, path, how); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func hold(f *os.File, path string, how int) error {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	}
	if err != nil {
		return err
	}
	held, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(held, there) {
		return fs.ErrNotExist
	}
	return nil
}
