package jsonanswer

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// answerCase is one model answer of testdata/answers.json and what is to be
// read out of it.
type answerCase struct {
	Name     string
	Schema   json.RawMessage // absent: any object is asked for
	Text     string
	Lines    []string // in place of Text
	Bytes    []byte   // in place of Text: base64
	Repeat   []piece  // in place of Text: generated
	Sent     []string
	Want     string // the value as it has to leave, to the byte
	WantSize int    // in place of Want: how long the value is
	Repaired bool
	Errors   []string // in place of Want: what the error has to say
	Kind     string   // of the error: "parse" or "validation"
}

type piece struct {
	Text  string
	Times int
}

func (c *answerCase) text() string {
	switch {
	case c.Lines != nil:
		return strings.Join(c.Lines, "\n")
	case c.Bytes != nil:
		return string(c.Bytes)
	case c.Repeat != nil:
		var b strings.Builder
		for _, p := range c.Repeat {
			b.WriteString(strings.Repeat(p.Text, p.Times))
		}
		return b.String()
	}
	return c.Text
}

func readCorpus(t testing.TB) []answerCase {
	t.Helper()
	data, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []answerCase
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestCorpus reads every answer of the corpus.
func TestCorpus(t *testing.T) {
	t.Parallel()
	cases := readCorpus(t)
	if len(cases) < 60 {
		t.Errorf("the corpus has %d answers, want at least 60", len(cases))
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.Name] {
			t.Errorf("two answers are named %q", c.Name)
		}
		seen[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			checkCase(t, &c)
		})
	}
}

func checkCase(t *testing.T, c *answerCase) {
	t.Helper()
	// @PROMPT@ stands for what the product adds to a task.
	added := strings.NewReplacer("@PROMPT@", Prompt(c.Schema))
	for i, sent := range c.Sent {
		c.Sent[i] = added.Replace(sent)
	}
	got, err := Read(added.Replace(c.text()), compileCase(t, c.Schema), c.Sent...)
	if c.Errors != nil {
		checkError(t, err, c)
		return
	}
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	if c.WantSize != 0 && len(got.JSON) != c.WantSize {
		t.Errorf("got %d bytes, want %d", len(got.JSON), c.WantSize)
	}
	if c.WantSize == 0 && string(got.JSON) != c.Want {
		t.Errorf("got %s\nwant %s", got.JSON, c.Want)
	}
	if got.Repaired != c.Repaired {
		t.Errorf("got repaired: %v, want %v", got.Repaired, c.Repaired)
	}
	if !json.Valid(got.JSON) {
		t.Errorf("%s is not valid JSON", shorten(string(got.JSON)))
	}
}

func compileCase(t *testing.T, schema json.RawMessage) *Schema {
	t.Helper()
	if schema == nil {
		return nil
	}
	s, err := Compile(schema)
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return s
}

func checkError(t *testing.T, err error, c *answerCase) {
	t.Helper()
	var (
		parse   *ParseError
		invalid *ValidationError
	)
	switch {
	case err == nil:
		t.Fatalf("no error, want one that says %q", c.Errors)
	case c.Kind == "parse" && !errors.As(err, &parse), c.Kind == "validation" && !errors.As(err, &invalid):
		t.Errorf("got %T (%v), want a %s error", err, err, c.Kind)
	}
	for _, want := range c.Errors {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant it to say %q", err, want)
		}
	}
}
