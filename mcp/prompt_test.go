package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

func TestRunPrompt(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	r := s.tool("run_prompt", m{"prompt": "SAY:hello\n@session s-1\n@usage {\"input_tokens\":3}", "workspace": "a"}).ok()
	o := r.outcome()
	if r.text() != "hello" || *o.Result != "hello" || o.Status != ledger.Completed || *o.Workspace != "a" ||
		o.Session != "s-1" || o.Usage.Input != 3 || *o.ExitCode != 0 || len(o.ID) != 32 {
		t.Errorf("%s", r.raw)
	}
	r = s.tool("run_prompt", m{
		"prompt": "ECHO", "workspace": "mw", "model": "smart", "system_prompt": "S",
		"append_system_prompt": "A", "thinking": "low", "resume": "", "timeout_seconds": 60,
	}).ok()
	var echo struct{ Argv []string }
	if err := json.Unmarshal([]byte(r.text()), &echo); err != nil {
		t.Fatal(err)
	}
	want := "--format text --model smart --system S --append-system A --thinking low --no-continue"
	if got := strings.Join(echo.Argv, " "); got != want {
		t.Errorf("the agent got %q, want %q", got, want)
	}
	for args, want := range map[string]m{
		"--format text --resume s-1":               {"resume": "s-1"},
		"--format text --resume s-1 --no-continue": {"resume": "s-1", "no_continue": true},
		"--format text":                            {"no_continue": false},
	} {
		want["prompt"] = "ECHO"
		r := s.tool("run_prompt", want).ok()
		if err := json.Unmarshal([]byte(r.text()), &echo); err != nil || strings.Join(echo.Argv, " ") != args {
			t.Errorf("the agent got %q, want %q", echo.Argv, args)
		}
	}
}

// What goes wrong is an error that a model can read, with what there is.
func TestRunPromptFails(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, tt := range map[string]struct {
		args  m
		words []string
		exit  int
	}{
		"crash":    {m{"prompt": "SAY:half\nERR:boom\nEXIT:3"}, []string{"exit code 3", "boom", "half"}, 3},
		"missing":  {m{"prompt": "x", "model": "missing"}, []string{"not found"}, 127},
		"timeout":  {m{"prompt": "SAY:part\nHANG", "timeout_seconds": 1}, []string{"timeout_seconds", "part"}, 124},
		"provider": {m{"prompt": "@error 429 slow down"}, []string{"429", "slow down", "later"}, 0},
		"signal":   {m{"prompt": "KILL:9"}, []string{"exit code 137"}, 137},
		"schema":   {m{"prompt": "SAY:nonsense", "json_schema": m{"type": "object"}}, []string{"json_schema", "nonsense"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.on(t)
			tt.args["workspace"] = name
			r := s.tool("run_prompt", tt.args).fails(tt.words...)
			o := r.outcome()
			if o.Error == "" || *o.ExitCode != tt.exit || o.ID == "" {
				t.Errorf("%s", r.raw)
			}
			if strings.Contains(r.raw, s.root) {
				t.Errorf("the path of the box is told: %s", r.raw)
			}
		})
	}
}

func TestRunPromptSchema(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	schema := m{"type": "object", "properties": m{"a": m{"type": "integer"}}, "required": []string{"a"}}
	r := s.tool("run_prompt", m{"prompt": `SEQ:bad|{"a":1}`, "workspace": "ms", "json_schema": schema}).ok()
	o := r.outcome()
	if r.text() != `{"a":1}` || string(o.JSON) != `{"a":1}` || *o.Result != `{"a":1}` || *o.Workspace != "ms" {
		t.Errorf("%s", r.raw)
	}
	if r := s.tool("run_prompt", m{"prompt": "SAY:null", "json_schema": m{"type": "null"}}).ok(); r.text() != "null" || r.fields()["workspace"] != nil {
		t.Errorf("null in a throw-away workspace: %s", r.raw)
	}
}

