package ledger

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

// ErrHeld is returned by Lock for an instance that lives.
var ErrHeld = errors.New("instance is running")

const (
	instances  = "instances"
	lockSuffix = ".lock"

	// A box that only looks holds a shared lock for microseconds. Taking a
	// lock waits that out.
	lockPatience = time.Second
	lockPause    = time.Millisecond
)

// Instance is the held lock of one start of a box: the file instances/ID.lock
// in the state directory. The system frees it when the process ends, however
// that happens. So a starting box can tell the runs of the dead, which it
// cleans up after, from those of boxes that live.
type Instance struct {
	path string
	file *os.File
}

// Lock takes the lock of the instance id in the state directory dir, making
// the file if need be: a box for itself when it starts, or for a dead instance
// that it is about to clean up after, so that no other box does the same. It
// returns ErrHeld when the instance lives. The ids of living boxes are never
// reused; one must be a plain file name.
func Lock(dir, id string) (*Instance, error) {
	path, err := lockPath(dir, id)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock instance %s: %w", id, err)
	}
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(lockPause) {
		f, err := openLock(path, os.O_CREATE|os.O_RDWR, syscall.LOCK_EX)
		if err == nil {
			return &Instance{path, f}, nil
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

// Close frees the lock and removes its file. It may be called more than once,
// and on nil.
func (l *Instance) Close() error {
	if l == nil || l.file == nil {
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
	f, err := openLock(path, os.O_RDONLY, syscall.LOCK_SH)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_ = f.Close()
	return false
}

// Free returns the ids that have a file whose lock is free: the boxes that
// died without Close. A state directory that cannot be read has none.
func Free(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, instances))
	if err != nil {
		return nil
	}
	var free []string
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), lockSuffix)
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
	return filepath.Join(dir, instances, id+lockSuffix), nil
}

// openLock opens and locks the file without waiting. It returns fs.ErrNotExist
// when the file was removed before the lock was there.
func openLock(path string, flags, how int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, path, how); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func flock(f *os.File, path string, how int) error {
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
