package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// Ephemeral is a directory of mode 0700 for one run, removed after it. While
// it is held, no box sweeps it, on whatever state directory it works.
type Ephemeral struct {
	dir  string
	lock *os.File // the directory itself; the lock goes with the process
}

// EphemeralBase returns where ephemeral directories are by default: aicodebox
// in the directory for temporary files.
func EphemeralBase() string { return filepath.Join(os.TempDir(), "aicodebox") }

// NewEphemeral makes a directory with a random UUID for a name in base, which
// is made if missing. A base that belongs to another user, or is a link, is
// not used: base-UID takes its place, so that two users of a machine get
// along. Its errors are for the operator.
func NewEphemeral(base string) (*Ephemeral, error) {
	dir, jail, err := openBase(base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = jail.Close() }()
	for {
		name := newUUID()
		if err := jail.Mkdir(name, 0o700); err != nil {
			return nil, fmt.Errorf("make an ephemeral workspace: %w", err)
		}
		lock, err := lockDir(jail, name, syscall.LOCK_EX)
		if errors.Is(err, fs.ErrNotExist) {
			continue // swept between the two steps
		}
		if err != nil {
			return nil, fmt.Errorf("lock an ephemeral workspace: %w", err)
		}
		return &Ephemeral{dir: filepath.Join(dir, name), lock: lock}, nil
	}
}

// Dir returns the absolute path, links resolved.
func (e *Ephemeral) Dir() string { return e.dir }

// Remove removes the directory with all that is in it, read-only directories
// too. It is no longer held then, even after an error: what resisted is left
// to a later Remove or sweep.
func (e *Ephemeral) Remove() error {
	defer e.lock.Close()
	jail, err := os.OpenRoot(filepath.Dir(e.dir))
	if err != nil {
		return fmt.Errorf("remove an ephemeral workspace: %w", err)
	}
	defer func() { _ = jail.Close() }()
	if err := removeTree(jail, filepath.Base(e.dir)); err != nil {
		return fmt.Errorf("remove an ephemeral workspace: %w", err)
	}
	return nil
}

// SweepEphemeral removes the directories in base that a killed box left: those
// that no process holds, that were last changed olderThan ago, and of which
// inUse, if it is not nil, says no. It returns how many it removed; one that
// resists does not stop the others.
func SweepEphemeral(base string, olderThan time.Duration, inUse func(dir string) bool) (removed int, err error) {
	dir, jail, err := openBase(base)
	if err != nil {
		return 0, err
	}
	defer func() { _ = jail.Close() }()
	entries, err := fs.ReadDir(jail.FS(), ".")
	if err != nil {
		return 0, fmt.Errorf("list ephemeral workspaces: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !uuidForm.MatchString(e.Name()) {
			continue
		}
		if inUse != nil && inUse(filepath.Join(dir, e.Name())) {
			continue
		}
		gone, err := sweep(jail, e.Name(), olderThan)
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep an ephemeral workspace: %w", err))
		}
		if gone {
			removed++
		}
	}
	return removed, errors.Join(errs...)
}

// sweep removes one directory unless it is young or held.
func sweep(jail *os.Root, name string, olderThan time.Duration) (gone bool, err error) {
	info, err := jail.Lstat(name)
	if err != nil || time.Since(info.ModTime()) < olderThan {
		return false, ignoreMissing(err)
	}
	lock, err := lockDir(jail, name, syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case err != nil:
		return false, ignoreMissing(err)
	}
	defer lock.Close()
	if err := removeTree(jail, name); err != nil {
		return false, err
	}
	return true, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lockDir opens and locks a directory. It returns fs.ErrNotExist when the
// directory was removed before the lock was there.
func lockDir(jail *os.Root, name string, how int) (*os.File, error) {
	f, err := jail.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrPermission) && jail.Chmod(name, 0o700) == nil {
		f, err = jail.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	}
	if err != nil {
		return nil, err
	}
	if err := flock(f, how); err != nil {
		_ = f.Close()
		return nil, err
	}
	held, err := f.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = jail.Lstat(name); err == nil && !os.SameFile(held, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// removeTree removes name, after making its directories writable if need be: a
// module cache, for one, is read-only.
func removeTree(jail *os.Root, name string) error {
	first := jail.RemoveAll(name)
	if first == nil {
		return nil
	}
	_ = fs.WalkDir(jail.FS(), name, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = jail.Chmod(at, 0o700)
		}
		return nil
	})
	return jail.RemoveAll(name)
}

// openBase opens base, or its stand-in for this user.
func openBase(base string) (dir string, jail *os.Root, err error) {
	parent, err := filepath.EvalSymlinks(filepath.Dir(base))
	if err != nil {
		return "", nil, fmt.Errorf("find the directory for ephemeral workspaces: %w", err)
	}
	dir = filepath.Join(parent, filepath.Base(base))
	jail, err = openOwn(dir)
	if err == nil {
		return dir, jail, nil
	}
	dir += "-" + strconv.Itoa(os.Geteuid())
	jail, second := openOwn(dir)
	if second != nil {
		return "", nil, fmt.Errorf("open the directory for ephemeral workspaces: %w", errors.Join(err, second))
	}
	return dir, jail, nil
}

// openOwn opens a directory of our own that nobody else can enter, and makes
// it if it is missing.
func openOwn(dir string) (*os.Root, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	before, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	jail, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := own(jail, before); err != nil {
		_ = jail.Close()
		return nil, fmt.Errorf("%s %w", dir, err)
	}
	return jail, nil
}

// own checks that what was opened is what was looked at, and this user's.
func own(jail *os.Root, before fs.FileInfo) error {
	info, err := jail.Stat(".")
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !os.SameFile(before, info):
		return errors.New("was replaced while it was opened")
	case !ok || int(stat.Uid) != os.Geteuid():
		return errors.New("belongs to another user")
	case info.Mode().Perm() != 0o700:
		return jail.Chmod(".", 0o700)
	}
	return nil
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// newUUID returns a random UUID, version 4 of RFC 9562.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
