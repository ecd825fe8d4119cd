package jsonanswer

import (
	"container/list"
	"sync"
)

// Bounds on what is remembered of schemas.
const (
	cacheEntries = 128
	cacheBytes   = 4 << 20
)

// compiled remembers what Compile made of which schema. It changes nothing
// but the time Compile takes.
var compiled = cache{entries: map[string]*list.Element{}, order: list.New()}

// cache remembers the schemas that were used last. It is safe for concurrent
// use, and makes each schema once, however many ask for it at a time.
type cache struct {
	mu      sync.Mutex
	entries map[string]*list.Element
	order   *list.List // of *entry, the last used first
	bytes   int
}

type entry struct {
	key    string
	once   sync.Once
	schema *Schema
	err    error
}

// load returns what build made for key, now or earlier.
func (c *cache) load(key string, build func() (*Schema, error)) (*Schema, error) {
	e := c.entry(key)
	e.once.Do(func() { e.schema, e.err = build() })
	return e.schema, e.err
}

func (c *cache) entry(key string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[key]; ok {
		c.order.MoveToFront(element)
		return element.Value.(*entry)
	}
	e := &entry{key: key}
	c.entries[key] = c.order.PushFront(e)
	c.bytes += len(key)
	for c.order.Len() > cacheEntries || c.bytes > cacheBytes {
		c.forget(c.order.Back())
	}
	return e
}

func (c *cache) forget(element *list.Element) {
	e := element.Value.(*entry)
	c.order.Remove(element)
	delete(c.entries, e.key)
	c.bytes -= len(e.key)
}
