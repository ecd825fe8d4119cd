package openai

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
)

// What the agent is asked, and with what.
func TestRequestToAgent(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, tt := range map[string]struct {
		body   m
		header []string
		argv   []string // after --format json
		stdin  string
		cwd    string // below the root
	}{
		"plain":         {body: ask("ECHO"), argv: []string{"--model", "fast", "--no-continue"}},
		"no model":      {body: ask("ECHO", m{"model": nil}), argv: []string{"--no-continue"}},
		"agent's name":  {body: ask("ECHO", m{"model": "fake"}), argv: []string{"--no-continue"}},
		"prefix":        {body: ask("ECHO", m{"model": "openai/fast"}), argv: []string{"--model", "fast", "--no-continue"}},
		"two slashes":   {body: ask("ECHO", m{"model": "openrouter/acme/m-1"}), argv: []string{"--model", "acme/m-1", "--no-continue"}},
		"exact":         {body: ask("ECHO", m{"model": "acme/m-1"}), argv: []string{"--model", "acme/m-1", "--no-continue"}},
		"effort":        {body: ask("ECHO", m{"reasoning_effort": "high"}), argv: []string{"--model", "fast", "--thinking", "high", "--no-continue"}},
		"effort none":   {body: ask("ECHO", m{"reasoning_effort": "none"}), argv: []string{"--model", "fast", "--thinking", "off", "--no-continue"}},
		"sampling":      {body: ask("ECHO", m{"temperature": 9, "max_tokens": 1, "seed": "x", "user": 5, "whatever": m{}, "n": 1, "logprobs": false}), argv: []string{"--model", "fast", "--no-continue"}},
		"workspace":     {body: ask("ECHO"), header: []string{"x-aicodebox-workspace", "hw"}, argv: []string{"--model", "fast", "--no-continue"}, cwd: "hw"},
		"empty header":  {body: ask("ECHO"), header: []string{"x-aicodebox-workspace", " "}, argv: []string{"--model", "fast", "--no-continue"}},
		"old headers":   {body: ask("ECHO"), header: []string{"x-claude-workspace", "hc", "x-claude-continue", "1", "x-claude-append-system-prompt", "APP"}, argv: []string{"--model", "fast", "--append-system", "APP"}, cwd: "hc"},
		"continue":      {body: ask("ECHO"), header: []string{"x-aicodebox-continue", "TRUE"}, argv: []string{"--model", "fast"}},
		"continue off":  {body: ask("ECHO"), header: []string{"x-aicodebox-continue", "no"}, argv: []string{"--model", "fast", "--no-continue"}},
		"resume":        {body: ask("ECHO"), header: []string{"x-aicodebox-resume", "s-4"}, argv: []string{"--model", "fast", "--resume", "s-4", "--no-continue"}},
		"append":        {body: ask("ECHO"), header: []string{"x-aicodebox-append-system-prompt", "gr\xfc\xdfe"}, argv: []string{"--model", "fast", "--append-system", "grüße", "--no-continue"}},
		"extra, JSON":   {body: ask("ECHO"), header: []string{"x-aicodebox-extra-args", `["--p","a, b"]`}, argv: []string{"--model", "fast", "--no-continue", "--p", "a, b"}},
		"extra, commas": {body: ask("ECHO"), header: []string{"x-aicodebox-extra-args", "--p, q"}, argv: []string{"--model", "fast", "--no-continue", "--p", "q"}},
		"allow-list":    {body: ask("ECHO"), header: []string{"x-aicodebox-tools-allowlist", "read,write"}, argv: []string{"--model", "fast", "--no-continue", "--tools", "read,write"}},
		"no tools":      {body: ask("ECHO"), header: []string{"x-aicodebox-no-tools", "yes"}, argv: []string{"--model", "fast", "--no-continue", "--no-tools"}},
		"unknown":       {body: ask("ECHO"), header: []string{"x-aicodebox-nope", "1"}, argv: []string{"--model", "fast", "--no-continue"}},
		"none of tools": {body: ask("ECHO", tools, m{"tool_choice": "none"}), argv: []string{"--model", "fast", "--no-continue"}},
		"empty tools":   {body: ask("ECHO", m{"tools": []m{}, "tool_choice": "required"}), argv: []string{"--model", "fast", "--no-continue"}},
		"null tools":    {body: ask("ECHO", m{"tools": nil, "functions": nil}), argv: []string{"--model", "fast", "--no-continue"}},
		"system": {
			body: m{"model": "fast", "messages": []m{{"role": "system", "content": "one"}, {"role": "developer", "content": []m{{"type": "text", "text": "two"}}}, {"role": "user", "content": "ECHO"}, {"role": "system", "content": nil}, {"role": "system", "content": "three"}}},
			argv: []string{"--model", "fast", "--system", "one\n\ntwo\n\nthree", "--no-continue"},
		},
		"parts": {
			body:  m{"model": "fast", "messages": []m{{"role": "user", "name": "ann", "content": []m{{"type": "text", "text": "ECHO"}, {"type": "text", "text": "b"}}}}},
			argv:  []string{"--model", "fast", "--no-continue"},
			stdin: "ECHO\nb",
		},
		"continue sends what is new": {
			body:   m{"model": "fast", "messages": []m{{"role": "user", "content": "old"}, {"role": "assistant", "content": "answer"}, {"role": "user", "content": "ECHO"}}},
			header: []string{"x-aicodebox-continue", "1"}, argv: []string{"--model", "fast"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := *s
			server.t = t
			got := echoOf(t, server.chat(tt.body, tt.header...).content())
			if diff := cmp.Diff(append([]string{"--format", "json"}, tt.argv...), got.Argv); diff != "" {
				t.Errorf("argv (-want +got):\n%s", diff)
			}
			want := tt.stdin
			if want == "" {
				want = "ECHO"
			}
			if got.Stdin != want {
				t.Errorf("stdin %q, want %q", got.Stdin, want)
			}
			if dir := filepath.Join(s.root, tt.cwd); got.Cwd != dir {
				t.Errorf("directory %s, want %s", got.Cwd, dir)
			}
		})
	}
}

