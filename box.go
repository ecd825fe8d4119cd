package aicodebox

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/psyb0t/aicodebox/internal/workspace"
)

// ErrDraining is returned for work that is asked for after the box was told to
// stop.
var ErrDraining = errors.New("the box is shutting down and takes no new work")

// Box is what the surfaces of one process share: the adapter, the resolved
// configuration, the workspaces, and the life cycle. It is safe for concurrent
// use. A Box is made by Main (or by New, for tests and embedders).
type Box struct {
	adapter  Adapter
	desc     Description
	brand    string
	name     string
	instance string
	version  string
	log      *slog.Logger
	models   []string
	efforts  []string
	stateDir string
	root     *workspace.Root
	limits   Limits
	agentEnv []string

	work   context.Context // ends when the box gives up on prompts in hand
	giveUp context.CancelCauseFunc

	mu       sync.Mutex
	draining chan struct{} // closed when no new work is taken
	held     int           // prompts in hand
	idle     chan struct{} // closed while nothing is held and the box drains
	reload   chan struct{} // closed at the next SIGHUP

	engineOnce sync.Once
	engine     io.Closer
	engineErr  error

	notifiers []NotifySurface
}

// Limits bounds the work of a box.
type Limits struct {
	Runs           int           // agent processes at the same time
	Waiting        int           // runs that may wait for a workspace or a slot
	Wait           time.Duration // how long one may wait
	Timeout        time.Duration // wall clock of one attempt unless the request says; 0 means none
	Grace          time.Duration // how long prompts in hand may go on after a stop signal
	KillBackground bool          // background processes of a run end with it
}

// Adapter returns the adapter the box was made for.
func (b *Box) Adapter() Adapter { return b.adapter }

// Agent returns what the adapter says of its agent, its binary resolved.
func (b *Box) Agent() Description { return b.desc }

// Brand returns the lower-case brand, "aicodebox" when there is none.
func (b *Box) Brand() string { return b.brand }

// Name returns the box's name (CONTAINER_NAME).
func (b *Box) Name() string { return b.name }

// Instance returns the id of this start of the box. It is part of every run
// marker, and names the lock file that tells other boxes on the same state
// directory whether this one lives.
func (b *Box) Instance() string { return b.instance }

// Version returns the version of the program.
func (b *Box) Version() string { return b.version }

// Log returns the box's logger.
func (b *Box) Log() *slog.Logger { return b.log }

// Models returns the models on offer, possibly none.
func (b *Box) Models() []string { return b.models }

// Efforts returns the thinking levels on offer, possibly none.
func (b *Box) Efforts() []string { return b.efforts }

// StateDir returns the absolute directory for overrides, run records and
// history. It may not exist or not be writable.
func (b *Box) StateDir() string { return b.stateDir }

// Workspaces returns the root of all workspaces.
func (b *Box) Workspaces() *workspace.Root { return b.root }

// Limits returns the bounds on the box's work.
func (b *Box) Limits() Limits { return b.limits }

// AgentEnv returns a fresh copy of the environment an agent starts with: the
// process's own, without the box's variables and secrets, as NAME=value.
func (b *Box) AgentEnv() []string { return append([]string(nil), b.agentEnv...) }

// Work returns the context that ends when the box gives up on prompts in
// hand. Every run is tied to it, whatever context its surface hands on.
func (b *Box) Work() context.Context { return b.work }

// Draining is closed when the box takes no new work.
func (b *Box) Draining() <-chan struct{} { return b.draining }

// Hold counts a prompt in hand until release is called: the box stays up for
// it during the grace of a shutdown. It returns ErrDraining when the box takes
// no new work.
func (b *Box) Hold() (release func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.draining:
		return nil, ErrDraining
	default:
	}
	b.held++
	return sync.OnceFunc(b.release), nil
}

func (b *Box) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held--
	b.settle()
}

// settle closes idle once the box drains and holds nothing. Callers hold b.mu.
func (b *Box) settle() {
	select {
	case <-b.draining:
	default:
		return
	}
	if b.held == 0 {
		select {
		case <-b.idle:
		default:
			close(b.idle)
		}
	}
}

