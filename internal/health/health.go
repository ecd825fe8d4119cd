//go:build unix

// Package health lets a box tell how it is over a Unix socket, so that
// `box health` works in every mode and needs no port and no token.
//
// The protocol is one line: whoever connects is told the state, and the
// connection is closed. Who may connect is the matter of the socket's file
// mode, 0600.
//
// The address of a Unix socket holds 108 bytes at most on Linux, less
// elsewhere, while a state directory may lie deeper. There, Linux is shown the
// directory and the socket through /proc/self/fd.
package health

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Serving is the state of a box that is well.
const Serving = "ok"

// maxAddress is what every system accepts as the address of a Unix socket.
const maxAddress = 100

// patience bounds one conversation.
const patience = 3 * time.Second

// Server tells the state of a box.
type Server struct {
	path  string
	info  os.FileInfo
	ln    net.Listener
	state func() string
	done  sync.WaitGroup
}

// Serve tells state(), a line without its end, on the socket path until Close.
// The directory is made when it is missing. A socket that is there already is
// replaced: its box is dead, or has the same name.
func Serve(path string, state func() string) (*Server, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the health socket: %w", err)
	}
	s := &Server{path: path, state: state}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("open the health socket %s: %w", path, err)
	}
	s.done.Go(s.accept)
	return s, nil
}

// listen opens a socket under another name first: replacing the old one is one
// step then, and nobody can connect before the file mode is set.
func (s *Server) listen() error {
	dir := filepath.Dir(s.path)
	temporary := ".health-" + rand.Text()[:8]
	short, release, err := shortDir(dir, len(temporary))
	if err != nil {
		return err
	}
	defer release()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, temporary), Net: "unix"})
	if err != nil {
		return err
	}
	ln.SetUnlinkOnClose(false)
	s.ln = ln
	name := filepath.Join(dir, temporary)
	err = os.Chmod(name, 0o600)
	if err == nil {
		err = os.Rename(name, s.path)
	}
	if err == nil {
		s.info, err = os.Lstat(s.path)
	}
	if err != nil {
		return errors.Join(err, ln.Close(), ignoreMissing(os.Remove(name)))
	}
	return nil
}

func (s *Server) accept() {
	for {
		c, err := s.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(50 * time.Millisecond) // out of descriptors, say
			continue
		}
		_ = c.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(c, s.state()+"\n") // who does not listen is not told
		_ = c.Close()
	}
}

// Close stops telling and removes the socket, unless another box has replaced
// it.
func (s *Server) Close() error {
	err := s.ln.Close()
	s.done.Wait()
	if info, e := os.Lstat(s.path); e == nil && os.SameFile(info, s.info) {
		err = errors.Join(err, ignoreMissing(os.Remove(s.path)))
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Ask returns the state that a box tells on the socket path.
func Ask(path string) (state string, err error) {
	short, release, err := shortFile(path)
	if err != nil {
		return "", err
	}
	defer release()
	c, err := net.DialTimeout("unix", short, patience)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer c.Close() //nolint:errcheck // it was only read
	_ = c.SetDeadline(time.Now().Add(patience))
	line, err := bufio.NewReader(io.LimitReader(c, 256)).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the box does not answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}