// Numbers keep their digits on the way in and out.
func TestCase_J05(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	value := `{"id":9007199254740993,"big":123456789012345678901234567890,"f":1.10}`
	schema := `{"type":"object","properties":{"id":{"type":"integer","const":9007199254740993},"big":{"type":"integer","const":123456789012345678901234567890},"f":{"const":1.10}}}`
	args := `{"prompt":` + quote("SAY:"+value) + `,"json_schema":` + schema + `}`
	for _, version := range []string{"", "2025-06-18"} {
		r := s.tool("run_prompt", json.RawMessage(args), versionHeader, version).ok()
		if r.text() != value || !strings.Contains(r.raw, `"json":`+value) {
			t.Errorf("%s", r.raw)
		}
	}
	echoed := s.tool("run_prompt", json.RawMessage(strings.Replace(args, quote("SAY:"+value), `"ECHO"`, 1))).ok()
	for _, digits := range []string{"9007199254740993", "123456789012345678901234567890", "1.10"} {
		if !strings.Contains(echoed.raw, digits) {
			t.Errorf("%s is lost: %s", digits, echoed.raw)
		}
	}
}

func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// Long runs tell of themselves, or are answered with an id.
func TestCase_M04(t *testing.T) {
	t.Parallel()
	quick := func(s *surface) { s.beat, s.sync = 100*time.Millisecond, 300*time.Millisecond }
	t.Run("with a token", func(t *testing.T) {
		t.Parallel()
		s := start(t, nil, quick)
		params := m{"name": "run_prompt", "arguments": m{"prompt": "@tool bash\nSLEEP:1.2\nSAY:done", "workspace": "a"}, "_meta": m{"progressToken": "p-1"}}
		a := s.do(t.Context(), http.MethodPost, "/mcp", message(3, "tools/call", params)).want(200)
		a.tool().ok()
		list := a.replies()
		var told []string
		last := 0.0
		for _, r := range list[:len(list)-1] {
			var p struct {
				ProgressToken string
				Progress      float64
				Message       string
			}
			if err := json.Unmarshal(r.Params, &p); err != nil || r.Method != "notifications/progress" || p.ProgressToken != "p-1" {
				t.Fatalf("%+v: %v", r, err)
			}
			if p.Progress <= last {
				t.Errorf("progress %v after %v", p.Progress, last)
			}
			last = p.Progress
			told = append(told, p.Message)
		}
		if list[len(list)-1].Result == nil || len(told) < 5 || !strings.Contains(strings.Join(told, ";"), "bash") {
			t.Errorf("it told %q", told)
		}
		if got := strings.Count(string(a.body), ": keep-alive"); got < 5 {
			t.Errorf("%d signs of life", got)
		}
	})
	t.Run("without one", func(t *testing.T) {
		t.Parallel()
		s := start(t, nil, quick)
		args := m{"prompt": "TOUCH:started\nAWAIT:go\nSAY:done", "workspace": "a"}
		first := s.tool("run_prompt", args).ok().outcome()
		if first.Status != ledger.Running || first.ID == "" {
			t.Fatalf("%+v", first)
		}
		if again := s.tool("run_prompt", args).ok().outcome(); again.ID != first.ID {
			t.Errorf("a second agent was started: %+v", again)
		}
		if r := s.tool("get_run", m{"run_id": first.ID, "wait_seconds": 0}).ok(); r.outcome().Status != ledger.Running || *r.outcome().Workspace != "a" {
			t.Errorf("%s", r.raw)
		}
		s.write("a/go", "")
		r := s.tool("get_run", m{"run_id": first.ID, "wait_seconds": 20}).ok()
		if r.text() != "done" || r.outcome().Status != ledger.Completed || r.outcome().ID != first.ID {
			t.Errorf("%s", r.raw)
		}
		if r := s.tool("cancel_run", m{"run_id": first.ID}).ok(); r.outcome().Status != ledger.Completed {
			t.Errorf("%s", r.raw)
		}
		if fresh := s.tool("run_prompt", args).ok().outcome(); fresh.ID == first.ID {
			t.Error("a call after the end joined it")
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		s := start(t, nil, quick)
		id := s.tool("run_prompt", m{"prompt": "HANG"}).ok().outcome().ID
		if r := s.tool("cancel_run", m{"run_id": id}).ok(); r.outcome().Status != ledger.Cancelled {
			t.Errorf("%s", r.raw)
		}
		s.tool("get_run", m{"run_id": id}).fails("cancelled")
	})
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		s := start(t, nil)
		s.tool("get_run", m{"run_id": "no-such"}).fails("no-such", "run_prompt")
		s.tool("cancel_run", m{"run_id": "no-such"}).fails("no-such")
		s.tool("get_run", m{}).fails("run_id")
		foreign, err := runner.Run(t.Context(), s.box, aicodebox.Request{Prompt: "SAY:x"}, runner.Surface("api"))
		if err != nil {
			t.Fatal(err)
		}
		s.tool("get_run", m{"run_id": foreign.ID}).fails(foreign.ID)
	})
}

