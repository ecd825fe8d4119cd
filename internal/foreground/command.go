//go:build unix

// Package foreground runs the agent in front of a person: in place of this
// process, or as its child with the terminal handed over.
//
// Exec is for the first. A Command is for the second: it starts the program in
// a process group of its own, makes that the terminal's foreground group if
// there is a terminal, passes signals on, and returns the program's exit
// status. As process 1 it also collects what the program leaves behind.
package foreground

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Command is a program to run in the foreground.
type Command struct {
	Path string   // its file
	Argv []string // its name and its arguments
	Env  []string // its environment, as NAME=value

	// Reap is how the dead children of others that become ours are collected.
	Reap Reap
}

// Reap says whose dead children are collected.
type Reap int

// The ways to collect dead children.
const (
	ReapNone    Reap = iota // only the program itself
	ReapSession             // those in our session: others may wait for children in other sessions
	ReapAll                 // every child: nobody else in this process waits for one
)

// Exec replaces this process with the program; it returns only an error.
func (c Command) Exec() error {
	if err := syscall.Exec(c.Path, c.Argv, c.Env); err != nil {
		return fmt.Errorf("start %s: %w", c.Path, err)
	}
	return nil
}

// passed are the signals that are passed on to the program.
var passed = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGALRM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT, syscall.SIGWINCH,
}

// Process is a program that runs in the foreground.
type Process struct {
	command Command
	pid     int
	tty     terminal
	signals chan os.Signal
	deaths  chan os.Signal
}

// Start starts the program. From then on, and until Wait returns, signals are
// passed on to it.
func (c Command) Start() (*Process, error) {
	p := &Process{
		command: c, signals: make(chan os.Signal, 16), deaths: make(chan os.Signal, 1),
	}
	signal.Notify(p.signals, passed...)
	signal.Notify(p.deaths, syscall.SIGCHLD)
	p.tty = ownTerminal()
	pid, err := syscall.ForkExec(c.Path, c.Argv, &syscall.ProcAttr{
		Env: c.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: p.tty.held || !controlled()},
	})
	if err != nil {
		p.release()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	p.pid = pid
	p.tty.give(pid)
	return p, nil
}

// Signal sends s to the program. It may be called from another goroutine than
// Wait's, which sends it: only Wait knows whether the pid is still the program's.
func (p *Process) Signal(s syscall.Signal) {
	select {
	case p.signals <- s:
	default: // it gets more than it deals with
	}
}

// Wait passes signals on until the program has ended, takes the terminal back,
// and returns the exit status, which is 128+n for a program that was ended by
// signal n.
func (p *Process) Wait() int {
	defer p.release()
	for {
		if status, ended := p.collect(); ended {
			return status
		}
		select {
		case s := <-p.signals:
			if s, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(p.pid, s) // it has not been waited for, so the pid is its own
			}
		case <-p.deaths:
		}
	}
}

func (p *Process) release() {
	signal.Stop(p.signals)
	signal.Stop(p.deaths)
	p.tty.take()
}

// collect deals with every child that has ended or stopped.
func (p *Process) collect() (status int, ended bool) {
	whom := p.pid
	if p.command.Reap == ReapAll {
		whom = -1
	}
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(whom, &s, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil || pid == 0:
			if p.command.Reap == ReapSession {
				reapSession(p.pid)
			}
			return 0, false
		case pid != p.pid:
			continue
		case s.Stopped():
			p.stopped(s.StopSignal())
			continue
		}
		return exitStatus(s), true
	}
}

func exitStatus(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// stopped deals with a program that a signal stopped.
func (p *Process) stopped(by syscall.Signal) {
	switch by {
	case syscall.SIGTTIN, syscall.SIGTTOU:
		// It used the terminal before it was handed over.
		if !p.tty.held {
			return
		}
		p.tty.give(p.pid)
	case syscall.SIGTSTP:
		// Process 1 has no shell above it that could wake the program.
		if os.Getpid() != 1 && p.tty.held {
			p.tty.take()
			suspend()
			p.tty.give(p.pid)
		}
	default:
		return // somebody means to hold it
	}
	_ = syscall.Kill(-p.pid, syscall.SIGCONT)
}

// stopTime is how long a signal to stop may take to be obeyed. Nobody obeys it
// in a process group that no shell watches.
const stopTime = 200 * time.Millisecond

// suspend stops our process group, as the terminal would have done without us,
// and returns once it was woken.
func suspend() {
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	defer signal.Stop(woken)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select { // this thread may run on for a moment before it stops
	case <-woken:
	case <-time.After(stopTime):
	}
}
