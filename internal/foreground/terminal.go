//go:build unix

package foreground

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// terminal is the terminal on standard input.
type terminal struct {
	held bool // our process group may hand it over
	own  int  // our process group
}

// ownTerminal returns the terminal, held if this process is in its foreground.
func ownTerminal() terminal {
	t := terminal{own: syscall.Getpgrp()}
	front, err := foregroundGroup(0)
	t.held = err == nil && front == t.own
	return t
}

// IsTerminal tells whether standard input is a terminal of which this process
// is in the foreground.
func IsTerminal() bool { return ownTerminal().held }

// Shows tells whether what is written to f comes out of this process's terminal.
func Shows(f *os.File) bool {
	_, err := foregroundGroup(f.Fd())
	return err == nil
}

// controlled tells whether this process has a controlling terminal.
func controlled() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// give makes group the foreground group.
func (t terminal) give(group int) {
	if t.held {
		// From the background, where we are now, setting the group would stop
		// us. Set after the program's start, so that it is not inherited.
		signal.Ignore(syscall.SIGTTOU)
		setForegroundGroup(0, group)
	}
}

// take makes our own group the foreground group again.
func (t terminal) take() {
	if t.held && t.own > 0 { // 0: the group is in another namespace
		setForegroundGroup(0, t.own)
	}
}

func foregroundGroup(fd uintptr) (int, error) {
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group))) //nolint:gosec // the kernel fills it
	if errno != 0 {
		return 0, errno
	}
	return int(group), nil
}

func setForegroundGroup(fd uintptr, group int) {
	g := int32(group)                                                                                //nolint:gosec // a process id
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&g))) //nolint:gosec // the kernel reads it
}
