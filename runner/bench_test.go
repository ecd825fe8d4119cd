package runner_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/runner"
)

// shell is an agent of a few milliseconds or less: a shell script.
type shell struct{ script string }

func (s shell) BuildArgv(aicodebox.Request) ([]string, error) {
	return []string{"/bin/sh", "-c", s.script}, nil
}

func (shell) ParseOutput(_ aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{Text: string(out.Stdout[:min(len(out.Stdout), 100)])}, nil
}

// StreamParser tells nothing, as an agent that prints JSON for its own use.
func (shell) StreamParser(aicodebox.Request) func([]byte) []aicodebox.Event {
	return func([]byte) []aicodebox.Event { return nil }
}

// boxOf is a box around s.
func boxOf(b *testing.B, s shell) *aicodebox.Box {
	b.Helper()
	box, err := aicodebox.New(s, boxtest.Env{"AICODEBOX_LOG_LEVEL": "error"}.Lookup(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = box.Close() })
	return box
}

// BenchmarkRun compares a run, ledger included, with the bare process of the
// same agent: one that exits at once and one of about 5 ms.
func BenchmarkRun(b *testing.B) {
	for name, script := range map[string]string{
		"at-once": "cat >/dev/null; echo hello",
		"5ms":     "cat >/dev/null; sleep 0.004; echo hello",
	} {
		b.Run(name, func(b *testing.B) {
			bare := median(b, func() {
				cmd := exec.Command("/bin/sh", "-c", script) //nolint:noctx // it ends by itself
				cmd.Stdin = strings.NewReader("hello")
				var out, errOut bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errOut
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			})
			box := boxOf(b, shell{script})
			run := median(b, func() {
				if _, err := runner.Run(b.Context(), box, aicodebox.Request{Prompt: "hello"}); err != nil {
					b.Fatal(err)
				}
			})
			b.ReportMetric(float64(bare.Microseconds()), "µs-bare")
			b.ReportMetric(float64((run - bare).Microseconds()), "µs-added")
			b.ReportMetric(float64(run)/float64(bare), "ratio")
		})
	}
}

// median is the middle of b.N, but at least 100, durations of f.
func median(b *testing.B, f func()) time.Duration {
	n := max(b.N, 100)
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		f()
		took[i] = time.Since(began)
	}
	for i := 1; i < n; i++ { // n is small
		for j := i; j > 0 && took[j] < took[j-1]; j-- {
			took[j], took[j-1] = took[j-1], took[j]
		}
	}
	return took[n/2]
}

// BenchmarkLines has a million lines parsed, and tells how much the process
// grew.
func BenchmarkLines(b *testing.B) {
	box := boxOf(b, shell{"cat >/dev/null; yes '{\"type\":\"text\",\"n\":1}' | head -n 1000000"})
	output(b, box, 23_000_000)
}

// BenchmarkGiB has 1 GiB of JSON lines parsed.
func BenchmarkGiB(b *testing.B) {
	line := fmt.Sprintf(`{"type":"noise","pad":"%s"}`, strings.Repeat("x", 1000))
	file := filepath.Join(b.TempDir(), "line")
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		b.Fatal(err)
	}
	box := boxOf(b, shell{fmt.Sprintf(`cat >/dev/null; yes "$(cat %s)" | head -c 1073741824`, file)})
	output(b, box, 1<<30)
}

func output(b *testing.B, box *aicodebox.Box, size int64) {
	b.SetBytes(size)
	for b.Loop() {
		got, err := runner.Run(b.Context(), box, aicodebox.Request{Prompt: "x"})
		if err != nil || got.ExitCode != 0 {
			b.Fatal(got, err)
		}
	}
	runtime.GC()
	b.ReportMetric(float64(peak(b))/(1<<20), "MiB-peak")
}

// peak is the process's largest resident size in bytes.
func peak(b *testing.B) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	var kb int64
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			_, _ = fmt.Sscan(rest, &kb)
		}
	}
	return kb << 10
}
