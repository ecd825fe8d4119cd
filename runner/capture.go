package runner

import (
	"bytes"
	"fmt"
	"slices"
)

// capture keeps what a process printed, within a bound: the first half and the
// newest half of limit bytes. What is dropped between them is marked by a line
// of its own, and both edges lie on line ends. Both halves lie in one buffer,
// so that the whole is put together without another copy of it.
type capture struct {
	limit int
	head  []byte
	ring  []byte // the newest bytes once head is full, wrapping at pos
	pos   int
	total int64
}

// maxMark is room for the gap's mark between the halves.
const maxMark = 128

// write adds p.
func (c *capture) write(p []byte) {
	c.total += int64(len(p))
	half := c.limit / 2
	if c.ring == nil && len(c.head)+len(p) > half/2 {
		c.grow(half)
	}
	if room := half - len(c.head); room > 0 {
		n := min(room, len(p))
		c.head = append(c.head, p[:n]...) // within the buffer once it has grown
		p = p[n:]
	}
	if len(p) == 0 {
		return
	}
	c.writeRing(p[max(0, len(p)-half):], half)
}

// grow moves the head into a buffer that holds all there will ever be. It does
// so before the head is large, so that the two are never large together.
func (c *capture) grow(half int) {
	whole := make([]byte, half+maxMark+half)
	c.head = whole[:copy(whole, c.head)]
	c.ring = whole[half+maxMark : half+maxMark]
}

// writeRing adds p, no longer than half, to the ring.
func (c *capture) writeRing(p []byte, half int) {
	for len(p) > 0 {
		if len(c.ring) < half {
			n := min(len(p), half-len(c.ring))
			c.ring = append(c.ring, p[:n]...)
			p = p[n:]
			continue
		}
		n := copy(c.ring[c.pos:], p)
		c.pos = (c.pos + n) % half
		p = p[n:]
	}
}

// dropped is the number of bytes that were not kept.
func (c *capture) dropped() int64 {
	return c.total - int64(len(c.head)) - int64(len(c.ring))
}

// bytes returns what was kept, in order. The capture must not be used after.
func (c *capture) bytes() []byte {
	if len(c.ring) == 0 {
		return c.head
	}
	rotate(c.ring, c.pos)
	head, tail, mark := c.head, c.ring, ""
	if c.dropped() > 0 {
		if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
			head = head[:i+1]
		}
		if i := bytes.IndexByte(tail, '\n'); i >= 0 && i+1 < len(tail) {
			tail = tail[i+1:]
		}
		mark = fmt.Sprintf("[%d bytes of output were not kept]\n", c.total-int64(len(head))-int64(len(tail)))
	}
	whole := c.head[:len(head)+len(mark)+len(tail)]
	copy(whole[len(head):], mark)
	copy(whole[len(head)+len(mark):], tail)
	return whole
}

// rotate moves b[n:] to the front, in place.
func rotate(b []byte, n int) {
	slices.Reverse(b[:n])
	slices.Reverse(b[n:])
	slices.Reverse(b)
}
