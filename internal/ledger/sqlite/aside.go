package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// MoveAside renames the ledger file path after Open has found it corrupt
// (ledger.ErrCorrupt), so that the next Open begins a new one. It returns the
// file's new name, beside the old; what SQLite keeps beside it moves along,
// for whoever wants to rescue something. When the file turns out to be fine,
// because another box has moved the corrupt one by now, it is left alone and
// the name is empty.
func MoveAside(ctx context.Context, path string) (aside string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := lockDir(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("move %s aside: %w", path, err)
	}
	defer dir.Close()
	s, err := open(ctx, path)
	if err == nil {
		return "", s.close()
	}
	if !errors.Is(classify(err), ledger.ErrCorrupt) {
		return "", fmt.Errorf("move %s aside: %w", path, classify(err))
	}
	aside = path + ".corrupt-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	// The file itself comes last: a new one must not meet an old log.
	for _, suffix := range []string{"-wal", "-shm", ""} {
		err := os.Rename(path+suffix, aside+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("move %s aside: %w", path, err)
		}
	}
	return aside, nil
}

// lockDir keeps other boxes from moving the same file; Close frees the lock.
func lockDir(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}
