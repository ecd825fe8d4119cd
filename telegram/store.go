package telegram

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxDownload is the largest file that is taken. Telegram's own server hands
// out 20 MB; others can do more.
const maxDownload = 2 << 30

// store writes a file into the place's workspace under the first free one of
// name's variants, and returns that. Nothing that is there is ever replaced:
// the content is written under another name and then linked, which fails if
// the name is taken.
func (r *room) store(name string, content io.Reader) (string, error) {
	dir, err := r.desk.box.Workspaces().Resolve(r.desk.settings(r.place).workspace)
	if err != nil {
		return "", err
	}
	jail, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = jail.Close() }()
	temp := ".aicodebox-put-" + rand.Text() // listings leave such names out
	if err := fill(jail, temp, content); err != nil {
		_ = jail.Remove(temp)
		return "", err
	}
	defer func() { _ = jail.Remove(temp) }()
	for n := range maxSuffix {
		free := numbered(name, n)
		err := settle(jail, temp, free)
		if err == nil {
			return free, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("store %s: the workspace holds too many files of that name", name)
}

func fill(jail *os.Root, name string, content io.Reader) error {
	f, err := jail.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(content, maxDownload+1))
	if err == nil && n > maxDownload {
		err = errors.New("the file is too large")
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// settle gives temp its name. Where the file system knows no links, a free name
// is taken and then replaced.
func settle(jail *os.Root, temp, name string) error {
	err := jail.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := jail.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_ = f.Close()
	return jail.Rename(temp, name)
}
