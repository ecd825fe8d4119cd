package aicodebox

import (
	"os"
	"path/filepath"

	"github.com/psyb0t/aicodebox/internal/atomicfile"
	"github.com/psyb0t/aicodebox/internal/foreground"
	"github.com/psyb0t/aicodebox/internal/health"
)

// becomeAgent runs the agent with args in place of this process. Process 1
// stays, as the parent of all orphans, and runs the agent as its child.
func (s *start) becomeAgent(args []string) int {
	s.read(false)
	s.checkBinary()
	if texts := s.errors(); len(texts) > 0 {
		s.complain(texts...)
		return exitRefused
	}
	if err := s.writeFiles(); err != nil {
		s.complain(err.Error())
		return exitFailed
	}
	command := s.agentCommand(args)
	if os.Getpid() == 1 {
		return s.parentAgent(command)
	}
	s.leaveStamp()
	s.complain(command.Exec().Error())
	return exitFailed
}

// agentCommand is the agent's command line for use by a person.
func (s *start) agentCommand(args []string) foreground.Command {
	argv := Launch(s.adapter, args)
	if len(argv) == 0 {
		argv = []string{s.box.desc.Binary}
	}
	if argv[0] == Describe(s.adapter).Binary {
		argv[0] = s.box.desc.Binary
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = s.workspace
	}
	return foreground.Command{
		Path: s.resolve(argv[0]), Argv: argv,
		Env: lastWins(BuildEnv(s.adapter, Request{Workspace: dir}, s.box.AgentEnv())),
	}
}

// parentAgent runs the agent as the child of process 1.
func (s *start) parentAgent(command foreground.Command) int {
	command.Reap = foreground.ReapAll
	agent, err := command.Start()
	if err != nil {
		s.complain(err.Error())
		return exitFailed
	}
	if server, err := health.Serve(s.socket(), func() string { return health.Serving }); err == nil {
		defer server.Close() //nolint:errcheck // the process ends
	} else {
		s.box.log.Warn("box health will not answer", "error", err)
	}
	return agent.Wait()
}

// socket is the path of the socket that box health asks.
func (s *start) socket() string { return filepath.Join(s.box.stateDir, s.box.name+".sock") }

// stampFile is the path of the file that tells which process is the agent. A
// process that was replaced by the agent has no socket.
func (s *start) stampFile() string { return filepath.Join(s.box.stateDir, s.box.name+".pid") }

// leaveStamp lets box health find the agent that this process becomes. On a
// machine of somebody's own, where nobody asks, no directory is made for it.
func (s *start) leaveStamp() {
	if _, err := os.Stat(s.box.stateDir); err != nil && os.Getppid() != 1 {
		return
	}
	if err := os.MkdirAll(s.box.stateDir, 0o700); err != nil {
		return
	}
	_ = atomicfile.Write(s.stampFile(), []byte(foreground.Stamp()+"\n"), 0o600) // health is all that misses it
}