// Where chats run.
func TestPlace(t *testing.T) {
	t.Parallel()
	shared := start(t, nil)
	apart := start(t, boxtest.Env{"AICODEBOX_API_MODE_CHAT_WORKSPACE": "ephemeral"})
	named := start(t, boxtest.Env{"AICODEBOX_API_MODE_CHAT_WORKSPACE": "chats"})
	where := func(s *server, body m, header ...string) string {
		t.Helper()
		dir := echoOf(t, s.chat(body, header...).content()).Cwd
		if rel, err := filepath.Rel(s.root, dir); err == nil && filepath.IsLocal(rel) {
			return rel
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the throw-away directory %s is still there", dir)
		}
		return "throw-away"
	}
	object := m{"response_format": m{"type": "json_object"}}
	chore := "### Task:\nGenerate a title.\n<chat_history>\nuser: ECHO\nECHO\n</chat_history>"
	for name, got := range map[string][2]string{
		"shared":                    {where(shared, ask("ECHO")), "."},
		"shared, schema":            {where(shared, ask("ECHO", object)), "throw-away"},
		"shared, tools":             {where(shared, ask("ECHO", tools)), "throw-away"},
		"shared, own tools on":      {where(shared, ask("ECHO", tools), "x-aicodebox-no-tools", "0"), "."},
		"shared, schema, header":    {where(shared, ask("ECHO", object), "x-aicodebox-workspace", "w"), "w"},
		"shared, schema, continued": {where(shared, ask("ECHO", object), "x-aicodebox-continue", "1"), "."},
		"shared, chore":             {where(shared, ask(chore)), "throw-away"},
		"shared, chore, header":     {where(shared, ask(chore), "x-aicodebox-workspace", "w"), "w"},
		"ephemeral":                 {where(apart, ask("ECHO")), "throw-away"},
		"ephemeral, header":         {where(apart, ask("ECHO"), "x-aicodebox-workspace", "a/b"), "a/b"},
		"named":                     {where(named, ask("ECHO")), "chats"},
		"named, schema":             {where(named, ask("ECHO", object)), "chats"},
		"named, tools":              {where(named, ask("ECHO", tools)), "chats"},
		"named, chore":              {where(named, ask(chore)), "throw-away"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: ran in %s, want %s", name, got[0], got[1])
		}
	}
}

