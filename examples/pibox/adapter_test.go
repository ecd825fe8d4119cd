package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner/adaptertest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	adaptertest.Test(t, PiAdapter{},
		adaptertest.Wants("Describe", "Validate", "BuildEnv", "StreamParser"),
		adaptertest.Transcripts("testdata/*.ndjson"),
	)
}

// noSettings is an environment in which pi has no settings.
func noSettings(t *testing.T) []string {
	t.Helper()
	return []string{"PI_CODING_AGENT_DIR=" + t.TempDir()}
}

func TestBuildArgv(t *testing.T) {
	t.Parallel()
	const fresh = "pi --mode json"
	const again = " --thinking medium --tools +read,+bash,+edit,+write"
	for _, c := range []struct {
		name string
		req  aicodebox.Request
		want string
	}{
		{"continues by default", aicodebox.Request{}, fresh + " -c" + again},
		{"fresh", aicodebox.Request{Fresh: true}, fresh},
		{"resume", aicodebox.Request{Resume: "01a2-b"}, fresh + " --session 01a2-b" + again},
		{"resume wins over fresh", aicodebox.Request{Resume: "01a2-b", Fresh: true}, fresh + " --session 01a2-b" + again},
		{"model", aicodebox.Request{Fresh: true, Model: "openai/gpt-5"}, fresh + " --model openai/gpt-5"},
		{"effort", aicodebox.Request{Effort: "high"}, fresh + " -c --thinking high --tools +read,+bash,+edit,+write"},
		{"a level in the model's name", aicodebox.Request{Model: "a/b:high"}, fresh + " -c --model a/b:high --tools +read,+bash,+edit,+write"},
		{"no tools", aicodebox.Request{Fresh: true, NoTools: true}, fresh + " --no-tools --no-mcp"},
		{"an empty list of tools", aicodebox.Request{Fresh: true, Tools: []string{}}, fresh + " --no-tools --no-mcp"},
		{"tools", aicodebox.Request{Fresh: true, Tools: []string{"read", "grep"}}, fresh + " --tools read,grep --no-mcp"},
		{"a tool of an MCP server", aicodebox.Request{Fresh: true, Tools: []string{"read", "mcp__db__*"}}, fresh + " --tools read,mcp__db__*"},
		{"extra arguments", aicodebox.Request{Fresh: true, ExtraArgs: []string{"-nc"}}, fresh + " -nc"},
		{"JSON is read from the same records", aicodebox.Request{Fresh: true, Format: aicodebox.FormatVerbose}, fresh},
		{"a prompt that is a word already", aicodebox.Request{Fresh: true, Effort: "high", Prompt: "high"}, fresh + " --thinking high -- high"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.req.Env = noSettings(t)
			argv, err := PiAdapter{}.BuildArgv(c.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, strings.Join(argv, " ")); diff != "" {
				t.Errorf("argv (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSystemPromptsAreFiles(t *testing.T) {
	t.Parallel()
	req := aicodebox.Request{
		Fresh: true, Scratch: t.TempDir(), System: strings.Repeat("s", 200<<10), AppendSystem: "/etc/passwd",
	}
	argv, err := PiAdapter{}.BuildArgv(req)
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[string]string{"--system-prompt": req.System, "--append-system-prompt": req.AppendSystem} {
		data, err := os.ReadFile(after(argv, option))
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != want {
			t.Errorf("the file of %s has %d bytes; want %d", option, len(data), len(want))
		}
	}
}

func TestSystemPromptWithoutScratch(t *testing.T) {
	t.Parallel()
	argv, err := PiAdapter{}.BuildArgv(aicodebox.Request{Fresh: true, System: "/etc/passwd"})
	if err != nil {
		t.Fatal(err)
	}
	if got := after(argv, "--system-prompt"); got != "/etc/passwd\n" {
		t.Errorf("the system prompt is passed as %q", got)
	}
}

func TestSystemPromptThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := PiAdapter{}.BuildArgv(aicodebox.Request{Scratch: missing, System: "x"})
	if err == nil || strings.Contains(err.Error(), missing) {
		t.Errorf("the error is %v; want one without the path", err)
	}
}

// after is the word that follows option.
func after(argv []string, option string) string {
	for i, word := range argv[:len(argv)-1] {
		if word == option {
			return argv[i+1]
		}
	}
	return ""
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		req  aicodebox.Request
		ok   bool
	}{
		{"ordinary", aicodebox.Request{Prompt: "x", Model: "a/b:high", Resume: "01a22f23-a2f7-7798", Tools: []string{"read", "mcp__a__*"}}, true},
		{"blank prompt", aicodebox.Request{Prompt: " \n"}, false},
		{"a session file", aicodebox.Request{Prompt: "x", Resume: "/root/.pi/agent/sessions/a.jsonl"}, false},
		{"an option as session", aicodebox.Request{Prompt: "x", Resume: "--no-session"}, false},
		{"an option as model", aicodebox.Request{Prompt: "x", Model: "-x"}, false},
		{"a tool that widens", aicodebox.Request{Prompt: "x", Tools: []string{"+bash"}}, false},
		{"two tools in one", aicodebox.Request{Prompt: "x", Tools: []string{"read,bash"}}, false},
		{"an empty tool", aicodebox.Request{Prompt: "x", Tools: []string{""}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := (PiAdapter{}).Validate(c.req); (err == nil) != c.ok {
				t.Errorf("Validate = %v; want ok %t", err, c.ok)
			}
		})
	}
}

func TestBuildEnv(t *testing.T) {
	t.Parallel()
	got := PiAdapter{}.BuildEnv(aicodebox.Request{}, []string{"PI_TELEMETRY=1"})
	want := []string{"PI_TELEMETRY=1", "PI_SKIP_VERSION_CHECK=1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, level, tools string }{
		{"none", ``, "medium", "+read,+bash,+edit,+write"},
		{"broken", `{"defaultTools":`, "medium", "+read,+bash,+edit,+write"},
		{"level", `{"defaultThinkingLevel":"low"}`, "low", "+read,+bash,+edit,+write"},
		{"changed tools", `{"defaultTools":["-bash","+grep"]}`, "medium", "-bash,+read,+edit,+write,+grep"},
		{"other tools", `{"defaultTools":["read","ls"]}`, "medium", "-bash,-edit,-write,+read,+ls"},
		{"no tools", `{"defaultTools":[]}`, "medium", "-read,-bash,-edit,-write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			s := readSettings([]string{"PI_CODING_AGENT_DIR=" + dir})
			if s.level() != c.level || s.tools() != c.tools {
				t.Errorf("level %q, tools %q; want %q, %q", s.level(), s.tools(), c.level, c.tools)
			}
		})
	}
}
