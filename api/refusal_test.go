package api

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/boxtest"
)

func TestRunRefused(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_AVAILABLE_MODELS": "m1,m2", "AICODEBOX_AVAILABLE_EFFORTS": "low,high"})
	if err := os.WriteFile(filepath.Join(s.root, "afile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	for link, target := range map[string]string{"out": outside, "abs": s.root, "up": "../..", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(s.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		body   any
		status int
		at     []string // of the errors
	}{
		"no prompt":         {object{}, 422, []string{"body"}},
		"empty prompt":      {object{"prompt": ""}, 422, []string{"body.prompt"}},
		"null prompt":       {object{"prompt": nil}, 422, []string{"body.prompt"}},
		"number as prompt":  {object{"prompt": 5}, 422, []string{"body.prompt"}},
		"string as number":  {object{"prompt": "x", "timeoutSeconds": "5"}, 422, []string{"body.timeoutSeconds"}},
		"string as bool":    {object{"prompt": "x", "noContinue": "yes"}, 422, []string{"body.noContinue"}},
		"fraction":          {object{"prompt": "x", "timeoutSeconds": 1.5}, 422, []string{"body.timeoutSeconds"}},
		"zero timeout":      {object{"prompt": "x", "timeoutSeconds": 0}, 422, []string{"body.timeoutSeconds"}},
		"negative timeout":  {object{"prompt": "x", "timeoutSeconds": -5}, 422, []string{"body.timeoutSeconds"}},
		"huge timeout":      {`{"prompt":"x","timeoutSeconds":1e300}`, 422, []string{"body.timeoutSeconds"}},
		"negative wait":     {object{"prompt": "x", "waitSeconds": -1}, 422, []string{"body.waitSeconds"}},
		"list of numbers":   {object{"prompt": "x", "extraArgs": []any{"a", 5}}, 422, []string{"body.extraArgs[1]"}},
		"string as list":    {object{"prompt": "x", "toolsAllowlist": "read"}, 422, []string{"body.toolsAllowlist"}},
		"schema as list":    {object{"prompt": "x", "jsonSchema": []any{}}, 422, []string{"body.jsonSchema"}},
		"schema as text":    {object{"prompt": "x", "jsonSchema": "{}"}, 422, []string{"body.jsonSchema"}},
		"bad event mode":    {object{"prompt": "x", "eventMode": "all"}, 422, []string{"body.eventMode"}},
		"bad format":        {object{"prompt": "x", "outputFormat": "xml"}, 422, []string{"body.outputFormat"}},
		"typo":              {object{"prompt": "x", "timeoutSecond": 1}, 422, []string{"body.timeoutSecond"}},
		"snake typo":        {object{"prompt": "x", "timeout_second": 1}, 422, []string{"body.timeout_second"}},
		"case":              {object{"Prompt": "x"}, 422, []string{"body.Prompt", "body"}},
		"twice":             {`{"prompt":"SAY:1","prompt":"SAY:2"}`, 422, []string{"body.prompt"}},
		"twice, two ways":   {`{"prompt":"x","noTools":true,"no_tools":true}`, 422, []string{"body.no_tools"}},
		"many":              {object{"prompt": 5, "jsonSchema": []any{}, "nope": 1}, 422, []string{"body.nope", "body.jsonSchema", "body.prompt"}},
		"array":             {`[]`, 422, []string{"body"}},
		"text":              {`"x"`, 422, []string{"body"}},
		"cut":               {`{"prompt":"x"`, 400, nil},
		"empty":             {``, 400, nil},
		"two values":        {`{"prompt":"x"}{}`, 400, nil},
		"trailing comma":    {`{"prompt":"x",}`, 400, nil},
		"NaN":               {`{"prompt":"x","timeoutSeconds":NaN}`, 400, nil},
		"not UTF-8":         {"{\"prompt\":\"SAY:\xe9\"}", 400, nil},
		"too deep":          {`{"prompt":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, 400, nil},
		"unknown model":     {object{"prompt": "x", "model": "nobody/knows"}, 422, []string{"body.model"}},
		"unknown effort":    {object{"prompt": "x", "thinking": "bogus"}, 422, []string{"body.thinking"}},
		"dot dot":           {object{"prompt": "x", "workspace": "../x"}, 400, []string{"body.workspace"}},
		"dot dot inside":    {object{"prompt": "x", "workspace": "a/../b"}, 400, []string{"body.workspace"}},
		"absolute":          {object{"prompt": "x", "workspace": "/etc"}, 400, []string{"body.workspace"}},
		"absolute, inside":  {object{"prompt": "x", "workspace": s.root + "/a"}, 400, []string{"body.workspace"}},
		"zero byte":         {object{"prompt": "x", "workspace": "a\x00b"}, 400, []string{"body.workspace"}},
		"long name":         {object{"prompt": "x", "workspace": strings.Repeat("n", 300)}, 400, []string{"body.workspace"}},
		"a file":            {object{"prompt": "x", "workspace": "afile"}, 400, []string{"body.workspace"}},
		"link out":          {object{"prompt": "x", "workspace": "out"}, 400, []string{"body.workspace"}},
		"absolute link":     {object{"prompt": "x", "workspace": "abs"}, 400, []string{"body.workspace"}},
		"relative link out": {object{"prompt": "x", "workspace": "up/x"}, 400, []string{"body.workspace"}},
		"link to itself":    {object{"prompt": "x", "workspace": "loop"}, 400, []string{"body.workspace"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.run(tt.body)
			p := a.problem(tt.status)
			var at []string
			for _, e := range p.Errors {
				at = append(at, e.Location)
				if e.Message == "" {
					t.Errorf("no message at %s", e.Location)
				}
			}
			if diff := cmp.Diff(tt.at, at); diff != "" {
				t.Errorf("locations: %s; problem %+v", diff, p)
			}
			if strings.Contains(string(a.body), s.root) && name != "absolute, inside" || strings.Contains(string(a.body), outside) {
				t.Errorf("the problem tells a path of the box: %s", a.body)
			}
		})
	}
}

func TestRunTypoIsExplained(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	p := s.run(object{"prompt": "x", "timeout_second": 1}).problem(422)
	if want := "unexpected property; did you mean timeoutSeconds?"; len(p.Errors) != 1 || p.Errors[0].Message != want {
		t.Errorf("errors %+v, want %q", p.Errors, want)
	}
}

func TestRunTooLong(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, body := range map[string]object{
		"argument":      {"prompt": "SAY:x", "extraArgs": []string{strings.Repeat("z", 200_000)}},
		"argv prompt":   {"prompt": strings.Repeat("z", 200_000), "model": "argv"},
		"NUL in a word": {"prompt": "SAY:x", "model": "a\x00b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body["workspace"] = strings.ReplaceAll(name, " ", "-")
			a := s.run(body)
			if a.status < 400 || a.status > 499 {
				t.Fatalf("status %d, want a 4xx; body %.500s", a.status, a.body)
			}
			a.problem(a.status)
		})
	}
}

func TestRunContentType(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for kind, status := range map[string]int{
		"application/json":                  200,
		"application/json; charset=utf-8":   200,
		"application/vnd.x+json":            200,
		"text/plain":                        415,
		"application/x-www-form-urlencoded": 415,
		"":                                  415,
		"nonsense;;":                        415,
	} {
		a := s.run(object{"prompt": "SAY:x"}, "Content-Type", kind)
		if a.status != status {
			t.Errorf("%q: status %d, want %d", kind, a.status, status)
		}
		if status != 200 {
			a.problem(status)
		}
	}
}

func TestRunBodyLimit(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	head := "POST /run HTTP/1.1\r\nHost: box\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
	s.rawStart(fmt.Sprintf(head, maxJSON+1)).problem(413)
	if res, err := http.DefaultClient.Do(s.request(t.Context(), http.MethodPost, "/run",
		struct{ *strings.Reader }{strings.NewReader(`{"prompt":"` + strings.Repeat("x", maxJSON) + `"}`)}, "Content-Type", "application/json")); err != nil {
		t.Fatal(err)
	} else if res.Body.Close(); res.StatusCode != 413 {
		t.Errorf("chunked: status %d, want 413", res.StatusCode)
	}
}