// The agent's own tools are off where functions are offered.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	if !echoOf(t, s.chat(ask("ECHO", tools)).content()).has("--no-tools") {
		t.Error("the agent's tools are on")
	}
	if echoOf(t, s.chat(ask("ECHO", tools), "x-aicodebox-no-tools", "0").content()).has("--no-tools") {
		t.Error("the agent's tools are off")
	}
	with := func(part m) m {
		return ask("", tools, m{"messages": []any{m{"role": "user", "content": []any{m{"type": "text", "text": "ECHO"}, part}}}})
	}
	picture := m{"type": "image_url", "image_url": m{"url": pixel}}
	if got := echoOf(t, s.chat(with(picture)).content()); !got.has("--no-tools") || !got.has("--image") {
		t.Error("the agent is not shown the image, or its tools are on")
	}
	file := m{"type": "file", "file": m{"file_data": "aGVsbG8"}}
	if echoOf(t, s.chat(with(file)).content()).has("--no-tools") {
		t.Error("the agent has no tool to open the file with")
	}
}

// An agent that is not shown images opens them with tools of its own.
func TestToOpen(t *testing.T) {
	t.Parallel()
	files := attachments{saved: 3, images: []string{"a", "b"}}
	if got := files.toOpen(aicodebox.Description{}); got != 3 {
		t.Errorf("%d to open, want 3", got)
	}
	if got := files.toOpen(aicodebox.Description{Images: true}); got != 1 {
		t.Errorf("%d to open, want 1", got)
	}
}

// What the adapter refuses is a 400 also where the answer would be streamed.
func TestRefusedStream(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	body := ask(strings.Repeat("x", 200_000), m{"model": "argv", "stream": true})
	s.chat(body).want(http.StatusBadRequest)
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, path := range []string{"/v1/models", "/v1/models/", "/openai/v1/models", "/openai/v1/models/", "/v1/models/fast", "/v1/models/fast/", "/openai/v1/models/acme/m-1", "/v1/models/acme%2Fm-1", "/v1/models/openai/fast"} {
		s.do(http.MethodGet, path, "").want(200)
		if a := s.do(http.MethodHead, path, ""); a.status != 200 || len(a.body) != 0 {
			t.Errorf("HEAD %s: %d", path, a.status)
		}
	}
	for _, path := range []string{chatPath, chatPath + "/", "/openai" + chatPath, "/openai" + chatPath + "/"} {
		s.do(http.MethodPost, path, text(ask("SAY:x"))).want(200)
	}
	for path, code := range map[string]string{
		"/v1/models/nope": "model_not_found", "/v1/models/fake": "model_not_found", "/v1": "unknown_url", "/v1/": "unknown_url",
		"/v1/completions": "unknown_url", "/v1/embeddings": "unknown_url", "/openai/v1/chat": "unknown_url", "/v1/chat/completions/x": "unknown_url",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if method == http.MethodPost && code == "model_not_found" {
				continue
			}
			if e := s.do(method, path, "").error(404); deref(e.Code) != code {
				t.Errorf("%s %s: %+v", method, path, e)
			}
		}
	}
	for path, allow := range map[string]string{"/v1/chat/completions": "POST", "/v1/models": "GET, HEAD"} {
		a := s.do(http.MethodDelete, path, "")
		a.error(http.StatusMethodNotAllowed)
		if got := a.header.Get("Allow"); got != allow {
			t.Errorf("Allow %q", got)
		}
	}
}

