package jsonanswer

import (
	"strings"
	"testing"
)

const ageSchema = `{
  "type": "object",
  "properties": {"age": {"type": "integer"}},
  "required": ["age"]
}`

// ageError is what is wrong with an answer to ageSchema.
func ageError(t *testing.T, answer string) error {
	t.Helper()
	_, err := Read(answer, mustCompile(t, ageSchema))
	if err == nil {
		t.Fatalf("%s is accepted", answer)
	}
	return err
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	got := Prompt([]byte(ageSchema))
	if n := strings.Count(got, `{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}`); n != 1 {
		t.Errorf("the schema stands in the prompt %d times, want once:\n%s", n, got)
	}
	if got := Prompt(nil); !strings.Contains(got, "a JSON object") || strings.Contains(got, "Schema") {
		t.Errorf("the prompt for any object is:\n%s", got)
	}
}

func TestCorrection(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`{"age":"forty"}`, "I do not know.", `{"age": 40, b}`} {
		err := ageError(t, answer)
		got := Correction(err, []byte(ageSchema))
		if !strings.Contains(got, err.Error()) || !strings.Contains(got, `"required":["age"]`) {
			t.Errorf("the error or the schema is missing:\n%s", got)
		}
		if len(got) >= 2048 {
			t.Errorf("%d bytes, want less than 2048:\n%s", len(got), got)
		}
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	err := ageError(t, `{"age":"forty"}`)
	got := Retry("How old is Bob?", `{"age":"forty"}`, err, []byte(ageSchema))
	for _, want := range []string{"How old is Bob?", "\n" + `{"age":"forty"}` + "\n", err.Error(), `"required":["age"]`} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q does not stand in the prompt once:\n%s", want, got)
		}
	}
	if got := Retry("Task", "", err, nil); strings.Contains(got, ruler) {
		t.Errorf("an empty answer is quoted:\n%s", got)
	}
}

func TestPromptsAreBounded(t *testing.T) {
	t.Parallel()
	bad := "<" + strings.Repeat("é", 1<<20) + ">"
	err := &ParseError{Reason: strings.Repeat("reason ", 1<<16)}
	for name, got := range map[string]string{
		"Retry":      Retry("Task", bad, err, []byte(ageSchema)),
		"Correction": Correction(err, []byte(ageSchema)),
	} {
		if len(got) > 32<<10 || strings.ContainsRune(got, '�') {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

// TestRepeatedPromptsAreNoAnswers has agents print what they were asked before
// they answer, in every attempt.
func TestRepeatedPromptsAreNoAnswers(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, ageSchema)
	task := "How old is Bob? Answer like this:\n{\"age\": 1}"
	err := ageError(t, `{"age":"forty"}`)
	first := task + "\n\n" + Prompt([]byte(ageSchema))
	for _, sent := range []string{
		first,
		Retry(task, `{"age":"forty"}`, err, []byte(ageSchema)),
		Correction(err, []byte(ageSchema)),
	} {
		reads(t, s, sent+"\n\n"+`{"age":40}`, `{"age":40}`, first, sent)
		reads(t, s, "Prompt: "+sent+"\n\nAnswer: "+`{"age":40}`, `{"age":40}`, first, sent)
		if got, err := Read(sent, s, first, sent); err == nil {
			t.Errorf("%s was taken for the answer", got.JSON)
		}
	}
}
