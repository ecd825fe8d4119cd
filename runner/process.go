package runner

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// The bounds on waiting for a process.
const (
	drainLimit = 2 * time.Second        // for output after the agent has ended
	drainIdle  = 100 * time.Millisecond // between looks whether anything comes
	drainLooks = 3                      // so many in a row without anything end the wait
	pipeMost   = 1 << 20                // bytes a pipe can hold at most (pipe-max-size)
	doneGrace  = 3 * time.Second        // for the agent to end after it said that its answer is complete
	lookGap    = 250 * time.Millisecond // between two looks at the tree while it works
)

// The exit codes that are not the agent's own.
const (
	exitTimeout    = 124
	exitNotStarted = 126
	exitMissing    = 127
	exitSignal     = 128
)

// command is one process to run.
type command struct {
	argv   []string
	dir    string
	env    []string
	stdin  string // written to standard input; empty leaves that closed
	mark   string // the run marker that env holds
	limit  time.Duration
	keep   bool                   // what it left in sessions of its own may live on
	line   func(line []byte) bool // is given each line of standard output; true says that the answer is complete
	seen   func([]ledger.Process) // is given the living processes now and then
	reaper *reaper
}

// exit is how a process ended.
type exit struct {
	code       int
	stdout     []byte
	stderr     []byte
	timedOut   bool
	cancelled  bool // by ctx
	lingered   bool // was ended after its answer was complete
	held       bool // output was still held open when it was taken
	startErr   error
	background []ledger.Process // left running
	leftovers  int              // processes that were ended after the agent
	dropped    int64            // bytes of output that were not kept
	heavy      bool             // leaveHeavy is owed
}

// chunk is a piece of output.
type chunk struct {
	from *capture
	data *[]byte
	n    int
	eof  bool
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// process is a command that was started.
type process struct {
	command
	cmd     *exec.Cmd
	tree    *tree
	stdout  capture
	stderr  capture
	outlets [2]*outlet
	lines   lines
	output  chan chunk
	discard chan struct{} // closed when no more output is wanted
	exited  chan struct{} // closed when the exit status was taken
	stdin   *os.File

	open     int // outputs that have not ended
	eofs     map[*capture]bool
	heavy    bool
	complete bool
	result   exit
}

// run starts the command and waits until it and all that has to end with it
// have ended.
func (c command) run(ctx context.Context) exit {
	p, err := c.start()
	if err != nil {
		return exit{code: startCode(err), startErr: err}
	}
	attended := false
	defer func() {
		if !attended { // whoever is told of the output panicked
			p.abandon()
		}
	}()
	p.attend(ctx)
	attended = true
	return p.finish()
}

// abandon ends the tree without taking its output.
func (p *process) abandon() {
	close(p.discard)
	p.tree.end(p.exited)
	if p.heavy {
		leaveHeavy()
	}
}

func startCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return exitMissing
	}
	return exitNotStarted
}

// start starts the process with its pipes.
func (c command) start() (*process, error) {
	p := &process{
		command: c, stdout: capture{limit: stdoutLimit}, stderr: capture{limit: stderrLimit},
		output: make(chan chunk, 4), discard: make(chan struct{}), exited: make(chan struct{}), open: 2,
		eofs: make(map[*capture]bool, 2),
	}
	p.lines.emit = p.takeLine
	// The run ends by rules of its own, not with a context's single kill.
	p.cmd = exec.Command(c.argv[0], c.argv[1:]...) //nolint:noctx,gosec // see above; the adapter's command line
	p.cmd.Dir, p.cmd.Env = c.dir, c.env
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	outR, errR, theirs, err := p.connect()
	defer closeAll(theirs)
	if err != nil {
		return nil, err
	}
	err = c.reaper.start(func() (int, error) {
		if err := p.cmd.Start(); err != nil {
			return 0, err
		}
		return p.cmd.Process.Pid, nil
	})
	if err != nil {
		closeAll([]*os.File{outR, errR, p.stdin})
		return nil, err
	}
	p.tree = newTree(p.cmd.Process.Pid, c.mark, c.reaper)
	go p.wait()
	p.outlets = [2]*outlet{{file: outR, to: &p.stdout}, {file: errR, to: &p.stderr}}
	for _, o := range p.outlets {
		go p.read(o)
	}
	if p.stdin != nil {
		go p.feed()
	}
	return p, nil
}