// The same text comes out streamed or not.
func TestStreamEqualsAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, prompt := range map[string]string{
		"lines":        "SAY:a\nSAY:b",
		"blank lines":  `RAW:a\n\n\nb\n`,
		"no line end":  `RAW:a\nb`,
		"white space":  `RAW:\n\n  a  \n\n`,
		"empty":        "@done",
		"not UTF-8":    `RAW:ok \xff\xfe end\n`,
		"long line":    "SAY:before\nBYTES:300000\nSAY:after",
		"many lines":   "LINES:2000",
		"large stdout": "LINES:50000",
	} {
		t.Run(name, func(t *testing.T) {
			server := *s
			server.t = t
			plain := server.chat(ask(prompt)).content()
			live := server.stream(ask(prompt))
			if live.text != plain {
				t.Errorf("streamed %d bytes, answered %d: %.100q, %.100q", len(live.text), len(plain), live.text, plain)
			}
			if live.finish != "stop" || !live.done {
				t.Errorf("finish %q, done %v", live.finish, live.done)
			}
		})
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, tt := range []struct {
		stop any
		want string
	}{
		{"c", "ab"}, {[]string{"f", "de"}, "abc"}, {"abc", ""}, {"zz", "abcdef\nghi"}, {"\ng", "abcdef"}, {[]string{}, "abcdef\nghi"}, {nil, "abcdef\nghi"}, {"", "abcdef\nghi"},
	} {
		body := func() m { return ask("SAY:abcdef\nSAY:ghi", m{"stop": tt.stop}) }
		if got := s.chat(body()).content(); got != tt.want {
			t.Errorf("stop %q: %q, want %q", tt.stop, got, tt.want)
		}
		if got := s.stream(body()); got.text != tt.want || got.finish != "stop" {
			t.Errorf("stop %q, streamed: %q, want %q", tt.stop, got.text, tt.want)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for prompt, want := range map[string]string{
		"@stop length\nSAY:x": "length", "@stop content_filter\nSAY:x": "content_filter", "@stop weird\nSAY:x": "stop", "SAY:x": "stop",
	} {
		if got := s.chat(ask(prompt)).completion().Choices[0].Finish; got != want {
			t.Errorf("%q: %s, want %s", prompt, got, want)
		}
		if got := s.stream(ask(prompt)); got.finish != want {
			t.Errorf("%q, streamed: %s, want %s", prompt, got.finish, want)
		}
	}
}

// Every failure has its status, its type, and says not to be repeated once an
// agent has worked.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, tt := range []struct {
		name    string
		body    m
		header  []string
		status  int
		code    string
		message string
	}{
		{"crash", ask("SAY:partial\nERR:boom\nEXIT:3"), nil, 500, "agent_failed", "code 3: boom"},
		{"signal", ask("KILL:9"), nil, 500, "agent_failed", "code 137"},
		{"exit 127", ask("EXIT:127"), nil, 500, "agent_failed", "code 127"},
		{"missing", ask("x", m{"model": "missing"}), nil, 503, "agent_missing", "not found"},
		{"timeout", ask("SAY:a\nHANG"), []string{"x-aicodebox-timeout-seconds", "1"}, 504, "timeout", "time limit"},
		{"provider", ask("SAY:x\n@error refused by policy"), nil, 400, "provider_error", "refused by policy"},
		{"provider 401", ask("@error 401 bad key"), nil, 401, "provider_error", "bad key"},
		{"provider 529", ask("@error 529 overloaded"), nil, 529, "provider_error", "overloaded"},
		{"provider odd", ask("@error 200 strange"), nil, 400, "provider_error", "strange"},
		{"adapter", ask("@raise"), nil, 500, "agent_failed", "blew up"},
		{"schema", ask("SAY:bad", schemaA), nil, 422, "invalid_answer", "after 4 attempts"},
		{"schema, crash", ask("SEQ:bad|!3", schemaA), nil, 500, "agent_failed", "code 3"},
		{"schema, provider", ask("@error 403 no", schemaA), nil, 403, "provider_error", "no"},
		{"schema, timeout", ask("HANG", schemaA), []string{"x-aicodebox-timeout-seconds", "1"}, 504, "timeout", "time limit"},
		{"tools, crash", ask("EXIT:3", tools), nil, 500, "agent_failed", "code 3"},
		{"unknown effort", ask("SAY:x", m{"reasoning_effort": "huge"}), nil, 404, "not_found", "huge"},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				server := *s
				server.t = t
				body := m{"stream": streamed}
				for k, v := range tt.body {
					body[k] = v
				}
				header := append([]string{"x-aicodebox-workspace", "f-" + strings.ReplaceAll(t.Name(), "/", "-")}, tt.header...)
				a := server.chat(body, header...)
				var e envelopeError
				_, formed := body["response_format"]
				live := streamed && !formed && body["tools"] == nil && tt.code != "not_found"
				if live {
					s := assemble(t, a.want(200).body)
					if s.failure == nil || s.finish != "" || s.done {
						t.Fatalf("%+v", s)
					}
					e = *s.failure
				} else {
					e = a.error(tt.status)
					if got := a.header.Get("X-Should-Retry"); (got == "false") != (tt.code != "not_found") {
						t.Errorf("X-Should-Retry %q", got)
					}
				}
				if deref(e.Code) != tt.code || !strings.Contains(e.Message, tt.message) || strings.Contains(e.Message, s.root) {
					t.Errorf("%+v (%s)", e, deref(e.Code))
				}
			})
		}
	}
}

