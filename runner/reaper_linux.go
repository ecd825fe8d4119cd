package runner

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reaper collects the dead that nobody else waits for. The box is process 1 or
// a subreaper, so whatever an agent leaves behind becomes a child of ours when
// its parent ends.
//
// A child of ours that os/exec started must never be collected here, or its
// exit status would be lost. Two things tell them apart: the runner's own
// children are registered from before they start until they were waited for,
// and everybody else's are in our session, while agents get one of their own.
type reaper struct {
	session int
	// own guards registration: it is held for reading while a process starts,
	// so that no look at the children falls between its start and its entry.
	own  sync.RWMutex
	mine sync.Map // pid -> struct{}
	stop chan struct{}
	done chan struct{}
}

// theReaper is the one of this process, which has one set of children however
// many boxes it holds.
var theReaper struct {
	sync.Mutex
	*reaper
	users int
}

// takeReaper returns the reaper of this process. Each call is matched by one of
// its release.
func takeReaper() (*reaper, error) {
	theReaper.Lock()
	defer theReaper.Unlock()
	if theReaper.users == 0 {
		r, err := newReaper()
		if err != nil {
			return nil, err
		}
		theReaper.reaper = r
	}
	theReaper.users++
	return theReaper.reaper, nil
}

// release stops the collecting when nobody needs it any more.
func (r *reaper) release() {
	theReaper.Lock()
	defer theReaper.Unlock()
	if theReaper.users--; theReaper.users == 0 {
		r.close()
	}
}

// newReaper makes this process a subreaper and starts collecting.
func newReaper() (*reaper, error) {
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	sid, sidErr := unix.Getsid(0)
	if err = errors.Join(err, sidErr); err != nil {
		return nil, err
	}
	r := &reaper{session: sid, stop: make(chan struct{}), done: make(chan struct{})}
	go r.loop()
	return r, nil
}

// close stops collecting.
func (r *reaper) close() {
	close(r.stop)
	<-r.done
}

// start runs f, which starts a process and returns its pid, so that the
// process is known before it can be taken for a stranger.
func (r *reaper) start(f func() (pid int, err error)) error {
	r.own.RLock()
	defer r.own.RUnlock()
	pid, err := f()
	if err == nil {
		r.mine.Store(pid, struct{}{})
	}
	return err
}

// waited says that pid's exit status was taken.
func (r *reaper) waited(pid int) { r.mine.Delete(pid) }

// reapGap keeps a burst of deaths from costing a look each.
const reapGap = 20 * time.Millisecond

func (r *reaper) loop() {
	defer close(r.done)
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, syscall.SIGCHLD)
	defer signal.Stop(deaths)
	for {
		select {
		case <-r.stop:
			return
		case <-deaths:
		}
		select {
		case <-r.stop:
			return
		case <-time.After(reapGap):
		}
		r.reap()
	}
}

// reap collects every stranger that is dead.
func (r *reaper) reap() {
	for _, s := range r.strangers() {
		if s.zombie() {
			var status unix.WaitStatus
			_, _ = unix.Wait4(s.pid, &status, unix.WNOHANG, nil)
		}
	}
}

// strangers returns our adopted children, living and dead.
func (r *reaper) strangers() []stat {
	r.own.Lock()
	pids := adopted()
	var known []int
	for _, pid := range pids {
		if _, ok := r.mine.Load(pid); !ok {
			known = append(known, pid)
		}
	}
	r.own.Unlock()
	var found []stat
	for _, pid := range known {
		if s, ok := readStat(pid); ok && s.session != r.session {
			found = append(found, s)
		}
	}
	return found
}
