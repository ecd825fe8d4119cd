package runner

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// outlet is our end of one of a process's outputs. Beside the bytes it can tell
// that nothing is left to read right now, without any guess about time: an
// agent's last words are never lost to a busy machine.
type outlet struct {
	file *os.File
	to   *capture
	// state counts the reader's moves: it is odd while the reader waits for the
	// pipe, even while it holds or hands on bytes.
	state atomic.Uint64
}

// read reads what there is, waiting for it if need be. The error is io.EOF when
// the last writer has closed.
func (o *outlet) read(conn syscall.RawConn, data []byte) (n int, err error) {
	waitErr := conn.Read(func(fd uintptr) bool {
		if o.state.Load()%2 == 1 {
			o.state.Add(1)
		}
		for {
			n, err = unix.Read(int(fd), data)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if errors.Is(err, unix.EAGAIN) {
			o.state.Add(1)
			return false
		}
		return true
	})
	switch {
	case waitErr != nil:
		return 0, waitErr
	case err == nil && n <= 0:
		return 0, io.EOF
	}
	return max(n, 0), err
}

// quiet tells whether the reader waits for an empty pipe.
func (o *outlet) quiet() bool {
	before := o.state.Load()
	if before%2 == 0 {
		return false
	}
	conn, err := o.file.SyscallConn()
	if err != nil {
		return true // closed: it has ended
	}
	left := 0
	if conn.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }) != nil {
		return true
	}
	return err == nil && left == 0 && o.state.Load() == before
}
