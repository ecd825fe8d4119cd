package api

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var aSchema = object{"type": "object", "properties": object{"a": object{"type": "integer"}}, "required": []string{"a"}}

func TestRunSchema(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	run := func(t *testing.T, prompt string, schema any, more ...string) object {
		t.Helper()
		body := object{"prompt": prompt, "jsonSchema": schema, "workspace": t.Name()}
		for _, name := range more {
			body[name] = "none"
		}
		return s.run(body).want(200).object()
	}
	t.Run("success", func(t *testing.T) {
		t.Parallel()
		o := run(t, "@session s-9\n@usage {\"input_tokens\":10,\"output_tokens\":5}\nSAY:{\"a\":12345678901234567890}", aSchema)
		if diff := cmp.Diff([]string{"attempts", "events", "exitCode", "json", "runId", "sessionId", "text", "usage", "workspace"}, keys(o)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(object{"a": json.Number("12345678901234567890")}, o["json"]); diff != "" {
			t.Error(diff)
		}
		if len(o["events"].([]any)) != 3 || o["sessionId"] != "s-9" {
			t.Errorf("answer %v", o)
		}
	})
	t.Run("no events", func(t *testing.T) {
		t.Parallel()
		o := run(t, `SAY:{"a":1}`, aSchema, "eventMode")
		if _, ok := o["events"]; ok {
			t.Errorf("answer %v", o)
		}
	})
	t.Run("null", func(t *testing.T) {
		t.Parallel()
		o := run(t, "SAY:null", object{"type": "null"})
		if v, ok := o["json"]; !ok || v != nil {
			t.Errorf("answer %v", o)
		}
	})
	t.Run("retry", func(t *testing.T) {
		t.Parallel()
		o := run(t, `@usage {"input_tokens":10}`+"\nSEQ:not json|{\"b\":1}|{\"a\":3}", aSchema)
		if o["jsonRetries"] != json.Number("2") || len(o["attempts"].([]any)) != 3 || o["parseError"] != nil {
			t.Errorf("answer %v", o)
		}
		if diff := cmp.Diff(object{"input_tokens": json.Number("30"), "output_tokens": json.Number("0")}, o["usage"]); diff != "" {
			t.Error(diff)
		}
		events := o["events"].([]any)
		last := events[len(events)-1].(object)
		if last["attempt"] != json.Number("2") || last["sequence"] != json.Number("5") {
			t.Errorf("events %v", events)
		}
	})
	t.Run("used up", func(t *testing.T) {
		t.Parallel()
		o := run(t, "SEQ:bad one|bad two|bad three|bad four|bad five", aSchema)
		if _, ok := o["json"]; ok || o["jsonRetries"] != json.Number("3") || o["text"] != "bad four" {
			t.Errorf("answer %v", o)
		}
		if member(t, o, "parseError") == "" {
			t.Errorf("answer %v", o)
		}
	})
	t.Run("crash", func(t *testing.T) {
		t.Parallel()
		o := run(t, "SEQ:bad|!3", aSchema)
		if o["exitCode"] != json.Number("3") || o["stderr"] != "scripted exit 3\n" || o["jsonRetries"] != json.Number("1") || o["json"] != nil {
			t.Errorf("answer %v", o)
		}
	})
	t.Run("provider error", func(t *testing.T) {
		t.Parallel()
		o := run(t, "@error 429 quota", aSchema)
		if len(o["attempts"].([]any)) != 1 || o["providerError"].(object)["message"] != "quota" || o["parseError"] != nil {
			t.Errorf("answer %v", o)
		}
	})
}

func TestRunSchemaRefused(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, schema := range map[string]any{
		"invalid": object{"type": "bogus"},
		"remote":  object{"$ref": "http://127.0.0.1:9/none.json"},
		"file":    object{"$ref": "file:///etc/passwd"},
	} {
		p := s.run(object{"prompt": "TOUCH:started", "jsonSchema": schema, "workspace": "w"}).problem(422)
		if len(p.Errors) != 1 || p.Errors[0].Location != "body.jsonSchema" {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Without a workspace, an answer by schema is made in a throw-away one.
func TestRunSchemaEphemeral(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	o := s.run(object{"prompt": `SAY:{"a":1}`, "jsonSchema": aSchema}).want(200).object()
	if o["workspace"] == s.root {
		t.Errorf("answer %v", o)
	}
}
