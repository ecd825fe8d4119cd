package api

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lean is what an answer holds when nothing else was asked for.
var lean = []string{"exitCode", "runId", "text", "workspace"}

func keys(o object) []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestRunLean(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	o := s.run(object{"prompt": "SAY:hello\n@session s-1\n@usage {\"input_tokens\":3}", "workspace": "a/b"}).want(200).object()
	if diff := cmp.Diff(lean, keys(o)); diff != "" {
		t.Errorf("members: %s", diff)
	}
	if o["text"] != "hello" || o["exitCode"] != json.Number("0") || o["workspace"] != filepath.Join(s.root, "a/b") {
		t.Errorf("answer %v", o)
	}
	if id := member(t, o, "runId"); !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) {
		t.Errorf("run id %q", id)
	}
}

func TestRunOptionsReachTheAgent(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	args := func(body object) []any {
		t.Helper()
		body["prompt"] = "ECHO"
		o := s.run(body).want(200).object()
		var echo struct{ Argv []any }
		if err := json.Unmarshal([]byte(member(t, o, "text")), &echo); err != nil {
			t.Fatal(err)
		}
		return echo.Argv
	}
	want := []any{
		"--format", "text", "--model", "m", "--system", "SYS", "--append-system", "APP", "--resume", "r-1",
		"--thinking", "high", "--no-continue", "--no-tools", "--tools", "read,write", "--x", "1",
	}
	got := args(object{
		"workspace": "opts", "model": "m", "systemPrompt": "SYS", "appendSystemPrompt": "APP", "noContinue": true,
		"resume": "r-1", "thinking": "high", "toolsAllowlist": []string{"read", "write"}, "noTools": true,
		"extraArgs": []string{"--x", "1"}, "timeoutSeconds": 60,
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("camelCase: %s", diff)
	}
	got = args(object{
		"workspace": "opts", "model": "m", "system_prompt": "SYS", "append_system_prompt": "APP", "no_continue": true,
		"resume": "r-1", "thinking": "high", "tools_allowlist": []string{"read", "write"}, "no_tools": true,
		"extra_args": []string{"--x", "1"}, "timeout_seconds": 60,
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snake_case: %s", diff)
	}
	if diff := cmp.Diff([]any{"--format", "text", "--tools", ""}, args(object{"toolsAllowlist": []string{}})); diff != "" {
		t.Errorf("an empty list of tools: %s", diff)
	}
	if diff := cmp.Diff([]any{"--format", "text"}, args(object{"model": nil, "toolsAllowlist": nil, "timeoutSeconds": nil})); diff != "" {
		t.Errorf("nulls: %s", diff)
	}
}

func TestRunEnds(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, tt := range map[string]struct {
		body object
		want object // runId and workspace left out
	}{
		"exit":        {object{"prompt": "SAY:partial\nERR:boom\nEXIT:7"}, object{"exitCode": 7, "text": "partial", "stderr": "boom\n"}},
		"quiet exit":  {object{"prompt": "EXIT:7"}, object{"exitCode": 7, "text": "", "stderr": ""}},
		"signal":      {object{"prompt": "SAY:partial\nKILL:9"}, object{"exitCode": 137, "text": "partial", "stderr": ""}},
		"raw":         {object{"prompt": "ERR:warn\nSAY:out", "includeRaw": true}, object{"exitCode": 0, "text": "out", "stdout": "out\n", "stderr": "warn\n"}},
		"stderr kept": {object{"prompt": "ERR:warn\nSAY:out"}, object{"exitCode": 0, "text": "out"}},
		"no output":   {object{"prompt": "ERR:"}, object{"exitCode": 0, "text": ""}},
		"timeout":     {object{"prompt": "SAY:partial\nHANG", "timeoutSeconds": 4}, object{"exitCode": 124, "text": "partial", "error": "timeout", "stderr": ""}},
		"provider": {object{"prompt": "@error 429 slow down"}, object{"exitCode": 0, "text": "", "providerError": object{
			"message": "slow down", "status": 429, "retryable": true,
		}}},
		"not UTF-8": {object{"prompt": `SAY:a\xffb`}, object{"exitCode": 0, "text": "a\ufffdb"}},
		"line ends": {object{"prompt": `SAY:a\r\nb`, "includeRaw": true}, object{"exitCode": 0, "text": "a\r\nb", "stdout": "a\r\nb\n", "stderr": ""}},
		"json events": {object{"prompt": `RAW:{"type":"x","n":12345678901234567890}\n`, "outputFormat": "json-verbose"}, object{"exitCode": 0, "text": `{"type":"x","n":12345678901234567890}`, "events": []any{
			object{"sequence": 0, "attempt": 0, "backend": "fake", "eventType": "x", "event": object{"type": "x", "n": json.Number("12345678901234567890")}},
		}}},
		"events": {object{"prompt": "SAY:one\nSAY:two", "eventMode": "full"}, object{"exitCode": 0, "text": "one\ntwo", "events": []any{
			object{"sequence": 0, "attempt": 0, "backend": "fake", "eventType": "text", "event": "one"},
			object{"sequence": 1, "attempt": 0, "backend": "fake", "eventType": "text", "event": "two"},
		}}},
		"no events": {object{"prompt": "SAY:one", "eventMode": "none", "outputFormat": "json-verbose"}, object{"exitCode": 0, "text": "one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.body["workspace"] = strings.ReplaceAll(name, " ", "-")
			o := s.run(tt.body).want(200).object()
			delete(o, "runId")
			delete(o, "workspace")
			if diff := cmp.Diff(canonical(t, tt.want), canonical(t, o)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// canonical is v as JSON with sorted names.
func canonical(t testing.TB, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRunMissingBinary(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	a := s.run(object{"prompt": "x", "model": "missing"}).want(200)
	o := a.object()
	if o["exitCode"] != json.Number("127") {
		t.Errorf("answer %v", o)
	}
	if strings.Contains(string(a.body), "/nonexistent") {
		t.Errorf("the answer tells a path of the box: %s", a.body)
	}
}

func TestRunAccepts(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, body := range map[string]any{
		"byte order mark": "\ufeff{\"prompt\":\"SAY:x\"}",
		"lone surrogate":  `{"prompt":"SAY:x\n\ud800"}`,
		"zero byte":       `{"prompt":"SAY:x\n\u0000y"}`,
		"white space":     " \n{ \"prompt\" : \"SAY:x\" } \n",
		"dot":             object{"prompt": "SAY:x", "workspace": "."},
		"empty workspace": object{"prompt": "SAY:x", "workspace": ""},
		"big prompt":      object{"prompt": "SAY:x\n" + strings.Repeat("p", 2_000_000)},
		"not read":        object{"prompt": strings.Repeat("x", 1_000_000), "model": "noread"},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.run(body).want(200).object()
			if name != "not read" && o["text"] != "x" {
				t.Errorf("answer %.500v", o)
			}
		})
	}
}

func TestRunBusy(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	first := make(chan answered, 1)
	go func() {
		a, _ := s.try(context.Background(), http.MethodPost, "/run", bodyOf(object{"prompt": "TOUCH:on\nAWAIT:go\nSAY:first", "workspace": "w"}), "Content-Type", "application/json")
		first <- a
	}()
	s.appears("w/on")
	for _, body := range []object{{"workspace": "w"}, {"workspace": "./w/"}, {"workspace": "w", "async": true}} {
		body["prompt"] = "SAY:y"
		a := s.run(body)
		p := a.problem(409)
		if a.header.Get("Retry-After") == "" || !strings.Contains(p.Detail, "waitSeconds") {
			t.Errorf("problem %+v, headers %v", p, a.header)
		}
	}
	s.run(object{"prompt": "SAY:y", "workspace": "w/sub"}).want(200)
	s.run(object{"prompt": "SAY:y"}).want(200)
	second := make(chan answered, 1)
	go func() {
		a, _ := s.try(context.Background(), http.MethodPost, "/run", bodyOf(object{"prompt": "SAY:second", "workspace": "w", "waitSeconds": 60}), "Content-Type", "application/json")
		second <- a
	}()
	s.until("the waiting run in /status", func() bool {
		for _, run := range s.get("/status").want(200).object()["runs"].([]any) {
			if run.(object)["status"] == "waiting" {
				return true
			}
		}
		return false
	})
	if err := os.WriteFile(filepath.Join(s.root, "w/go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := (<-first).object(); o["text"] != "first" {
		t.Errorf("first %v", o)
	}
	if o := (<-second).object(); o["text"] != "second" {
		t.Errorf("second %v", o)
	}
}

// A caller that hangs up does not leave its agent working.
func TestCase_W07(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, body := range map[string]object{
		"plain":  {},
		"schema": {"jsonSchema": object{"type": "object"}},
		"events": {"eventMode": "full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body["prompt"], body["workspace"] = "TOUCH:on\nSLEEP:60", name
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() {
				_, err := s.try(ctx, http.MethodPost, "/run", bodyOf(body), "Content-Type", "application/json")
				left <- err
			}()
			s.appears(name + "/on")
			id := s.runIn(name)
			leave()
			if err := <-left; err == nil {
				t.Fatal("the caller got an answer")
			}
			if o := s.finished(id); o["status"] != "cancelled" {
				t.Errorf("the run is recorded as %v", o)
			}
			s.run(object{"prompt": "SAY:free", "workspace": name}).want(200)
		})
	}
}

// runIn returns the id of the run in flight in a workspace.
func (s *server) runIn(workspace string) string {
	s.t.Helper()
	for _, run := range s.get("/status").want(200).object()["runs"].([]any) {
		run := run.(object)
		if run["workspace"] == filepath.Join(s.root, workspace) {
			return run["runId"].(string)
		}
	}
	s.t.Fatalf("no run in %s", workspace)
	return ""
}
