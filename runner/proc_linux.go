package runner

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// stat is what /proc/PID/stat tells of a process (proc_pid_stat(5)).
type stat struct {
	pid, parent, group, session int
	state                       byte
	start                       uint64 // clock ticks after boot; with the pid it names a process for good
}

func (s stat) zombie() bool { return s.state == 'Z' || s.state == 'X' }

// alive tells whether exactly this process still runs.
func (s stat) alive() bool {
	now, ok := readStat(s.pid)
	return ok && now.start == s.start && !now.zombie()
}

// readStat reads the stat of pid. ok is false when there is no such process.
func readStat(pid int) (s stat, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	// The command, in parentheses, may itself hold spaces and parentheses.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return s, false
	}
	f := strings.Fields(string(data[end+1:]))
	if len(f) < 20 {
		return s, false
	}
	s.pid, s.state = pid, f[0][0]
	s.parent, _ = strconv.Atoi(f[1])
	s.group, _ = strconv.Atoi(f[2])
	s.session, _ = strconv.Atoi(f[3])
	s.start, _ = strconv.ParseUint(f[19], 10, 64)
	return s, true
}

// processes reads the stat of every process there is.
func processes() []stat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := make([]stat, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := readStat(pid); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// adopted returns the children of this process's main thread, living and dead.
// The kernel gives orphans to the first living thread of their new parent,
// which in a Go program is the main one; children that another thread started
// are not among them.
//
// The kernel's list may leave out a child when another one goes while it is
// read (proc_pid_children(5)), so it is read until it says the same twice.
func adopted() []int {
	path := fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())
	last := ""
	seen := make(map[int]struct{})
	for range maxListReads {
		data, err := os.ReadFile(path)
		if err != nil {
			return childrenByParent()
		}
		if text := string(data); text == last {
			break
		} else {
			last = text
		}
		for field := range strings.FieldsSeq(last) {
			if pid, err := strconv.Atoi(field); err == nil {
				seen[pid] = struct{}{}
			}
		}
	}
	return slices.Collect(maps.Keys(seen))
}

// maxListReads bounds how often a list that keeps changing is read.
const maxListReads = 10

// childrenByParent is adopted for kernels without CONFIG_PROC_CHILDREN.
func childrenByParent() []int {
	var pids []int
	self := os.Getpid()
	for _, s := range processes() {
		if s.parent == self {
			pids = append(pids, s.pid)
		}
	}
	return pids
}

// hasMarker tells whether the process was started with the run marker mark
// (NAME=value) in its environment. A process in the middle of an exec shows an
// empty environment for a moment, which is waited out.
func hasMarker(pid int, mark string) bool {
	for range markerTries {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return false
		}
		if len(data) > 0 {
			return slices.Contains(strings.Split(string(data), "\x00"), mark)
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// markerTries bounds how often an empty environment is read again.
const markerTries = 5

// kernelThreads is the process whose children are the kernel's own.
const kernelThreads = 2

// commandLine returns a process's command line for people, at most 200 bytes.
func commandLine(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(data) == 0 {
		data, _ = os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	}
	line := strings.TrimSpace(string(bytes.ReplaceAll(data, []byte{0}, []byte{' '})))
	return strings.ToValidUTF8(line[:min(len(line), 200)], "")
}

// lives tells whether exactly this process still runs.
func lives(p ledger.Process) bool {
	return stat{pid: p.PID, start: p.Start}.alive()
}

// ticks is the number of clock ticks in a second, as /proc counts them: the
// kernel's USER_HZ, 100 on every Linux architecture Go runs on.
const ticks = 100

// age is how long ago a process with this start began.
func age(start uint64) time.Duration {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return 0
	}
	return time.Duration(up.Nano()) - time.Duration(start)*time.Second/ticks
}
