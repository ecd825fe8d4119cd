package workspace

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// Put writes the file name from r, whole or not at all: until it returns,
// readers see the old file, and after an error still do. Directories above it
// are made. A file that is replaced keeps its mode. A link that stays inside
// is written through; one that leaves the root is ErrEscapes.
//
// Content is streamed to disk. More than limit bytes are ErrTooLarge as soon
// as they arrive; a limit of 0 or less is none. Errors of content are wrapped
// and returned. It returns the size in bytes, and whether the file is new.
func (r *Root) Put(name string, content io.Reader, limit int64) (size int64, created bool, err error) {
	clean, slash, err := checkNew(name)
	if err != nil {
		return 0, false, err
	}
	if slash || clean == "." {
		return 0, false, isDir(name)
	}
	real, err := r.follow(name, clean)
	if err != nil {
		return 0, false, err
	}
	mode, created, err := r.target(name, real)
	if err != nil {
		return 0, false, err
	}
	dir, err := r.parent(name, path.Dir(real))
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = dir.Close() }()
	u := upload{root: r, dir: dir, name: name, temp: tempPrefix + rand.Text()}
	size, err = u.write(path.Base(real), content, limit, mode)
	return size, created && err == nil, err
}

// target looks at what is to be replaced: its mode, 0 when it does not exist.
func (r *Root) target(name, real string) (mode fs.FileMode, missing bool, err error) {
	info, err := r.jail.Lstat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, true, nil
	case err != nil:
		return 0, false, r.wrap(name, err)
	}
	return info.Mode().Perm(), false, regular(name, info, false)
}

// parent opens the directory that the file goes into. Everything from here on
// happens in this very directory, whatever takes its place meanwhile.
func (r *Root) parent(name, real string) (*os.Root, error) {
	if err := r.jail.MkdirAll(real, dirMode); err != nil {
		return nil, r.wrap(name, err)
	}
	// The slash keeps a pipe of that name from being opened, which would wait.
	dir, err := r.jail.OpenRoot(real + "/")
	return dir, r.wrap(name, err)
}

// upload is one file on its way.
type upload struct {
	root *Root
	dir  *os.Root
	name string // as the caller gave it
	temp string
}

// write fills the temporary file and lets it take the place of base. Nothing
// is left of it after an error, or a panic of content.
func (u *upload) write(base string, content io.Reader, limit int64, mode fs.FileMode) (size int64, err error) {
	f, err := u.dir.OpenFile(u.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return 0, u.root.wrap(u.name, err)
	}
	done := false
	defer func() {
		if !done {
			_ = f.Close()
			_ = u.dir.Remove(u.temp)
		}
	}()
	size, err = u.copy(f, content, limit)
	if err != nil {
		return 0, err
	}
	if err := u.settle(f, base, mode); err != nil {
		return 0, u.root.wrap(u.name, err)
	}
	done = true
	return size, nil
}

// copyPiece is how much of an upload is in memory at a time.
const copyPiece = 256 << 10

// copy streams content, never more than limit bytes of it.
func (u *upload) copy(f *os.File, content io.Reader, limit int64) (int64, error) {
	in := &source{reader: content}
	var from io.Reader = in
	if limit > 0 {
		from = io.LimitReader(in, limit)
	}
	// The file's own ReadFrom is hidden: it would copy in smaller pieces.
	size, err := io.CopyBuffer(struct{ io.Writer }{f}, from, make([]byte, copyPiece))
	switch {
	case in.err != nil:
		return 0, inputError(u.name, in.err)
	case err != nil:
		return 0, u.root.wrap(u.name, err)
	case limit > 0 && size == limit && in.more():
		return 0, &PathError{u.name, "it is larger than the limit of " + bytes(limit), ErrTooLarge}
	case in.err != nil: // found by more
		return 0, inputError(u.name, in.err)
	}
	return size, nil
}

// settle makes the file durable under its final name.
func (u *upload) settle(f *os.File, base string, mode fs.FileMode) error {
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := u.dir.Rename(u.temp, base); err != nil {
		return err
	}
	dir, err := u.dir.Open(".")
	if err != nil {
		return nil // a directory that cannot be read cannot be synced; the file is there
	}
	defer dir.Close()
	_ = dir.Sync() // some file systems refuse it; the file is there
	return nil
}

// source keeps the errors of a reader apart from those of the disk.
type source struct {
	reader io.Reader
	err    error // other than io.EOF
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// more tells whether there is another byte.
func (s *source) more() bool {
	var one [1]byte
	n, _ := io.ReadFull(s, one[:])
	return n == 1
}
