package mcp

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner"
)

// Commands offers `box mcp`.
func (s *surface) Commands() []aicodebox.Command {
	return []aicodebox.Command{{
		Name: "mcp", Summary: "speaks MCP on standard input and output, for clients that start their servers", Ready: true,
		Run: func(ctx context.Context, box *aicodebox.Box, args []string, out io.Writer) error {
			if len(args) > 0 {
				return fmt.Errorf("it takes no arguments, and got %q", strings.Join(args, " "))
			}
			if err := s.Init(box); err != nil {
				return err
			}
			return s.serveStdio(ctx, out)
		},
	}}
}

// serveStdio serves one client until it closes its side. What it has asked for
// is still answered then, as long as somebody is there to read.
func (s *surface) serveStdio(ctx context.Context, out io.Writer) error {
	if err := runner.Open(s.box); err != nil {
		return err
	}
	// A client that is gone must not end the process: its agents are to be
	// ended first.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	in := s.stdin
	if in == nil {
		in = os.Stdin
	}
	p := newPipe(in, out, func() { stop(errHungUp) })
	p.lastWords = func() { go watch(ctx, out, func() { stop(errHungUp) }) }
	server := s.server()
	server.gone = ctx
	defer s.flights.end(errHungUp) // also those whose ids were told: nobody will come back for them
	err := server.library.Run(ctx, p)
	if ctx.Err() != nil {
		return nil // an end like any other
	}
	return err
}

// watching is how often a client is looked for that says nothing any more.
const watching = 250 * time.Millisecond

// watch calls gone when nobody can read any more what is written to out, and
// ends with ctx. It knows of pipes and sockets.
func watch(ctx context.Context, out io.Writer, gone func()) {
	f, ok := out.(*os.File)
	if !ok {
		return
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	tick := time.NewTicker(watching)
	defer tick.Stop()
	for {
		if isBroken(conn) {
			gone()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func isBroken(conn syscall.RawConn) bool {
	broken := false
	_ = conn.Control(func(fd uintptr) {
		state := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(state, 0)
		broken = err == nil && n > 0 && state[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
	})
	return broken
}
