package aicodebox

import (
	"errors"
	"os"
	"path/filepath"
)

// settingsFile is a file that waits for the configuration to be found good.
type settingsFile struct {
	path string
	data []byte
	mode os.FileMode
}

// write replaces the file in one step, so that no reader finds half of it.
func (f settingsFile) write() (err error) {
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".aicodebox-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if err := f.fill(tmp); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.path)
}

func (f settingsFile) fill(to *os.File) error {
	if err := to.Chmod(f.mode); err != nil {
		return err
	}
	if _, err := to.Write(f.data); err != nil {
		return err
	}
	return to.Sync()
}
