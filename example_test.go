package aicodebox_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox"
)

// catAdapter runs cat, which answers every prompt with the prompt.
type catAdapter struct{}

func (catAdapter) BuildArgv(aicodebox.Request) ([]string, error) { return []string{"cat"}, nil }

func (catAdapter) ParseOutput(_ aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{Text: strings.TrimSpace(string(out.Stdout))}, nil
}

// The main function of a program with a brand of its own. A real one links
// surfaces beside the options: api.Surface(), cron.Surface().
func ExampleRun() {
	main := func() {
		aicodebox.Run(catAdapter{}, aicodebox.Brand("catbox"), aicodebox.Grace(20*time.Second))
	}
	_ = main
}

// A wrong configuration is told at once and whole, with the names that the user
// set and what they accept.
func ExampleNew() {
	settings := map[string]string{
		"HOME":                "/nonexistent",
		"CATBOX_MAX_RUNS":     "many",
		"AICODEBOX_CRON_MODE": "1",
	}
	_, err := aicodebox.New(catAdapter{}, aicodebox.Brand("catbox"),
		aicodebox.Lookup(func(name string) (string, bool) {
			value, ok := settings[name]
			return value, ok
		}))
	fmt.Println(err)
	// Output:
	// CATBOX_MAX_RUNS is "many"; it accepts a whole number from 1 to 100000
	// AICODEBOX_CRON_MODE is set, but no surface of this program answers to it; the modes it has: none
}

// The exit status is what Main returns. A word that is no command is refused.
func ExampleMain() {
	fmt.Println(aicodebox.Main(context.Background(), catAdapter{}, []string{"box", "fly"}))
	// Output:
	// 2
}

// An optional method makes an adapter more capable; the function of the same
// name asks for it, and has the default.
func ExampleDescribe() {
	d := aicodebox.Describe(catAdapter{})
	fmt.Println(d.Name, d.Binary, len(d.Models))
	// Output:
	// cat cat 0
}

// Usage adds up what several attempts cost.
func ExampleUsage_Add() {
	first := aicodebox.Usage{Input: 10, Output: 2, Extra: map[string]any{"searches": 1}}
	second := aicodebox.Usage{Input: 12, Output: 3, Extra: map[string]any{"searches": 2}}
	sum := first.Add(second)
	fmt.Println(sum.Input, sum.Output, sum.Extra["searches"])
	// Output:
	// 22 5 3
}
