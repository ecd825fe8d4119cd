package boxtest

import (
	"io"
	"log/slog"
	"testing"

	"github.com/psyb0t/aicodebox"
)

// Env is settings of a box under test, by their full names.
type Env map[string]string

// Lookup returns the option that makes a box read its settings from e alone.
// What e does not say, and a test must not share, lies in directories of the
// test: WORKSPACE and STATE_DIR.
func (e Env) Lookup(t testing.TB) aicodebox.Option {
	t.Helper()
	values := Env{
		"AICODEBOX_WORKSPACE": t.TempDir(),
		"AICODEBOX_STATE_DIR": t.TempDir(),
	}
	for name, value := range e {
		values[name] = value
	}
	return aicodebox.Lookup(func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	})
}

// New returns a box around the fake agent with the settings env. It is closed
// when the test ends.
func New(t testing.TB, env Env, opts ...aicodebox.Option) *aicodebox.Box {
	t.Helper()
	opts = append([]aicodebox.Option{env.Lookup(t), aicodebox.Logger(Log(t))}, opts...)
	box, err := aicodebox.New(Adapter{}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// Log returns a logger that writes to the test's output.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type testWriter struct{ testing.TB }

var _ io.Writer = testWriter{}

func (w testWriter) Write(p []byte) (int, error) {
	w.Log(string(p))
	return len(p), nil
}
