package sdktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The official npm SDK cannot tell a box from a model server either.
func TestNPM(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	dir := t.TempDir()
	script, err := os.ReadFile("testdata/npm/test.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "test.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(npmPackages(t), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node(t), "test.mjs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BOX_URL="+b.url, "BOX_TOKEN="+token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// npmPackages is where scripts/fetch-openai-sdk puts the SDK, or what
// OPENAI_SDK names.
func npmPackages(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("OPENAI_SDK")
	if dir == "" {
		dir = filepath.Join("..", "..", ".cache", "openai-sdk")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "openai")); err != nil {
		t.Fatal("this test needs the npm SDK: run scripts/fetch-openai-sdk once, or name its directory in OPENAI_SDK")
	}
	return dir
}

// node finds Node 22 or newer: the one fetched with the agents, or the
// machine's.
func node(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("AICODEBOX_TEST_AGENTS")
	if dir == "" {
		dir = filepath.Join("..", "..", ".cache", "agents")
	}
	fetched, err := filepath.Abs(filepath.Join(dir, "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fetched, "node"} {
		out, err := exec.CommandContext(t.Context(), path, "--version").Output()
		major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
		if n, convErr := strconv.Atoi(major); err == nil && convErr == nil && n >= 22 {
			return path
		}
	}
	t.Fatal("this test needs Node 22 or newer: run `make agents` once, or install it")
	return ""
}
