package health

import (
	"fmt"
	"os"
	"syscall"
)

// oPath is O_PATH of <fcntl.h>: a descriptor that only names a file.
const oPath = 0x200000

// shortDir returns a short path of the directory dir, in which names of n bytes
// can be used as addresses until release.
func shortDir(dir string, n int) (short string, release func(), err error) {
	if len(dir)+1+n <= maxAddress {
		return dir, func() {}, nil
	}
	return descriptor(dir)
}

// shortFile returns a short path of the socket path.
func shortFile(path string) (short string, release func(), err error) {
	if len(path) <= maxAddress {
		return path, func() {}, nil
	}
	return descriptor(path)
}

func descriptor(path string) (short string, release func(), err error) {
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), func() { _ = syscall.Close(fd) }, nil
}