// The body wins over the schema header, which wins over plain text.
func TestSchemaHeader(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const header, schema = "x-aicodebox-json-schema", `{"type":"object","required":["a"]}`
	if got := s.chat(ask(`SAY:so: {"a":1}`), header, schema).content(); got != `{"a":1}` {
		t.Errorf("header: %s", got)
	}
	if got := s.chat(ask(`SAY:{"a":1}`, m{"response_format": m{"type": "text"}}), header, schema).content(); got != `{"a":1}` {
		t.Errorf("header and text: %s", got)
	}
	if got := s.chat(ask(`SAY:{"a":1}`, schemaA), header, `{"type":"array"}`).content(); got != `{"a":1}` {
		t.Errorf("header and body: %s", got)
	}
	if got := s.chat(ask("SAY:7"), header, "{}").content(); got != "7" {
		t.Errorf("any JSON: %s", got)
	}
	s.chat(ask("SAY:[1,2]", m{"response_format": m{"type": "json_object"}})).error(422)
}

// The agent's records come as events of their own name, in order, live and in
// a burst.
func TestNativeEvents(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	options := m{"stream_options": m{"include_aicodebox_events": true}}
	for name, body := range map[string]m{
		"live":  ask("JSONLINES:2:3\nSAY:x", options),
		"burst": ask("JSONLINES:2:3\nSAY:"+`{"a":1}`, options, schemaA),
	} {
		got := s.stream(body)
		if len(got.native) != 3 || !got.done {
			t.Fatalf("%s: %+v", name, got)
		}
		for i, f := range got.native {
			if f.name != "aicodebox.native" || !strings.HasPrefix(f.data, `{"sequence":`) {
				t.Errorf("%s: event %d: %+v", name, i, f)
			}
		}
	}
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var list modelList
	decode(t, s.do(http.MethodGet, "/v1/models", "").want(200).body, &list)
	var ids []string
	for _, entry := range list.Data {
		ids = append(ids, entry.ID)
		if entry.Object != "model" || entry.Created == 0 || entry.Owner == "" {
			t.Errorf("%+v", entry)
		}
	}
	if !slices.Equal(ids, s.box.Models()) {
		t.Errorf("%v", ids)
	}
}
