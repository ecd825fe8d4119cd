//go:build unix && !linux

package foreground

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Seal does nothing here: only Linux has the attribute.
func Seal() error { return nil }

// reapSession does nothing here: no orphan becomes our child.
func reapSession(int) {}

// Stamp identifies this process by its pid.
func Stamp() string { return strconv.Itoa(os.Getpid()) }

// Alive tells whether the process with that Stamp lives.
func Alive(stamp string) bool {
	pid, err := strconv.Atoi(strings.TrimSpace(stamp))
	return err == nil && pid > 0 && syscall.Kill(pid, 0) == nil
}
