package jsonanswer

import (
	"container/list"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func newCache() *cache { return &cache{entries: map[string]*list.Element{}, order: list.New()} }

func TestCompileRemembers(t *testing.T) {
	t.Parallel()
	first := mustCompile(t, `{"title":"remembered"}`)
	if second := mustCompile(t, `{"title":"remembered"}`); second != first {
		t.Error("the same schema was compiled twice")
	}
	if other := mustCompile(t, `{"title": "remembered"}`); other == first {
		t.Error("another text got the same schema")
	}
}

func TestCacheBuildsOnce(t *testing.T) {
	t.Parallel()
	c := newCache()
	var built atomic.Int32
	fail := errors.New("bad")
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			_, err := c.load("k", func() (*Schema, error) {
				built.Add(1)
				return nil, fail
			})
			if !errors.Is(err, fail) {
				t.Errorf("got %v, want %v", err, fail)
			}
		})
	}
	wg.Wait()
	if n := built.Load(); n != 1 {
		t.Errorf("built %d times, want once", n)
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache()
	build := func() (*Schema, error) { return &Schema{}, nil }
	first, _ := c.load("0", build)
	for i := range 2 * cacheEntries {
		_, _ = c.load(strconv.Itoa(i), build)
		if again, _ := c.load("0", build); again != first {
			t.Fatal("the schema used last was forgotten")
		}
	}
	if n := len(c.entries); n != cacheEntries || c.order.Len() != n {
		t.Errorf("%d schemas are remembered, want %d", n, cacheEntries)
	}
	for i := range 10 {
		_, _ = c.load(strings.Repeat("x", 1<<20-i), build)
	}
	if c.bytes > cacheBytes {
		t.Errorf("%d bytes are remembered, want %d at most", c.bytes, cacheBytes)
	}
}
