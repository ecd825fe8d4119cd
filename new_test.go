package aicodebox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox"
)

// echo is an adapter with the two required methods.
type echo struct{}

func (echo) BuildArgv(aicodebox.Request) ([]string, error) { return []string{"cat"}, nil }

func (echo) ParseOutput(_ aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{Text: string(out.Stdout)}, nil
}

func lookup(values map[string]string) aicodebox.Option {
	return aicodebox.Lookup(func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	})
}

// settings returns values with directories of the test's own.
func settings(t *testing.T, values map[string]string) map[string]string {
	t.Helper()
	all := map[string]string{
		"AICODEBOX_WORKSPACE": t.TempDir(), "AICODEBOX_STATE_DIR": t.TempDir(), "PATH": os.Getenv("PATH"),
	}
	maps.Copy(all, values)
	return all
}

// newBox makes a box that is closed with the test.
func newBox(t *testing.T, a aicodebox.Adapter, values map[string]string, opts ...aicodebox.Option) (*aicodebox.Box, error) {
	t.Helper()
	opts = append([]aicodebox.Option{lookup(settings(t, values)), aicodebox.Logger(slog.New(slog.DiscardHandler))}, opts...)
	box, err := aicodebox.New(a, opts...)
	if err == nil {
		t.Cleanup(func() {
			if err := box.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return box, err
}

func TestNew(t *testing.T) {
	t.Parallel()
	box, err := newBox(t, echo{}, map[string]string{
		"PIBOX_AVAILABLE_MODELS": " a, b,,a", "PIBOX_AVAILABLE_EFFORTS": "low,high",
		"PIBOX_MAX_RUNS": "2", "AICODEBOX_MAX_RUNS": "3", "PIBOX_MAX_WAITING": "0", "PIBOX_WAIT_SECONDS": "1",
		"PIBOX_RUN_TIMEOUT_SECONDS": "90", "PIBOX_AGENT_BACKGROUND": "KILL",
	}, aicodebox.Brand("pibox"), aicodebox.Grace(20*time.Second), aicodebox.Version("1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, box.Models()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"low", "high"}, box.Efforts()); diff != "" {
		t.Error(diff)
	}
	want := aicodebox.Limits{
		Runs: 3, Waiting: 0, Wait: time.Second, Timeout: 90 * time.Second, Grace: 20 * time.Second, KillBackground: true,
	}
	if diff := cmp.Diff(want, box.Limits()); diff != "" {
		t.Error(diff)
	}
	if got := box.Brand() + " " + box.Name() + " " + box.Version(); got != "pibox pibox 1.2.3" {
		t.Errorf("brand, name, version: %s", got)
	}
	if !filepath.IsAbs(box.Agent().Binary) || box.Agent().Name != "cat" {
		t.Errorf("agent: %+v", box.Agent())
	}
	if box.Instance() == "" || box.Workspaces() == nil || box.Adapter() == nil || box.Log() == nil {
		t.Error("the box lacks a part")
	}
}

func TestNewWithoutBrand(t *testing.T) {
	t.Parallel()
	box, err := newBox(t, echo{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if box.Brand() != "aicodebox" || box.Name() != "aicodebox" || box.Limits().Grace != 8*time.Second {
		t.Errorf("brand %q, name %q, grace %v", box.Brand(), box.Name(), box.Limits().Grace)
	}
}

func TestNewNamesEveryFault(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := newBox(t, echo{}, map[string]string{
		"AICODEBOX_WORKSPACE": file, "AICODEBOX_AGENT_BINARY": "no-such-agent", "AICODEBOX_API_MODE": "1",
		"AICODEBOX_CONTAINER_NAME": "../x", "AICODEBOX_LOG_FORMAT": "xml",
	}, aicodebox.Seat(&desk{}))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"WORKSPACE", "AGENT_BINARY", "AVAILABLE_MODELS", "CONTAINER_NAME", "LOG_FORMAT"} {
		if strings.Count(err.Error(), "AICODEBOX_"+name+" ") != 1 {
			t.Errorf("%s is not named once:\n%v", name, err)
		}
	}
}

func TestCase_S09(t *testing.T) {
	t.Parallel()
	// The environment of the process is what agents get; the scripts
	// agentenv and agent look at it from outside.
	box, err := newBox(t, echo{}, map[string]string{"AICODEBOX_AGENT_ENV": "PATH"})
	if err != nil {
		t.Fatal(err)
	}
	env := box.AgentEnv()
	if len(env) != 1 || !strings.HasPrefix(env[0], "PATH=") {
		t.Errorf("environment: %v", env)
	}
	env[0] = "changed"
	if box.AgentEnv()[0] == "changed" {
		t.Error("AgentEnv is no copy")
	}
}

func TestBoxHold(t *testing.T) {
	t.Parallel()
	box, err := newBox(t, echo{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	release, err := box.Hold()
	if err != nil {
		t.Fatal(err)
	}
	release()
	release() // does no harm
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Hold(); !errors.Is(err, aicodebox.ErrDraining) {
		t.Errorf("Hold of a closed box: %v", err)
	}
	if box.Work().Err() == nil {
		t.Error("work goes on in a closed box")
	}
}

type closer struct{ closed *bool }

func (c closer) Close() error {
	*c.closed = true
	return nil
}

func TestBoxEngine(t *testing.T) {
	t.Parallel()
	box, err := newBox(t, echo{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	for range 2 {
		if _, err := box.Engine(func() (io.Closer, error) { return closer{&closed}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := box.Close(); err != nil || !closed {
		t.Errorf("closed %v, error %v", closed, err)
	}
}

func TestBoxNotify(t *testing.T) {
	t.Parallel()
	n := &notifier{}
	box, err := newBox(t, echo{}, nil, aicodebox.Seat(&guest{}), aicodebox.Seat(n))
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Notify(t.Context(), aicodebox.Notice{Text: "hello"}); err != nil || n.got != "hello" {
		t.Errorf("notice %q, error %v", n.got, err)
	}
	n.mute = true
	if err := box.Notify(t.Context(), aicodebox.Notice{}); !errors.Is(err, aicodebox.ErrNoNotifier) {
		t.Errorf("error %v", err)
	}
}

type notifier struct {
	mute bool
	got  string
}

func (*notifier) Mode() string                    { return "TELEGRAM" }
func (*notifier) Init(*aicodebox.Box) error       { return nil }
func (*notifier) Serve(ctx context.Context) error { <-ctx.Done(); return nil }

func (n *notifier) Notify(_ context.Context, notice aicodebox.Notice) error {
	if n.mute {
		return aicodebox.ErrNoNotifier
	}
	n.got = notice.Text
	return nil
}

// TestMainContext ends a box by the context of its caller.
func TestMainContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	values := settings(t, map[string]string{"AICODEBOX_TELEGRAM_MODE": "1"})
	var log bytes.Buffer
	status := make(chan int)
	go func() {
		status <- aicodebox.Main(ctx, echo{}, nil, lookup(values), aicodebox.Seat(&notifier{}),
			aicodebox.Logger(slog.New(slog.NewTextHandler(&log, nil))))
	}()
	cancel()
	if got := <-status; got != 0 {
		t.Errorf("status %d", got)
	}
	if !strings.Contains(log.String(), "the program's context has ended") {
		t.Errorf("the reason is not logged:\n%s", log.String())
	}
}
