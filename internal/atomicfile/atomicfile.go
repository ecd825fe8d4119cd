// Package atomicfile replaces small files whole: a reader sees the old content
// or the new, and so does the next start after a crash. It is for files of the
// box itself, whose paths no caller names; files in workspaces go through
// package workspace.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes data the content of the file path, with exactly this mode
// whatever the umask. The directory must exist. A link at path is written
// through, so that a mounted or linked settings file stays one. When Write
// returns nil the content survives a loss of power; on an error the old file
// is untouched and nothing else is left behind.
//
// Concurrent writers are safe: the last one wins whole.
func Write(path string, data []byte, mode fs.FileMode) error {
	path, err := target(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	dir := filepath.Dir(path)
	temp := filepath.Join(dir, ".aicodebox-"+rand.Text())
	if err := fill(temp, data, mode); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	syncDir(dir)
	return nil
}

// maxLinks is how many links in a row are followed, as in Linux.
const maxLinks = 40

// target follows links from path, also to a file that does not exist yet.
func target(path string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or not there
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path, errors.New("too many symbolic links")
}

func fill(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the new name durable. The file is in place by now, and some
// file systems cannot do this, so there is no error to report.
func syncDir(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = f.Sync()
	_ = f.Close()
}
