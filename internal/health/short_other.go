//go:build unix && !linux

package health

import "fmt"

// shortDir returns dir if names of n bytes in it can be used as addresses.
func shortDir(dir string, n int) (short string, release func(), err error) {
	if len(dir)+1+n > maxAddress {
		return "", nil, fmt.Errorf("the path is longer than the %d bytes that a socket may have; use a shorter state directory", maxAddress)
	}
	return dir, func() {}, nil
}

// shortFile returns path if it can be used as an address.
func shortFile(path string) (short string, release func(), err error) {
	return shortDir(path, 0)
}
