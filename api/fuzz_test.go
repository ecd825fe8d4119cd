package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// A body is a request or the client's mistake, and nothing else.
func FuzzDecodeRun(f *testing.F) {
	s := &surface{}
	s.describe()
	for _, body := range []string{
		`{"prompt":"x","timeout_seconds":5,"jsonSchema":{"a":1.0}}`, `{"prompt":5}`, `{}`, `[]`, `{"prompt":"x"}{}`, `{"a`, "\ufeff{}", `{"_":1,"a__b":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := decodeRun(body, s.doc.registry, s.doc.runRequest)
		if err == nil {
			if q.Prompt == "" || q.TimeoutSeconds < 0 || q.WaitSeconds < 0 || q.schema != nil && !json.Valid(q.schema) {
				t.Errorf("accepted %+v", q)
			}
			return
		}
		var bad *badBody
		if !errors.As(err, &bad) || bad.status < 400 || bad.status > 499 || bad.detail == "" {
			t.Errorf("error %#v", err)
		}
		for _, e := range bad.errors {
			if len(e.Location) > 200 || !utf8.ValidString(e.Location) {
				t.Errorf("location %q", e.Location)
			}
		}
	})
}

// Every text becomes a JSON string that reads as what it was.
func FuzzJSONText(f *testing.F) {
	for _, s := range []string{"", "a\"b\\c\n", "\x00\x1f\x7f", "é€😀\u2028", "\xff\xc3", strings.Repeat("é", 9000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var out bytes.Buffer
		j := newJSONWriter(&out)
		j.open('{')
		j.text("a", s)
		j.bytes("b", []byte(s))
		j.closing('}')
		if err := j.end(); err != nil {
			t.Fatal(err)
		}
		var got struct{ A, B string }
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v: %q", err, out.Bytes())
		}
		want := string([]rune(s)) // a broken byte is U+FFFD
		if got.A != want || !utf8.ValidString(got.B) || utf8.ValidString(s) && got.B != want {
			t.Errorf("%q became %q and %q", s, got.A, got.B)
		}
	})
}

// A header of a stranger's making is read or refused.
func FuzzResumeAt(f *testing.F) {
	for _, s := range []string{"", "0", "41", "end", "-1", "1e3", "9223372036854775808"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		after, done, err := resumeAt(header)
		if err == nil && !done && after < -1 {
			t.Errorf("%q became %d", header, after)
		}
	})
}

func TestCamel(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"system_prompt": "systemPrompt", "append_system_prompt": "appendSystemPrompt", "prompt": "prompt", "systemPrompt": "systemPrompt",
		"json_schema": "jsonSchema", "_prompt": "_prompt", "prompt_": "prompt_", "a__b": "a__b", "a_B": "a_B", "": "",
	} {
		if got := camel(in); got != want {
			t.Errorf("camel(%q) = %q, want %q", in, got, want)
		}
	}
}
