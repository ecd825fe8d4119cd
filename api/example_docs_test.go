package api

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
)

// scripted is the agent of the page: it answers prompts that people would
// write with what a fake agent is told to do.
type scripted struct{ boxtest.Adapter }

var script = map[string]string{
	"What is in this directory?":     "SAY:It is empty.",
	"Count to a million, slowly.":    "SAY:1, 2, 3\nHANG",
	"How many Go files are there?":   "@session 0b3c2f1e\n@usage {\"input_tokens\":1200,\"output_tokens\":85}\nSAY:{\"count\": 42}",
	"Write tests for every package.": "SAY:package one\nHANG",
	"Write the report.":              "SEQ:first|second",
}

func (a scripted) BuildArgv(req aicodebox.Request) ([]string, error) {
	argv, err := a.Adapter.BuildArgv(req)
	for prompt, commands := range script {
		if strings.HasPrefix(req.Prompt, prompt) {
			argv = append(argv, "--prompt", commands)
		}
	}
	return argv, err
}

// The calls in docs/api.md do what the page says.
func TestPageExamples(t *testing.T) {
	t.Parallel()
	s := startAdapter(t, scripted{}, tokenEnv)
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	blocks := examples(string(page))
	if len(blocks) < 9 {
		t.Fatalf("the page has %d calls", len(blocks))
	}
	for _, block := range blocks {
		all.WriteString(block.commands + "\necho @@@@\n")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", all.String())
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "BOX="+s.url, "TOKEN="+s.token)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, stderr.Bytes())
	}
	outputs := strings.Split(string(out), "@@@@\n")
	for i, block := range blocks {
		if i >= len(outputs) || !block.want.MatchString(outputs[i]) {
			t.Errorf("call\n%s\nanswered\n%s\nwant\n%s", block.commands, outputs[min(i, len(outputs)-1)], block.output)
		}
	}
}

type example struct {
	commands, output string
	want             *regexp.Regexp
}

// examples are the blocks of commands of a page, each with the output below
// it, in which … stands for anything.
func examples(page string) []example {
	pattern := regexp.MustCompile("(?s)```sh\n(.*?)```\n```output\n(.*?)```")
	var found []example
	for _, m := range pattern.FindAllStringSubmatch(page, -1) {
		want := strings.ReplaceAll(regexp.QuoteMeta(m[2]), "…", ".*")
		found = append(found, example{m[1], m[2], regexp.MustCompile("^" + want + "$")})
	}
	return found
}
