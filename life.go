package aicodebox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/psyb0t/aicodebox/internal/foreground"
)

// The times of a shutdown.
const (
	// killTime is what the end of an agent takes at most: 5 s between TERM and
	// KILL, and a little. It is a part of the grace.
	killTime = 5500 * time.Millisecond
	// lastWords is how long surfaces may take beyond killTime after the box
	// has given up, before it ends without them.
	lastWords = 2500 * time.Millisecond
)

var (
	errGraceOver    = errors.New("the box was stopped and the grace time is over")
	errSecondSignal = errors.New("the box was stopped at once by a second signal")
)

// life is a box that serves, from the first surface's start to the end.
// Everything happens in run's goroutine.
type life struct {
	*start
	log     *slog.Logger
	signals chan os.Signal
	ended   chan ended // one for each surface
	left    int        // surfaces that serve
	stop    context.CancelFunc

	agent      *foreground.Process // in the foreground, or nil
	agentEnded chan int            // its exit status; nil without one, and once seen
	agentLimit <-chan time.Time    // when it is killed; nil before the shutdown

	stopping bool
	gaveUp   bool
	over     bool
	code     int
	patience *time.Timer
	hangup   <-chan struct{} // the end of Main's context; nil once seen
}

// ended tells how a surface ended.
type ended struct {
	surface Surface
	err     error
}

// run serves until all is over and returns the exit status.
func (l *life) run(ctx context.Context) int {
	// Surfaces end when the box has told why, not before.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	l.stop, l.hangup = stop, ctx.Done()
	l.patience = time.NewTimer(time.Hour)
	l.patience.Stop()
	defer l.tellHealth()()
	l.open(serving)
	for !l.done() {
		l.step()
	}
	l.close()
	l.log.Info("the box has stopped", "status", l.code)
	return l.code
}

// open starts every enabled surface.
func (l *life) open(serving context.Context) {
	l.ended = make(chan ended, len(l.surfaces))
	for _, surface := range l.surfaces {
		if !l.enabled(surface) {
			continue
		}
		l.left++
		go func() { l.ended <- ended{surface, serveSurface(serving, surface)} }()
	}
	l.log.Info("the box serves", "modes", strings.Join(l.on, ","), "agent", l.box.desc.Name,
		"version", l.box.version, "instance", l.box.instance)
}

// done tells whether nothing is left to wait for.
func (l *life) done() bool {
	if l.over {
		return true
	}
	if l.left > 0 || l.agentEnded != nil {
		return false
	}
	select {
	case <-l.box.idle:
		return true
	default:
		return false
	}
}

// step waits for one thing to happen and deals with it.
func (l *life) step() {
	idle := l.box.idle
	if l.left > 0 || l.agentEnded != nil {
		idle = nil
	}
	select {
	case s := <-l.signals:
		l.signal(s.(syscall.Signal))
	case <-l.hangup:
		l.hangup = nil
		l.begin("the program's context has ended")
		l.endAgent()
	case e := <-l.ended:
		l.left--
		l.surfaceEnded(e)
	case status := <-l.agentEnded:
		l.agentEnded = nil
		if l.code == exitOK {
			l.code = status
		}
		l.begin(fmt.Sprintf("the agent in the foreground ended with status %d", status))
	case <-l.patience.C:
		l.expire()
	case <-l.agentLimit:
		l.killAgent(errGraceOver)
	case <-idle:
	}
}

func (l *life) signal(s syscall.Signal) {
	switch {
	case s == syscall.SIGHUP:
		if l.agent == nil { // with one, the terminal is gone, and it decides
			l.log.Info("hangup signal: files are read again")
		}
		l.box.reloaded()
	case s == syscall.SIGINT && l.agentEnded != nil && !l.stopping:
		// It was passed on: in a terminal, it means the agent's work, not the box.
	case !l.stopping:
		l.begin("signal " + signalName(s))
	default:
		l.code = exitSignal + int(s)
		l.log.Warn("second signal: the box stops at once", "signal", signalName(s))
		if l.gaveUp {
			l.over = l.over || l.abandon()
			return
		}
		l.giveUp(errSecondSignal)
		l.killAgent(errSecondSignal)
	}
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGTERM:
		return "TERM"
	case syscall.SIGINT:
		return "INT"
	}
	return s.String()
}

// surfaceEnded deals with a surface that serves no more.
func (l *life) surfaceEnded(e ended) {
	if e.err == nil && l.stopping {
		return
	}
	if e.err == nil {
		e.err = errors.New("it ended without being asked to")
	}
	l.log.Error("a surface failed", "mode", e.surface.Mode(), "error", e.err)
	if l.code == exitOK {
		l.code = exitFailed
	}
	l.begin("the " + e.surface.Mode() + " surface failed")
	l.endAgent()
}

// endAgent asks an agent in the foreground to end, for a reason that it does
// not know of by itself.
func (l *life) endAgent() {
	if l.agentEnded != nil {
		l.agent.Signal(syscall.SIGTERM)
	}
}

// begin starts the shutdown: no new work is taken, prompts in hand go on.
func (l *life) begin(reason string) {
	if l.stopping {
		return
	}
	l.stopping = true
	grace := l.box.limits.Grace
	l.log.Info("the box stops", "reason", reason, "prompts", l.box.inHand(), "grace", grace)
	l.box.drain()
	l.stop()
	l.patience.Reset(patienceOf(grace))
	if l.agentEnded != nil {
		l.agentLimit = time.After(grace)
	}
}

// patienceOf returns how much of the grace prompts in hand have before their
// agents are ended. Ending takes the rest; of a short grace, two thirds.
func patienceOf(grace time.Duration) time.Duration {
	return grace - min(killTime, grace/3*2)
}

// expire deals with a shutdown that takes too long.
func (l *life) expire() {
	if !l.gaveUp {
		l.giveUp(errGraceOver)
		return
	}
	l.over = l.abandon()
}

// giveUp ends the prompts in hand.
func (l *life) giveUp(why error) {
	l.gaveUp = true
	if n := l.box.inHand(); n > 0 {
		l.log.Warn("prompts in hand are cut short", "prompts", n, "reason", why)
	}
	l.box.giveUp(why)
	l.patience.Reset(killTime + lastWords)
}

// killAgent ends an agent in the foreground at once.
func (l *life) killAgent(why error) {
	if l.agentEnded != nil {
		l.log.Warn("the agent in the foreground is killed", "reason", why)
		l.agent.Signal(syscall.SIGKILL)
	}
}

// abandon ends the box without what does not end.
func (l *life) abandon() bool {
	l.log.Error("the box stops without waiting any longer", "surfaces", l.left, "prompts", l.box.inHand())
	return true
}
