package workspace

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// OpenFile opens the regular file name for reading. A directory is ErrIsDir;
// a pipe, a socket or a device is ErrNotRegular and never blocks. The caller
// closes the file. Its Name is a path of the machine and not for callers.
func (r *Root) OpenFile(name string) (*os.File, fs.FileInfo, error) {
	clean, slash, err := check(name)
	if err != nil {
		return nil, nil, err
	}
	// Without O_NONBLOCK, opening a pipe waits for a writer.
	f, err := r.jail.OpenFile(clean, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, r.wrap(name, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(name, info, slash)
	} else {
		err = r.wrap(name, err)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// regular tells what keeps info from being a file that can be read.
func regular(name string, info fs.FileInfo, slash bool) error {
	switch {
	case info.IsDir():
		return isDir(name)
	case !info.Mode().IsRegular():
		return notRegular(name)
	case slash:
		return notDir(name)
	}
	return nil
}

// Stat describes what name leads to, through links that stay inside.
func (r *Root) Stat(name string) (fs.FileInfo, error) { return r.stat(name, r.jail.Stat) }

// Lstat describes name itself, which may be a link that leads anywhere.
func (r *Root) Lstat(name string) (fs.FileInfo, error) { return r.stat(name, r.jail.Lstat) }

func (r *Root) stat(name string, stat func(string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	clean, slash, err := check(name)
	if err != nil {
		return nil, err
	}
	info, err := stat(clean)
	if err != nil {
		return nil, r.wrap(name, err)
	}
	if slash && !info.IsDir() && info.Mode().Type() != fs.ModeSymlink {
		return nil, notDir(name)
	}
	return info, nil
}

// Remove removes a file, or a link itself wherever it leads. A directory is
// ErrIsDir, a missing file fs.ErrNotExist.
func (r *Root) Remove(name string) error {
	clean, slash, err := check(name)
	if err != nil {
		return err
	}
	info, err := r.jail.Lstat(clean)
	switch {
	case err != nil:
		return r.wrap(name, err)
	case info.IsDir():
		return isDir(name)
	case slash:
		return notDir(name)
	}
	return r.wrap(name, r.jail.Remove(clean))
}

// The types of an Entry.
const (
	File    = "file"
	Dir     = "dir"
	Symlink = "symlink"
	Other   = "other" // a pipe, a socket, a device
)

// Entry is one line of a listing.
type Entry struct {
	Name     string
	Type     string // File, Dir, Symlink or Other
	Size     int64  // bytes; of a file, 0 for anything else
	Modified time.Time
}

// List returns what is in the directory name, sorted by name. Links are listed
// as such and not followed; files that Put is still writing are left out. A
// file is ErrNotDir.
func (r *Root) List(name string) ([]Entry, error) {
	clean, _, err := check(name)
	if err != nil {
		return nil, err
	}
	dir, err := r.jail.OpenFile(clean, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, r.wrap(name, err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, r.wrap(name, err)
	}
	slices.Sort(names)
	entries := make([]Entry, 0, len(names))
	for _, n := range names {
		if isTemp(n) {
			continue
		}
		if info, err := r.jail.Lstat(path.Join(clean, n)); err == nil { // else gone by now
			entries = append(entries, entry(n, info))
		}
	}
	return entries, nil
}

func entry(name string, info fs.FileInfo) Entry {
	e := Entry{Name: name, Type: Other, Modified: info.ModTime()}
	switch info.Mode().Type() {
	case 0:
		e.Type, e.Size = File, info.Size()
	case fs.ModeDir:
		e.Type = Dir
	case fs.ModeSymlink:
		e.Type = Symlink
	}
	return e
}

// tempPrefix begins the names of files that Put is still writing.
const tempPrefix = ".aicodebox-put-"

func isTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }
