package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRealPi asks the real pi over HTTP. All its parts share one box and have
// workspaces of their own.
func TestRealPi(t *testing.T) {
	t.Parallel()
	p := startBox(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *process)
	}{
		{"answer", testAnswer},
		{"session", testSession},
		{"usage", testUsage},
		{"tool", testTool},
		{"tools come back", testToolsComeBack},
		{"options", testOptions},
		{"long texts", testLongTexts},
		{"prompts that look like options", testHostilePrompts},
		{"provider refuses", testProviderErrors},
		{"pi refuses", testAgentErrors},
		{"kill", testKill},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t, p)
		})
	}
}

func testAnswer(t *testing.T, p *process) {
	a := p.run(t, map[string]any{"workspace": "answer", "prompt": "THINK:hm ;; SAY:The answer is 42."})
	if a.Text != "The answer is 42." || a.ExitCode != 0 || a.RunID == "" || a.Workspace != filepath.Join(p.workspace, "answer") {
		t.Errorf("the answer is %+v", a)
	}
	if got := p.asked("The answer is 42."); len(got) != 1 || got[0].Key != "fake-key-1" || got[0].Model != "fake-1" {
		t.Errorf("the model was asked %+v", got)
	}
}

func testSession(t *testing.T, p *process) {
	for _, c := range []struct {
		prompt     string
		noContinue bool
		messages   int // that the model sees
	}{
		{"SAY:one, in the session", false, 1},
		{"SAY:two, in the session", false, 3},
		{"SAY:three, in the session", true, 1},
	} {
		p.run(t, map[string]any{"workspace": "session", "prompt": c.prompt, "noContinue": c.noContinue})
		got := p.asked(c.prompt)
		if len(got) != 1 || len(got[0].Messages) != c.messages {
			t.Fatalf("%s: the model was asked %+v; want %d messages", c.prompt, got, c.messages)
		}
	}
}

func testUsage(t *testing.T, p *process) {
	first := p.run(t, map[string]any{
		"workspace": "usage", "prompt": `SAY:{"n":1}`, "jsonSchema": map[string]any{"type": "object"}, "eventMode": "none",
	})
	if string(first.JSON) != `{"n":1}` || first.SessionID == "" || first.Usage["input_tokens"] < 100 || first.Usage["output_tokens"] != 2 {
		t.Errorf("the answer is %+v", first)
	}
	second := p.run(t, map[string]any{
		"workspace": "usage", "prompt": `SAY:{"n":2}`, "jsonSchema": map[string]any{"type": "object"}, "eventMode": "none",
		"resume": first.SessionID,
	})
	if second.SessionID != first.SessionID || second.Usage["cache_read_tokens"] == 0 {
		t.Errorf("the resumed answer is %+v", second)
	}
}

func testTool(t *testing.T, p *process) {
	a := p.run(t, map[string]any{"workspace": "tool", "prompt": "TOOL:echo made by pi > made.txt && cat made.txt"})
	if a.Text != "tool said: made by pi" {
		t.Errorf("the answer is %+v", a)
	}
	data, err := os.ReadFile(filepath.Join(p.workspace, "tool", "made.txt"))
	if err != nil || string(data) != "made by pi\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

// pi keeps tools and thinking level in the session; a later turn must not
// inherit them.
func testToolsComeBack(t *testing.T, p *process) {
	for _, c := range []struct {
		fields map[string]any
		tools  string
		effort string
	}{
		{map[string]any{"prompt": "SAY:turn 1 of tools", "noTools": true, "thinking": "high"}, "", "high"},
		{map[string]any{"prompt": "SAY:turn 2 of tools", "toolsAllowlist": []string{"read"}}, "read", "medium"},
		{map[string]any{"prompt": "SAY:turn 3 of tools"}, "read,bash,edit,write", "medium"},
	} {
		c.fields["workspace"] = "tools"
		p.run(t, c.fields)
		got := p.asked(c.fields["prompt"].(string))
		if len(got) != 1 {
			t.Fatalf("the model was asked %d times", len(got))
		}
		var names []string
		for _, tool := range got[0].Tools {
			names = append(names, tool.Name)
		}
		if strings.Join(names, ",") != c.tools || got[0].Effort != c.effort {
			t.Errorf("%v: tools %q, thinking %q; want %q, %q", c.fields, names, got[0].Effort, c.tools, c.effort)
		}
	}
}

func testOptions(t *testing.T, p *process) {
	p.run(t, map[string]any{
		"workspace": "options", "prompt": "SAY:with options", "systemPrompt": "You are terse.", "appendSystemPrompt": "Speak Latin.",
		"thinking": "low", "extraArgs": []string{"--no-context-files"},
	})
	got := p.asked("with options")
	if len(got) != 1 || !strings.HasPrefix(got[0].System, "You are terse.") || !strings.Contains(got[0].System, "Speak Latin.") || got[0].Effort != "low" {
		t.Errorf("the model was asked %+v", got)
	}
}

func testLongTexts(t *testing.T, p *process) {
	system := "You are long-winded. " + strings.Repeat("Say more. ", 15_000)
	prompt := "SAY:it was long\n" + strings.Repeat("word ", 200_000)
	a := p.run(t, map[string]any{"workspace": "long", "prompt": prompt, "systemPrompt": system})
	if a.Text != "it was long" {
		t.Errorf("the answer is %+v", a)
	}
	got := p.asked("it was long")
	if len(got) != 1 || got[0].Prompt < 1_000_000 || len(got[0].System) < len(system) {
		t.Errorf("of %d and %d bytes arrived %d and %d", len(prompt), len(system), got[0].Prompt, len(got[0].System))
	}
}

func testHostilePrompts(t *testing.T, p *process) {
	for _, prompt := range []string{"--help me write a parser", "@README.md what is this?", "json", "/compact", "first\n--second"} {
		a := p.run(t, map[string]any{"workspace": "hostile", "prompt": prompt, "noContinue": true})
		if want := "you said " + strconv.Itoa(len(prompt)) + " bytes"; a.Text != want {
			t.Errorf("%q is answered %+v; want %q", prompt, a, want)
		}
	}
}

func testProviderErrors(t *testing.T, p *process) {
	for _, c := range []struct {
		prompt    string
		status    int
		retryable bool
	}{
		{"ERR:401", 401, false},
		{"ERR:429", 429, true},
		{"ERR:400", 400, false},
	} {
		a := p.run(t, map[string]any{"workspace": "errors", "prompt": c.prompt, "noContinue": true})
		if a.ProviderError == nil || a.ProviderError.Status != c.status || a.ProviderError.Retryable != c.retryable || a.ProviderError.Message == "" || a.Text != "" {
			t.Errorf("%s is answered %+v", c.prompt, a)
		}
	}
}

func testAgentErrors(t *testing.T, p *process) {
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   string
	}{
		{"unknown model", map[string]any{"model": "nowhere/fake-1"}, `Model "nowhere/fake-1" not found`},
		{"unknown session", map[string]any{"resume": "deadbeef-0000"}, "No session found"},
		{"unknown option", map[string]any{"extraArgs": []string{"--nonsense"}}, "Unknown option: --nonsense"},
	} {
		c.fields["workspace"], c.fields["prompt"] = "refused", "SAY:x"
		if a := p.run(t, c.fields); a.ExitCode == 0 || !strings.Contains(a.Stderr, c.want) {
			t.Errorf("%s: the answer is %+v", c.name, a)
		}
	}
	first := p.run(t, map[string]any{
		"workspace": "here", "prompt": `SAY:{}`, "jsonSchema": map[string]any{"type": "object"}, "eventMode": "none",
	})
	a := p.run(t, map[string]any{"workspace": "elsewhere", "prompt": "SAY:x", "resume": first.SessionID})
	if !strings.Contains(a.Error, "another workspace") {
		t.Errorf("a session of another workspace is answered %+v", a)
	}
}

// testKill cancels a run whose tool sleeps, and expects all its processes gone.
func testKill(t *testing.T, p *process) {
	a := p.run(t, map[string]any{
		"workspace": "kill", "async": true,
		"prompt": "TOOL:setsid sh -c 'echo $$ > child.pid; exec sleep 300' & echo $$ > tool.pid; sleep 300",
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var pids []int
	for _, name := range []string{"tool.pid", "child.pid"} {
		pids = append(pids, awaitPid(ctx, t, filepath.Join(p.workspace, "kill", name)))
	}
	var state answer
	p.call(t, http.MethodDelete, "/run/"+a.RunID, nil, &state)
	if state.Status != "cancelled" {
		t.Errorf("after DELETE the run is %+v", state)
	}
	for _, pid := range pids {
		awaitGone(ctx, t, pid)
	}
	p.call(t, http.MethodGet, "/run/result?runId="+a.RunID, nil, &state)
	if state.Status != "cancelled" {
		t.Errorf("the result is %+v", state)
	}
	if next := p.run(t, map[string]any{"workspace": "kill", "prompt": "SAY:free again", "noContinue": true, "waitSeconds": 10}); next.Text != "free again" {
		t.Errorf("the next run in the workspace is %+v", next)
	}
}

// awaitPid waits for a file with a process id.
func awaitPid(ctx context.Context, t *testing.T, path string) int {
	t.Helper()
	for {
		data, err := os.ReadFile(path)
		if err == nil && bytes.HasSuffix(data, []byte("\n")) {
			pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		pause(ctx, t, path+" does not appear")
	}
}

// awaitGone waits until a process is neither alive nor defunct.
func awaitGone(ctx context.Context, t *testing.T, pid int) {
	t.Helper()
	for syscall.Kill(pid, 0) == nil {
		pause(ctx, t, "process "+strconv.Itoa(pid)+" is still there")
	}
}

func pause(ctx context.Context, t *testing.T, complaint string) {
	t.Helper()
	select {
	case <-ctx.Done():
		t.Fatal(complaint)
	case <-time.After(10 * time.Millisecond):
	}
}