// The library's client sees the same in every version of the protocol.
func TestClient(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(s *surface) { s.beat = 50 * time.Millisecond })
	for _, version := range sdk.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := s.on(t)
			var mu sync.Mutex
			var told []float64
			session := s.connect(version, func(o *sdk.ClientOptions) {
				o.ProgressNotificationHandler = func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, req.Params.Progress)
				}
			})
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("version %s", got)
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 7 {
				t.Fatalf("%v, %v", tools, err)
			}
			params := &sdk.CallToolParams{Name: "run_prompt", Arguments: m{"prompt": "SLEEP:0.3\nSAY:hello", "workspace": version}}
			params.SetProgressToken("t")
			res, err := session.CallTool(t.Context(), params)
			if err != nil || res.IsError {
				t.Fatalf("%v, %v", res, err)
			}
			mu.Lock()
			if res.Content[0].(*sdk.TextContent).Text != "hello" || len(told) < 2 {
				t.Errorf("%v, told %v", res.Content[0], told)
			}
			mu.Unlock()
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				s.appears("c" + version + "/started")
				cancel()
			}()
			_, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "run_prompt", Arguments: m{"prompt": "TOUCH:started\nHANG", "workspace": "c" + version}})
			if err == nil {
				t.Error("the call went on")
			}
			s.until("the end of the run", func() bool {
				list, err := runner.List(t.Context(), s.box)
				for _, info := range list {
					if strings.HasSuffix(info.Workspace, "c"+version) {
						return false
					}
				}
				return err == nil
			})
		})
	}
}

// A workspace is worked in by one run at a time, whoever asked.
func TestTurns(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_MAX_WAITING": "1"}, func(s *surface) { s.sync = 0 })
	a := s.tool("run_prompt", m{"prompt": "HANG", "workspace": "a"}).ok().outcome()
	b := s.tool("run_prompt", m{"prompt": "SAY:b", "workspace": "a"}).ok().outcome()
	s.until("the second run's wait", func() bool {
		info, err := runner.Lookup(t.Context(), s.box, b.ID)
		return err == nil && info.Status == ledger.Waiting
	})
	if o := s.tool("get_run", m{"run_id": b.ID, "wait_seconds": 0}).ok().outcome(); o.Status != ledger.Waiting {
		t.Errorf("%+v", o)
	}
	s.s.sync = time.Minute
	s.tool("run_prompt", m{"prompt": "SAY:c", "workspace": "a"}).fails("too many runs")
	s.tool("cancel_run", m{"run_id": a.ID}).ok()
	if r := s.tool("get_run", m{"run_id": b.ID, "wait_seconds": 20}).ok(); r.text() != "b" {
		t.Errorf("%s", r.raw)
	}
}

// A panic is an error of one call.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	boom := tool{name: "boom", run: func(*call, *arguments) (output, error) { panic("boom") }}
	s.s.server().library.AddTool(&sdk.Tool{Name: "boom", InputSchema: m{"type": "object"}}, s.s.server().handle(boom))
	r := s.do(t.Context(), http.MethodPost, "/mcp", message(1, "tools/call", m{"name": "boom"})).last()
	if r.Error == nil || strings.Contains(r.Error.Message, "boom") || !strings.Contains(r.Error.Message, "mistake") {
		t.Errorf("%+v", r)
	}
	s.tool("list_files", nil).ok()
}

func TestBrief(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "",
		" one\ntwo \n":            "two",
		strings.Repeat("ä", 100):  strings.Repeat("ä", 60) + "…",
		strings.Repeat("x", 120):  strings.Repeat("x", 120),
		"bad \xff byte":           "bad \ufffd byte",
		strings.Repeat("\xff", 3): "\ufffd",
	} {
		if diff := cmp.Diff(want, brief(text)); diff != "" {
			t.Error(diff)
		}
	}
}
