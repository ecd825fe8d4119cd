package runner

import (
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// The graces of ending processes.
const (
	killGrace   = 5 * time.Second         // from TERM to KILL, when a run is ended
	settleGrace = 1500 * time.Millisecond // the same, for what a run that ended by itself left in its group
	sweepLimit  = 2 * time.Second         // for the last of a tree to be gone after KILL
	pollGap     = 5 * time.Millisecond    // between two looks while processes end
)

// tree is the processes of one attempt: the agent, and all it started. They are
// found by ancestry while their parents live, and by the run marker in their
// environment, so that neither a new session nor a scrubbed environment alone
// hides one.
type tree struct {
	leader int
	start  uint64  // of the leader; nothing of the run is older
	mark   string  // the run marker, NAME=value
	reaper *reaper // nil when nothing of the tree can be our child

	unmarked bool // only ancestry tells what belongs

	mu     sync.Mutex
	known  map[int]uint64 // pid -> start, of all that were ever seen, the leader too
	others map[int]uint64 // pid -> start, of processes that were looked at and are not ours
}

func newTree(leader int, mark string, r *reaper) *tree {
	t := &tree{
		leader: leader, mark: mark, reaper: r,
		known: make(map[int]uint64), others: make(map[int]uint64),
	}
	if s, ok := readStat(leader); ok {
		t.start = s.start
		t.known[leader] = s.start
	}
	return t
}

// look finds the tree's processes that are alive.
func (t *tree) look() []stat {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := processes()
	byParent := make(map[int][]stat, len(all))
	for _, s := range all {
		byParent[s.parent] = append(byParent[s.parent], s)
	}
	var found []stat
	seen := make(map[int]bool)
	var add func(s stat)
	add = func(s stat) {
		if seen[s.pid] {
			return
		}
		seen[s.pid] = true
		t.known[s.pid] = s.start
		if !s.zombie() {
			found = append(found, s)
		}
		for _, child := range byParent[s.pid] {
			add(child)
		}
	}
	for _, s := range all {
		if t.belongs(s) {
			add(s)
		}
	}
	return found
}

// belongs tells whether s was seen before, is in the agent's session, or carries
// the marker. Callers hold t.mu.
func (t *tree) belongs(s stat) bool {
	if start, ok := t.known[s.pid]; ok {
		return start == s.start
	}
	if t.unmarked || s.start < t.start || s.parent == kernelThreads {
		return false
	}
	if t.leader != 0 && (s.session == t.leader || s.group == t.leader) {
		return true // the agent's own session: only its own can be in it
	}
	if s.zombie() {
		return false
	}
	if start, ok := t.others[s.pid]; ok && start == s.start {
		return false
	}
	if hasMarker(s.pid, t.mark) {
		return true
	}
	// A process between fork and exec shows its parent's environment or none;
	// its ancestry finds it meanwhile, so it is judged by the next look.
	if age(s.start) > time.Second {
		t.others[s.pid] = s.start
	}
	return false
}

// orphans tells, at little cost, whether the agent, which has ended, left
// processes behind: its group has members, or this process adopted some.
func (t *tree) orphans() bool {
	if syscall.Kill(-t.leader, 0) == nil {
		return true
	}
	return slices.ContainsFunc(t.reaper.strangers(), func(s stat) bool {
		if s.zombie() {
			return false
		}
		t.mu.Lock()
		start, ok := t.known[s.pid]
		t.mu.Unlock()
		return ok && start == s.start || hasMarker(s.pid, t.mark)
	})
}

// end ends the whole tree: TERM to the agent's group, KILL to the group when
// the grace is over, then KILL to all that left the group. exited is closed
// when the agent's status was taken.
func (t *tree) end(exited <-chan struct{}) {
	group := only(t.look(), t.inGroup)
	select {
	case <-exited:
		send(group, syscall.SIGTERM)
	default:
		// Nobody has waited for the agent, so its id is still its group's.
		_ = syscall.Kill(-t.leader, syscall.SIGTERM)
	}
	deadline := time.Now().Add(killGrace)
	outlast(group, deadline)
	outlast(only(t.look(), t.inGroup), deadline) // what it started meanwhile
	t.sweep(anyProcess)
}

// settle ends what an agent that ended by itself left in its group, and with
// all what left the group too. It returns how many it ended and what lives on.
func (t *tree) settle(all bool) (ended int, living []ledger.Process) {
	doomed := t.inGroup
	if all {
		doomed = anyProcess
	}
	found := t.look()
	ended = len(only(found, doomed))
	if ended > 0 {
		t.endSome(doomed, settleGrace)
		found = t.look()
	}
	return ended, named(found)
}

// endSome sends TERM to the processes that are doomed, and KILL after grace.
func (t *tree) endSome(doomed func(stat) bool, grace time.Duration) {
	list := only(t.look(), doomed)
	send(list, syscall.SIGTERM)
	outlast(list, time.Now().Add(grace))
	t.sweep(doomed)
}

// sweep kills those that are doomed until none is left.
func (t *tree) sweep(doomed func(stat) bool) {
	until := time.Now().Add(sweepLimit)
	for list := only(t.look(), doomed); len(list) > 0 && time.Now().Before(until); list = only(t.look(), doomed) {
		send(list, syscall.SIGKILL)
		outlast(list, until)
	}
	if t.reaper != nil { // else nothing of the tree can be our child
		t.reaper.reap()
	}
}

// outlast waits until none of list is alive, at most until the deadline.
func outlast(list []stat, deadline time.Time) {
	for {
		list = slices.DeleteFunc(list, func(s stat) bool { return !s.alive() })
		if len(list) == 0 || time.Now().After(deadline) {
			return
		}
		time.Sleep(pollGap)
	}
}

// send sends sig to exactly the processes in list.
func send(list []stat, sig syscall.Signal) {
	for _, s := range list {
		if s.alive() {
			_ = syscall.Kill(s.pid, sig)
		}
	}
}

// named is list in the ledger's words.
func named(list []stat) []ledger.Process {
	var processes []ledger.Process
	for _, s := range list {
		processes = append(processes, ledger.Process{PID: s.pid, Start: s.start, Command: commandLine(s.pid)})
	}
	return processes
}

// only returns a new list of those in list that keep wants.
func only(list []stat, keep func(stat) bool) []stat {
	var kept []stat
	for _, s := range list {
		if keep(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

func anyProcess(stat) bool { return true }

func (t *tree) inGroup(s stat) bool { return s.group == t.leader }
