package aicodebox

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/psyb0t/aicodebox/internal/foreground"
	"github.com/psyb0t/aicodebox/internal/health"
)

// serve starts every enabled surface and, if beside is true, the agent with
// args in the foreground, and returns the exit status once all is over.
func (s *start) serve(ctx context.Context, beside bool, args []string) int {
	l := &life{start: s, log: s.box.log}
	defer l.listen()()
	s.read(true)
	s.initSurfaces()
	if texts := s.errors(); len(texts) > 0 {
		s.complain(texts...)
		s.close()
		return exitRefused
	}
	if err := s.writeFiles(); err != nil {
		s.complain(err.Error())
		s.close()
		return exitFailed
	}
	s.warn()
	s.seat()
	if beside {
		s.clearTerminal()
		if err := l.launch(args); err != nil {
			s.complain(err.Error())
			s.close()
			return exitFailed
		}
	}
	// After the agent's start, which must not inherit it.
	s.seal()
	return l.run(ctx)
}

// seal keeps the agents from reading the environment of the box.
func (s *start) seal() {
	if err := foreground.Seal(); err != nil {
		s.box.log.Warn("agents can read the environment of the box, and its secrets", "error", err)
	}
}

// initSurfaces initialises the enabled surfaces. One whose settings are wrong
// would only complain of the same again.
func (s *start) initSurfaces() {
	for _, surface := range s.surfaces {
		if !s.enabled(surface) || s.table.Faulty(surface.Mode()) {
			continue
		}
		if err := surface.Init(s.box); err != nil {
			s.wrong = append(s.wrong, lines(err)...)
		}
	}
}

// seat seats the handlers of enabled surfaces on the first enabled surface
// that has a server for them.
func (s *start) seat() {
	var host MountSurface
	for _, surface := range s.surfaces {
		if m, ok := surface.(MountSurface); ok && s.enabled(surface) {
			host = m
			break
		}
	}
	for _, surface := range s.surfaces {
		h, ok := surface.(HandlerSurface)
		if ok && host != nil && s.enabled(surface) && Surface(host) != surface {
			host.Mount(h.Handler())
		}
	}
}

// warn logs what looks wrong in the configuration.
func (s *start) warn() {
	for _, text := range s.table.Warnings() {
		s.box.log.Warn(text)
	}
}

func (s *start) close() {
	if err := s.box.Close(); err != nil {
		s.box.log.Error("the box did not close well", "error", err)
	}
}

// listen takes over the signals, and returns how to give them back. Until the
// surfaces serve, signals wait.
func (l *life) listen() (stop func()) {
	l.signals = make(chan os.Signal, 8)
	signal.Notify(l.signals, syscall.SIGTERM, os.Interrupt, syscall.SIGHUP)
	// A log that nobody reads any more would end the box. Ignoring the signal
	// would be inherited by agents.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return func() {
		signal.Stop(l.signals)
		signal.Stop(pipe)
	}
}

// launch starts the agent in the foreground.
func (l *life) launch(args []string) error {
	command := l.agentCommand(args)
	if os.Getpid() == 1 {
		command.Reap = foreground.ReapSession
	}
	agent, err := command.Start()
	if err != nil {
		return err
	}
	l.agent, l.agentEnded = agent, make(chan int, 1)
	go func() { l.agentEnded <- agent.Wait() }()
	return nil
}

// tellHealth opens the socket that box health asks.
func (l *life) tellHealth() (stop func()) {
	server, err := health.Serve(l.socket(), func() string {
		select {
		case <-l.box.draining:
			return "draining"
		default:
			return health.Serving
		}
	})
	if err != nil {
		l.log.Warn("box health will not answer", "error", err)
		return func() {}
	}
	return func() {
		if err := server.Close(); err != nil {
			l.log.Warn("the health socket did not close well", "error", err)
		}
	}
}

// serveSurface runs one surface. A surface that panics ends the box in order.
func serveSurface(ctx context.Context, surface Surface) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return surface.Serve(ctx)
}
