package foreground

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// prSetDumpable is PR_SET_DUMPABLE of <linux/prctl.h>.
const prSetDumpable = 4

// Seal makes this process non-dumpable, so that a process of the same user
// cannot read its memory and environment.
func Seal() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// process is what /proc tells of a process.
type process struct {
	pid     int
	state   string
	parent  int
	session string
	start   string
}

// readProcess reads /proc/<pid>/stat: after the name in parentheses come
// state, parent, group, session and, as the twentieth, the start time.
func readProcess(pid int) (process, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	return process{pid: pid, state: fields[0], parent: parent, session: fields[3], start: fields[19]}, true
}

// reapSession collects our dead children that are in our session, except one.
func reapSession(except int) {
	self, ok := readProcess(os.Getpid())
	if !ok {
		return
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == except {
			continue
		}
		p, ok := readProcess(pid)
		if ok && p.state == "Z" && p.parent == self.pid && p.session == self.session {
			var s syscall.WaitStatus
			_, _ = syscall.Wait4(pid, &s, syscall.WNOHANG, nil)
		}
	}
}

// Stamp identifies this process: its pid and when it started. Executing another
// program does not change it.
func Stamp() string {
	p, _ := readProcess(os.Getpid())
	return strconv.Itoa(p.pid) + " " + p.start
}

// Alive tells whether the process with that Stamp lives.
func Alive(stamp string) bool {
	first, start, _ := strings.Cut(strings.TrimSpace(stamp), " ")
	pid, err := strconv.Atoi(first)
	if err != nil || start == "" {
		return false
	}
	p, ok := readProcess(pid)
	return ok && p.start == start && p.state != "Z"
}
