package cron

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPage reads the examples on the page about jobs, and looks for all keys.
func TestPage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/cron.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	for _, block := range blocks {
		if _, err := parseConfig([]byte(block[1]), offer{}, testNow); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
	}
	if len(blocks) == 0 {
		t.Error("the page has no example")
	}
	for _, k := range jobKeys {
		if !strings.Contains(page, "`"+k.name+"`") {
			t.Errorf("the page does not tell of %s", k.name)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)`").FindAllStringSubmatch(page, -1) {
		if !slices.ContainsFunc(jobKeys, func(k key) bool { return k.name == row[1] }) && !slices.Contains([]string{"skip", "once", "all"}, row[1]) {
			t.Errorf("the page tells of %s, which is no key", row[1])
		}
	}
	for _, m := range regexp.MustCompile("`\"([^\"`]+)\"`").FindAllStringSubmatch(page, -1) {
		s, err := parseSchedule(m[1], testNow.Location())
		if (err != nil || s.next(testNow).IsZero()) != (m[1] == "0 0 0 31 2 *") {
			t.Errorf("the schedule %s: %v", m[1], err)
		}
	}
}
