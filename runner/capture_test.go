package runner

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestCapture(t *testing.T) {
	t.Parallel()
	const limit = 1000
	for _, size := range []int{0, 1, 499, 500, 501, 999, 1000, 1001, 1500, 2500, 100_000} {
		for _, piece := range []int{1, 7, 333, 5000} {
			t.Run(fmt.Sprintf("%d by %d", size, piece), func(t *testing.T) {
				t.Parallel()
				whole := numbered(size)
				c := capture{limit: limit}
				for rest := whole; len(rest) > 0; {
					n := min(piece, len(rest))
					c.write(rest[:n])
					rest = rest[n:]
				}
				checkCapture(t, whole, c.bytes(), limit)
			})
		}
	}
}

// numbered returns size bytes of lines that tell where they stand.
func numbered(size int) []byte {
	var b bytes.Buffer
	for b.Len() < size {
		fmt.Fprintf(&b, "%d\n", b.Len())
	}
	return b.Bytes()[:size]
}

func checkCapture(t *testing.T, whole, got []byte, limit int) {
	t.Helper()
	if len(whole) <= limit {
		if !bytes.Equal(whole, got) {
			t.Errorf("%d bytes came back as %d others", len(whole), len(got))
		}
		return
	}
	head, rest, ok := strings.Cut(string(got), "[")
	mark, tail, _ := strings.Cut(rest, "\n")
	var gap int
	if _, err := fmt.Sscanf(mark, "%d bytes of output were not kept]", &gap); !ok || err != nil {
		t.Fatalf("no mark in %q", got)
	}
	if !strings.HasPrefix(string(whole), head) || !strings.HasSuffix(string(whole), tail) {
		t.Error("the edges are not those of the whole")
	}
	if !strings.HasSuffix(head, "\n") || len(head)+gap+len(tail) != len(whole) {
		t.Errorf("head %d + gap %d + tail %d, want %d", len(head), gap, len(tail), len(whole))
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pieces []string
		want   []string
	}{
		{nil, nil},
		{[]string{"a\nb\n"}, []string{"a", "b"}},
		{[]string{"a\n", "b"}, []string{"a", "b"}},
		{[]string{"a", "b", "\n", "\n", "c\r\nd"}, []string{"ab", "", "c\r", "d"}},
		{[]string{"x\u2028y\n"}, []string{"x\u2028y"}},
		{[]string{"10 \xe2\x82", "\xac\n"}, []string{"10 €"}},
	}
	for _, tt := range tests {
		var got []string
		l := lines{emit: func(line []byte) { got = append(got, string(line)) }}
		for _, p := range tt.pieces {
			l.write([]byte(p))
		}
		l.close()
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
			t.Errorf("%q gives %q, want %q", tt.pieces, got, tt.want)
		}
	}
}
