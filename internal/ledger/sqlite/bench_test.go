package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// A run costs Begin and Finish; p50 and p99 are of the two together.
func BenchmarkRun(b *testing.B) {
	s := opened(b, filepath.Join(b.TempDir(), "runs.db"))
	result := make([]byte, 2000)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprintf("run-%032d", i)
		at := time.Now()
		begun(b, s, id)
		must(b, s.Finish(b.Context(), id, ended(result)))
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkRunsAtOnce(b *testing.B) {
	s := opened(b, filepath.Join(b.TempDir(), "runs.db"))
	result := make([]byte, 2000)
	var n atomic.Int64
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprintf("run-%032d", n.Add(1))
			begun(b, s, id)
			must(b, s.Finish(b.Context(), id, ended(result)))
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "runs.db")
	opened(b, path)
	for b.Loop() {
		s, err := Open(b.Context(), path)
		must(b, err)
		must(b, s.Close())
	}
}

func BenchmarkAppend1000(b *testing.B) {
	s := opened(b, filepath.Join(b.TempDir(), "runs.db"))
	begun(b, s, "r")
	records := make([]ledger.Record, 1000)
	next := int64(0)
	for b.Loop() {
		for i := range records {
			records[i] = ledger.Record{Sequence: next, Attempt: 1, Data: make([]byte, 400)}
			next++
		}
		must(b, s.Append(b.Context(), "r", records))
	}
}

func BenchmarkGet(b *testing.B) {
	s := opened(b, filepath.Join(b.TempDir(), "runs.db"))
	begun(b, s, "r")
	for b.Loop() {
		_, err := s.Get(b.Context(), "r")
		must(b, err)
	}
}

func BenchmarkResult64MiB(b *testing.B) {
	s := opened(b, filepath.Join(b.TempDir(), "runs.db"))
	result := make([]byte, 64<<20)
	b.ReportAllocs()
	var write, read, sweep time.Duration
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint(i)
		begun(b, s, id)
		at := time.Now()
		must(b, s.Finish(b.Context(), id, ended(result)))
		write += time.Since(at)
		at = time.Now()
		_, err := s.Result(b.Context(), id)
		must(b, err)
		read += time.Since(at)
		at = time.Now()
		must(b, s.Sweep(context.Background(), time.Now().Add(2*time.Hour), 0, 0))
		sweep += time.Since(at)
	}
	for name, d := range map[string]time.Duration{"write": write, "read": read, "sweep": sweep} {
		b.ReportMetric(float64(d.Milliseconds())/float64(b.N), name+"-ms")
	}
}
