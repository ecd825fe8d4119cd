package spelling_test

import (
	"testing"

	"github.com/psyb0t/aicodebox/internal/spelling"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"prompt", "timeoutSeconds", "workspace", "noTools"}
	for name, want := range map[string]string{
		"promt": "prompt", "PROMPT": "prompt", "timeout_second": "timeoutSeconds",
		"wrokspace": "workspace", "no_tools": "noTools", "model": "", "": "",
	} {
		if got := spelling.Nearest(name, names); got != want {
			t.Errorf("%q is nearest to %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"port", "prt", 1}} {
		if got := spelling.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q to %q is %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