// connect makes the command's pipes. theirs are the child's ends, to be closed
// once it has started.
func (p *process) connect() (stdout, stderr *os.File, theirs []*os.File, err error) {
	var ours [3]*os.File
	for i := range ours {
		if i == 0 && p.command.stdin == "" {
			continue // os/exec gives an empty, closed input
		}
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:])
			return nil, nil, theirs, err
		}
		if i == 0 {
			r, w = w, r
		}
		ours[i], theirs = r, append(theirs, w)
		switch i {
		case 0:
			p.cmd.Stdin = w
		case 1:
			p.cmd.Stdout = w
		case 2:
			p.cmd.Stderr = w
		}
	}
	p.stdin = ours[0]
	return ours[1], ours[2], theirs, nil
}

// closeAll closes files; nil ones are left out.
func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// wait takes the exit status.
func (p *process) wait() {
	_ = p.cmd.Wait() // the status is read from ProcessState
	p.reaper.waited(p.cmd.Process.Pid)
	close(p.exited)
}

// feed writes the prompt. An agent that ends without reading it all is not an
// error: the write ends when the pipe does.
func (p *process) feed() {
	_, _ = io.WriteString(p.stdin, p.command.stdin)
	_ = p.stdin.Close()
}

// read hands on what comes from o until its last writer closes it. When no
// more is wanted it reads on and discards, so that whoever still writes never
// meets a broken pipe.
func (p *process) read(o *outlet) {
	defer o.file.Close()
	conn, err := o.file.SyscallConn()
	for {
		data := buffers.Get().(*[]byte)
		n := 0
		if err == nil {
			n, err = o.read(conn, *data)
		}
		select {
		case p.output <- chunk{from: o.to, data: data, n: n, eof: err != nil}:
		case <-p.discard:
			buffers.Put(data)
		}
		if err != nil {
			return
		}
	}
}

// quiet tells whether nothing is left to read right now.
func (p *process) quiet() bool {
	for _, o := range p.outlets {
		if !p.eofs[o.to] && !o.quiet() {
			return false
		}
	}
	return len(p.output) == 0
}

// attend reads the output and watches the limits until the process is done
// with.
func (p *process) attend(ctx context.Context) {
	w := watch{process: p, ctx: ctx, exited: p.exited}
	w.begin()
	defer w.stop()
	for !w.over() {
		w.step()
	}
}

// take handles one piece of output.
func (p *process) take(c chunk) {
	c.from.write((*c.data)[:c.n])
	if !p.heavy && p.stdout.total > largeOutput {
		p.heavy = true
		enterHeavy()
	}
	if c.from == &p.stdout {
		p.lines.write((*c.data)[:c.n])
	}
	buffers.Put(c.data)
	if c.eof {
		p.open--
		p.eofs[c.from] = true
		if c.from == &p.stdout {
			p.lines.close()
		}
	}
}

func (p *process) takeLine(data []byte) {
	if p.line(data) {
		p.complete = true
	}
}

// finish gathers how it went.
func (p *process) finish() exit {
	<-p.exited
	close(p.discard)
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	e := p.result
	e.held, e.heavy = p.open > 0, p.heavy
	if e.held {
		p.lines.close()
	}
	e.dropped = p.stdout.dropped()
	e.stdout, e.stderr = p.stdout.bytes(), p.stderr.bytes()
	e.code = exitCode(p.cmd.ProcessState)
	switch {
	case e.timedOut:
		e.code = exitTimeout
	case e.lingered:
		e.code = 0
	}
	return e
}

func exitCode(s *os.ProcessState) int {
	status, ok := s.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return s.ExitCode()
}