// Engine returns the run engine of this box: what open returned on the first
// call. The box closes it when it ends. The runner is the only caller.
func (b *Box) Engine(open func() (io.Closer, error)) (io.Closer, error) {
	b.engineOnce.Do(func() { b.engine, b.engineErr = open() })
	return b.engine, b.engineErr
}

// Reload returns a channel that is closed at the next SIGHUP: files that are
// watched for changes are to be read again. Ask anew after each.
func (b *Box) Reload() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reload
}

// reloaded tells everybody who waits for Reload.
func (b *Box) reloaded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.reload)
	b.reload = make(chan struct{})
}

// drain makes Hold refuse new work.
func (b *Box) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.draining:
	default:
		close(b.draining)
		b.settle()
	}
}

// inHand returns how many prompts are held.
func (b *Box) inHand() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// errClosed is why the work of a closed box ended.
var errClosed = errors.New("the box is closed")

// Close gives up on prompts in hand and closes the run engine and the
// workspaces. It is called once nothing serves any more.
func (b *Box) Close() error {
	b.drain()
	b.giveUp(errClosed)
	engine, _ := b.Engine(func() (io.Closer, error) { return nil, errClosed })
	var errs []error
	if engine != nil {
		errs = append(errs, engine.Close())
	}
	if b.root != nil {
		errs = append(errs, b.root.Close())
	}
	return errors.Join(errs...)
}

// Notice is something a surface tells a person who did not ask: a cron job's
// result.
type Notice struct {
	Chat   int64  // Telegram chat id
	Thread int64  // forum topic, or 0
	Text   string // Markdown
	Job    string // the cron job's name

	// Background is what a person's reply to the notice should carry into
	// the next prompt.
	Instruction string
	Result      string
	HistoryDir  string

	// Sent, if set, is called with the ids of the messages that were sent.
	Sent func(chat int64, messages []int)
}

// ErrNoNotifier is returned by Box.Notify when no linked surface can send
// notices.
var ErrNoNotifier = errors.New("no surface of this box can send notices")

// Notify sends n through the surface that can, even if that surface's mode is
// off. It returns ErrNoNotifier when there is none.
func (b *Box) Notify(ctx context.Context, n Notice) error {
	for _, s := range b.notifiers {
		err := s.Notify(ctx, n)
		if !errors.Is(err, ErrNoNotifier) {
			return err
		}
	}
	return ErrNoNotifier
}

// Surface is one way to ask the box: the run API, a chat bot, a scheduler.
//
// Init reads and checks the surface's settings and opens nothing; it is called
// once, before any surface serves. Serve works until ctx is done, takes no new
// work then, and returns once the prompts in hand are answered. An error from
// Serve ends the box with exit status 1.
type Surface interface {
	// Mode is the name of the flag that turns the surface on: "API" answers
	// to AICODEBOX_API_MODE.
	Mode() string
	Init(box *Box) error
	Serve(ctx context.Context) error
}

// SettingsSurface is a surface that has settings. Settings is called before
// Init, whether the surface's mode is on or not: it declares every variable of
// the surface and keeps the values. What it finds wrong stops the start only
// when the mode is on.
type SettingsSurface interface {
	Surface
	Settings(s Settings)
}

// HandlerSurface is a surface that can be reached under another surface's HTTP
// server. Handler is called after Init.
type HandlerSurface interface {
	Surface
	Handler() (pattern string, h http.Handler)
}

// MountSurface is a surface with an HTTP server on which others can be seated.
// Mount is called after Init and before Serve, only for handlers of surfaces
// whose mode is on.
type MountSurface interface {
	Surface
	Mount(pattern string, h http.Handler)
}

// NotifySurface is a surface that can send notices. It returns ErrNoNotifier
// when its settings do not let it.
type NotifySurface interface {
	Surface
	Notify(ctx context.Context, n Notice) error
}
