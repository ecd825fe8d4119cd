package aicodebox

import (
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	t.Parallel()
	for grace, want := range map[time.Duration]time.Duration{
		0:                0,
		3 * time.Second:  time.Second,
		9 * time.Second:  3500 * time.Millisecond,
		50 * time.Second: 44500 * time.Millisecond,
	} {
		if got := patienceOf(grace); got != want {
			t.Errorf("patienceOf(%v) = %v, want %v", grace, got, want)
		}
	}
}
