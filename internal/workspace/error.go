package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"
)

// The kinds of a PathError, besides fs.ErrNotExist and fs.ErrPermission.
var (
	// ErrEscapes is for a name that leaves the root: an absolute one, one with
	// "..", one through a link that leads out or is absolute.
	ErrEscapes = errors.New("path leaves the workspace root")
	// ErrInvalid is for a name that no file can have: too long, a zero byte;
	// and for a new one that would harm others: a control character.
	ErrInvalid = errors.New("invalid path")
	// ErrNotDir is for something else where a directory is needed.
	ErrNotDir = errors.New("not a directory")
	// ErrIsDir is for a directory where a file is needed.
	ErrIsDir = errors.New("is a directory")
	// ErrNotRegular is for a pipe, a socket or a device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge is for content beyond the limit of Put.
	ErrTooLarge = errors.New("too large")
)

// PathError tells what is wrong with a name. Its text may be shown to the
// caller who gave the name.
type PathError struct {
	Path   string // as it was given
	Reason string // a sentence without paths
	Kind   error  // one of the kinds above, or the system's error number
}

// Error returns the reason with the name, escaped and cut to a readable length.
func (e *PathError) Error() string { return "path " + quote(e.Path) + ": " + e.Reason }

// Unwrap returns the kind.
func (e *PathError) Unwrap() error { return e.Kind }

// maxEcho is how many bytes of a name an error repeats.
const maxEcho = 120

func quote(name string) string {
	if len(name) > maxEcho {
		return strconv.QuoteToASCII(name[:maxEcho]) + "..."
	}
	return strconv.Quote(name)
}

func escapes(name string) error {
	return &PathError{name, "it leaves the workspace root; use a relative path without \"..\" and without symbolic links that are absolute or lead out", ErrEscapes}
}

func invalid(name, reason string) error { return &PathError{name, reason, ErrInvalid} }

func notDir(name string) error { return &PathError{name, "not a directory", ErrNotDir} }

func isDir(name string) error { return &PathError{name, "is a directory", ErrIsDir} }

func notRegular(name string) error { return &PathError{name, "not a regular file", ErrNotRegular} }

func notExist(name string) error {
	return &PathError{name, "no such file or directory", fs.ErrNotExist}
}

// wrap turns an error of the jail into a PathError for name, without the paths
// that such errors carry.
func (r *Root) wrap(name string, err error) error {
	var number syscall.Errno
	switch {
	case err == nil:
		return nil
	case errors.Is(err, r.escape):
		return escapes(name)
	case errors.Is(err, fs.ErrNotExist):
		return notExist(name)
	case errors.Is(err, fs.ErrPermission):
		return &PathError{name, "permission denied", fs.ErrPermission}
	case errors.As(err, &number):
		return numbered(name, number)
	}
	return &PathError{name, "it cannot be used", innermost(err)}
}

// numbered gives a system's error number its kind.
func numbered(name string, number syscall.Errno) error {
	switch number {
	case syscall.ENOTDIR, syscall.EEXIST:
		return notDir(name)
	case syscall.EISDIR:
		return isDir(name)
	case syscall.ENXIO, syscall.ENODEV:
		return notRegular(name)
	case syscall.ENAMETOOLONG:
		return invalid(name, "it is too long")
	case syscall.ELOOP:
		return invalid(name, "it goes through too many symbolic links")
	}
	return &PathError{name, number.Error(), number}
}

// innermost strips the wrappers that hold paths.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// inputError is an error of the reader that Put copies from.
func inputError(name string, err error) error {
	return fmt.Errorf("read the content of %s: %w", quote(name), err)
}
