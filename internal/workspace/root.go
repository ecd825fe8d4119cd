// Package workspace keeps file access inside the directory that agents work in.
//
// A Root is that directory. Everything a caller, a model or a link names is
// resolved inside it: Resolve turns the name of a workspace into the directory
// an agent starts in, and the file operations (OpenFile, List, Put, Remove)
// serve those surfaces that show or change files. They all go through os.Root,
// so a link that is swapped in between a check and its use cannot lead out
// either. Names use forward slashes and are relative to the root; "" and "."
// are the root itself.
//
// What is wrong with a name comes back as a *PathError, which can be shown to
// a caller: it never holds a path of the machine. Its kind is found with
// errors.Is: ErrEscapes, ErrInvalid, ErrNotDir, ErrIsDir, ErrNotRegular,
// ErrTooLarge, fs.ErrNotExist, fs.ErrPermission.
//
// An Ephemeral is a directory for one run that needs no lasting workspace.
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

const (
	dirMode  = 0o755 // of directories that are made here, before the umask
	fileMode = 0o644 // of files that are made here, before the umask
)

// Root is the directory below which all workspaces are. It is safe for
// concurrent use, and stays valid until Close.
type Root struct {
	dir    string // real, absolute
	jail   *os.Root
	escape error // what jail says of a name that leaves it
}

// Open opens the directory dir, which is made when it is missing. The errors
// of Open name dir: they are for the operator.
func Open(dir string) (*Root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find workspace root %q: %w", dir, err)
	}
	if err := os.MkdirAll(abs, dirMode); err != nil {
		return nil, fmt.Errorf("make workspace root: %w", err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("resolve workspace root: %w", err)
	}
	jail, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("open workspace root: %w", err)
	}
	// os has no exported name for this error; asking for it is safer than
	// comparing texts.
	_, escape := jail.Lstat("..")
	return &Root{dir: real, jail: jail, escape: errors.Unwrap(escape)}, nil
}

// Dir returns the root's absolute path, its own links resolved.
func (r *Root) Dir() string { return r.dir }

// Close gives up the root; using it afterwards is an error.
func (r *Root) Close() error { return r.jail.Close() }

// Resolve returns the absolute path of the directory name, which is made when
// it is missing. Links that stay inside are followed, so that two names of one
// directory give one path. A link that leaves the root, or is absolute, is
// ErrEscapes; a file is ErrNotDir.
func (r *Root) Resolve(name string) (abs string, err error) {
	real, err := r.makeDir(name)
	if err != nil {
		return "", err
	}
	return filepath.Join(r.dir, filepath.FromSlash(real)), nil
}

// MkdirAll makes the directory name and those above it. One that is there
// already is no error.
func (r *Root) MkdirAll(name string) error {
	_, err := r.makeDir(name)
	return err
}

// makeDir makes a directory and returns its real name in the root.
func (r *Root) makeDir(name string) (real string, err error) {
	clean, _, err := checkNew(name)
	if err != nil {
		return "", err
	}
	real, err = r.follow(name, clean)
	if err != nil {
		return "", err
	}
	if len(r.dir)+len(real)+1 > maxPath {
		return "", invalid(name, "the path is too long")
	}
	if err := r.jail.MkdirAll(real, dirMode); err != nil {
		return "", r.wrap(name, err)
	}
	info, err := r.jail.Lstat(real)
	if err != nil {
		return "", r.wrap(name, err)
	}
	if !info.IsDir() {
		return "", notDir(name)
	}
	return real, nil
}

// follow returns the real name in the root of what clean names: every link
// inside it, the last component's too, replaced by its target. What does not
// exist yet keeps its name. name is for errors.
func (r *Root) follow(name, clean string) (string, error) {
	w := walk{root: r, name: name, left: split(clean)}
	for len(w.left) > 0 {
		if err := w.step(); err != nil {
			return "", err
		}
	}
	if w.real == "" {
		return ".", nil
	}
	return w.real, nil
}

// walk is a resolution under way.
type walk struct {
	root    *Root
	name    string   // as the caller gave it
	real    string   // resolved so far, "" for the root
	left    []string // components to resolve
	missing bool     // real does not exist
	links   int      // followed so far
}

// maxLinks is how many links one name may go through, as in Linux.
const maxLinks = 40

func (w *walk) step() error {
	part := w.left[0]
	w.left = w.left[1:]
	switch {
	case part == "" || part == ".":
		return nil
	case part == "..":
		return w.up()
	case w.missing:
		w.real = path.Join(w.real, part)
		return nil
	}
	next := path.Join(w.real, part)
	info, err := w.root.jail.Lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.real, w.missing = next, true
		return nil
	case err != nil:
		return w.root.wrap(w.name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return w.link(next)
	}
	w.real = next
	return nil
}

// up handles "..", which only the target of a link can hold.
func (w *walk) up() error {
	if w.missing {
		return notExist(w.name)
	}
	if w.real == "" {
		return escapes(w.name)
	}
	if w.real = path.Dir(w.real); w.real == "." {
		w.real = ""
	}
	return nil
}

// link goes on with the target of a link.
func (w *walk) link(at string) error {
	if w.links++; w.links > maxLinks {
		return invalid(w.name, "it goes through too many symbolic links")
	}
	target, err := w.root.jail.Readlink(at)
	if err != nil {
		return w.root.wrap(w.name, err)
	}
	if path.IsAbs(target) {
		return escapes(w.name)
	}
	w.left = append(split(target), w.left...)
	return nil
}
