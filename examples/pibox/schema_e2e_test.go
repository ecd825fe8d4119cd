package main

import (
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox/internal/fakemodel"
)

// Answers that are wrong, wrong, and right: the third wins. In a throw-away
// workspace the retries go on in the session and are short; in a caller's
// workspace they are fresh sessions that are told everything again.
func TestRealPiSchema(t *testing.T) {
	t.Parallel()
	p := startBox(t)
	task := "TASK " + strings.Repeat("a long task. ", 8000) // about 100 KB
	schema := map[string]any{
		"type": "object", "required": []string{"n"},
		"properties": map[string]any{"n": map[string]any{"type": "integer"}},
	}
	for _, workspace := range []string{"", "mine"} {
		p.model.Reset()
		p.model.Queue(fakemodel.Say("I think it is seven."), fakemodel.Say(`{"n":"seven"}`), fakemodel.Say(`{"n":7}`))
		fields := map[string]any{"prompt": task, "jsonSchema": schema, "eventMode": "none"}
		if workspace != "" {
			fields["workspace"] = workspace
		}
		a := p.run(t, fields)
		if string(a.JSON) != `{"n":7}` {
			t.Fatalf("workspace %q: the answer is %+v", workspace, a)
		}
		checkRetries(t, p.model.Requests(), workspace == "")
	}
}

// checkRetries checks what the model was asked: the task, and two retries.
func checkRetries(t *testing.T, asked []fakemodel.Request, goesOn bool) {
	t.Helper()
	if len(asked) != 3 {
		t.Fatalf("the model was asked %d times, want 3", len(asked))
	}
	for i, r := range asked {
		told := strings.Contains(r.User(), "TASK a long task.")
		switch {
		case i == 0 && (!told || len(r.Messages) != 1):
			t.Errorf("the first question has %d messages, task told: %v", len(r.Messages), told)
		case i > 0 && goesOn && (told || r.Prompt > 2048 || len(r.Messages) != 2*i+1):
			t.Errorf("retry %d: %d messages, a prompt of %d bytes, task told: %v", i, len(r.Messages), r.Prompt, told)
		case i > 0 && !goesOn && (!told || len(r.Messages) != 1):
			t.Errorf("retry %d in a caller's workspace: %d messages, task told: %v", i, len(r.Messages), told)
		}
	}
	if last := asked[2].User(); !strings.Contains(last, "integer") {
		t.Errorf("the last retry does not say what was expected: %.500s", last)
	}
}
