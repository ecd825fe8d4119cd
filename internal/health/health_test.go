//go:build unix

package health_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox/internal/health"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	deep := filepath.Join(strings.Repeat("d", 100), strings.Repeat("e", 100))
	for name, path := range map[string]string{
		"short":           "a.sock",
		"just too long":   strings.Repeat("n", 90) + ".sock",
		"deep":            filepath.Join(deep, "a.sock"),
		"deep, long name": filepath.Join(deep, strings.Repeat("n", 200)+".sock"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), path)
			state := health.Serving
			s, err := health.Serve(path, func() string { return state })
			if err != nil {
				t.Fatal(err)
			}
			if got, err := health.Ask(path); got != health.Serving || err != nil {
				t.Fatalf("Ask = %q, %v", got, err)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("socket mode: %v, %v", info.Mode(), err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if got, err := health.Ask(path); err == nil {
				t.Errorf("after Close: Ask = %q", got)
			}
			if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestServeReplacesDeadSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.sock")
	first, err := health.Serve(path, func() string { return "first" })
	if err != nil {
		t.Fatal(err)
	}
	second, err := health.Serve(path, func() string { return "second" })
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil { // must leave the second's socket alone
		t.Fatal(err)
	}
	if got, err := health.Ask(path); got != "second" || err != nil {
		t.Errorf("Ask = %q, %v", got, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestServeRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := health.Serve(filepath.Join(file, "a.sock"), func() string { return "" }); err == nil {
		_ = s.Close()
		t.Error("a socket below a file was opened")
	}
}
