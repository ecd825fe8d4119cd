package workspace

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxName = 255  // bytes in one component, by NAME_MAX of Linux
	maxPath = 4095 // bytes in a path, by PATH_MAX of Linux less its zero byte
)

// check looks at a name without touching the disk, and returns it cleaned and
// whether it asked for a directory by a trailing slash.
func check(name string) (clean string, slash bool, err error) {
	switch {
	case strings.IndexByte(name, 0) >= 0:
		return "", false, invalid(name, "it holds a zero byte")
	case len(name) > maxPath:
		return "", false, invalid(name, "it is longer than 4095 bytes")
	case strings.HasPrefix(name, "/"):
		return "", false, escapes(name)
	}
	for _, part := range split(name) {
		if part == ".." {
			return "", false, escapes(name)
		}
		if len(part) > maxName {
			return "", false, invalid(name, "a part of it is longer than 255 bytes")
		}
	}
	return path.Clean(name), strings.HasSuffix(name, "/"), nil
}

// checkNew is check for a name that is about to be made. It refuses what
// listings, logs and messages could not show.
func checkNew(name string) (clean string, slash bool, err error) {
	clean, slash, err = check(name)
	if err != nil {
		return "", false, err
	}
	if !utf8.ValidString(name) {
		return "", false, invalid(name, "it is not valid UTF-8")
	}
	if strings.IndexFunc(name, control) >= 0 {
		return "", false, invalid(name, "it holds a control character")
	}
	return clean, slash, nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

func split(name string) []string { return strings.Split(name, "/") }

// bytes says a number of bytes.
func bytes(n int64) string { return strconv.FormatInt(n, 10) + " bytes" }
