package aicodebox

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox/internal/workspace"
)

const defaultBrand = "aicodebox"

// newBox makes the box with what does not depend on the environment.
func (s *start) newBox() {
	b := &Box{
		adapter: s.adapter, desc: Describe(s.adapter), brand: s.program(),
		instance: strings.ToLower(rand.Text()), version: s.version,
		draining: make(chan struct{}), idle: make(chan struct{}), reload: make(chan struct{}),
	}
	b.work, b.giveUp = context.WithCancelCause(context.Background())
	s.box = b
}

// readCore reads the variables that belong to no mode.
func (s *start) readCore() {
	b, t := s.box, s.table
	if binary := t.String("AGENT_BINARY", b.desc.Binary, "name or path of the agent's executable, which must be found at the start; unset: the adapter's own"); binary != "" {
		b.desc.Binary = s.resolve(binary)
	}
	s.workspace = absolute(t.String("WORKSPACE", "/workspace", "root directory of all workspaces"))
	b.name = s.readName()
	b.models = unique(t.ListOr("AVAILABLE_MODELS", b.desc.Models, "models on offer; unset: the adapter's list"))
	b.efforts = unique(t.ListOr("AVAILABLE_EFFORTS", b.desc.Efforts, "thinking levels on offer; unset: the adapter's list"))
	b.stateDir = s.readStateDir()
	s.readLimits()
	s.readLog()
	s.base = s.readAgentEnv()
}

// names are those that Docker accepts for a container; they are part of file
// names.
var names = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,199}$`)

func (s *start) readName() string {
	name := s.table.String("CONTAINER_NAME", s.box.brand, "name of the box in its status, its log, and the names of its files; unset: the brand")
	if !names.MatchString(name) {
		s.table.Errorf("CONTAINER_NAME", "is %q; it accepts a letter or digit followed by at most 199 letters, digits, underscores, dots and hyphens", name)
		return s.box.brand
	}
	return name
}

func (s *start) readStateDir() string {
	home, err := s.home()
	def := ""
	if err == nil {
		def = filepath.Join(home, ".aicodebox")
	}
	dir := s.table.String("STATE_DIR", def, "directory for overrides, run records and history")
	if dir == "" {
		s.table.Errorf("STATE_DIR", "must be set, since the home directory is not known: %v", err)
		return os.DevNull // not a directory: nothing can be written by mistake
	}
	return absolute(dir)
}

// home returns the home directory: of HOME, or else of the system's list of
// users.
func (s *start) home() (string, error) {
	if home, _ := s.lookup("HOME"); home != "" {
		return home, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	if u.HomeDir == "" {
		return "", errors.New("the user has none")
	}
	return u.HomeDir, nil
}

func (s *start) readLimits() {
	t := s.table
	s.box.limits = Limits{
		Runs:    int(t.Int("MAX_RUNS", 8, 1, 100_000, "agent processes at the same time, over all surfaces; further runs wait")),
		Timeout: t.Seconds("RUN_TIMEOUT_SECONDS", 0, "wall-clock limit of one attempt of a run that names none; 0 means none"),
		Waiting: int(t.Int("MAX_WAITING", 64, 0, math.MaxInt32, "runs that may wait for a workspace or for a slot")),
		Wait:    t.Seconds("WAIT_SECONDS", 10*time.Minute, "how long a run may wait before it is refused"),
		Grace: t.Seconds("SHUTDOWN_GRACE_SECONDS", s.grace,
			"how long prompts in hand may go on after a signal to stop, the agents' own grace included"),
		KillBackground: t.Choice("AGENT_BACKGROUND", "keep", []string{"keep", "kill"},
			"what happens to processes that a run leaves in the background") == "kill",
	}
}

// openRoot opens the root of the workspaces. Without make, one that is missing
// stays so.
func (s *start) openRoot(make bool) {
	if _, err := os.Stat(s.workspace); errors.Is(err, fs.ErrNotExist) && !make {
		return
	}
	root, err := workspace.Open(s.workspace)
	if err != nil && make {
		s.table.Errorf("WORKSPACE", "names a directory that cannot be used: %v", err)
	}
	if err == nil {
		s.box.root = root
	}
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// unique returns list without repetitions.
func unique(list []string) []string {
	var out []string
	for _, word := range list {
		if !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}
