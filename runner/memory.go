package runner

import (
	"runtime/debug"
	"sync"
)

// largeOutput is how much kept output makes a run a heavy one.
const largeOutput = 16 << 20

// heavy counts the runs that keep much output. While there are any, the
// collector runs more often, so that what parsing leaves behind does not double
// the memory that the kept output takes.
var heavy struct {
	sync.Mutex
	runs   int
	before int
}

// heavyGC is the collector's target percentage while runs are heavy.
const heavyGC = 20

func enterHeavy() {
	heavy.Lock()
	defer heavy.Unlock()
	if heavy.runs++; heavy.runs == 1 {
		heavy.before = debug.SetGCPercent(heavyGC)
	}
}

func leaveHeavy() {
	heavy.Lock()
	defer heavy.Unlock()
	if heavy.runs--; heavy.runs == 0 {
		debug.SetGCPercent(heavy.before)
	}
}
