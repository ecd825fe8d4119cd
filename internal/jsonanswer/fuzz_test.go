package jsonanswer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// addCorpus seeds a fuzz target with the answers of the corpus that are not
// large.
func addCorpus(f *testing.F, add func(c *answerCase, text string)) {
	f.Helper()
	for _, c := range readCorpus(f) {
		if text := c.text(); len(text) < 4096 {
			add(&c, text)
		}
	}
}

// without drops whitespace, and commas if they are to be dropped too.
func without(text string, commas bool) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || commas && r == ',' {
			return -1
		}
		return r
	}, text)
}

// FuzzRead shows that what is read stands in the text, is JSON and satisfies
// the schema: nothing is made up and no digit changes.
func FuzzRead(f *testing.F) {
	addCorpus(f, func(c *answerCase, text string) {
		sent := ""
		if len(c.Sent) > 0 {
			sent = c.Sent[0]
		}
		f.Add(text, string(c.Schema), sent)
	})
	f.Fuzz(func(t *testing.T, text, schema, sent string) {
		var s *Schema
		if schema != "" {
			var err error
			if s, err = Compile([]byte(schema)); err != nil {
				return
			}
		}
		got, err := Read(text, s, sent)
		if err != nil {
			if err.Error() == "" || !utf8.ValidString(err.Error()) && utf8.ValidString(text) && utf8.ValidString(schema) {
				t.Errorf("the error is no text: %q", err.Error())
			}
			return
		}
		checkRead(t, text, got, s)
	})
}

func checkRead(t *testing.T, text string, got Answer, s *Schema) {
	t.Helper()
	if !json.Valid(got.JSON) {
		t.Fatalf("%q is not JSON", got.JSON)
	}
	whole := strings.ToValidUTF8(text, string(utf8.RuneError))
	if !strings.Contains(without(whole, got.Repaired), without(string(got.JSON), got.Repaired)) {
		t.Errorf("%q is not in %q", got.JSON, text)
	}
	if s == nil {
		if got.JSON[0] != '{' {
			t.Errorf("%q is no object", got.JSON)
		}
		return
	}
	if err := s.Validate(got.JSON); err != nil {
		t.Errorf("%q: %v", got.JSON, err)
	}
	again, err := Read(string(got.JSON), s)
	if err == nil && string(again.JSON) != string(got.JSON) {
		t.Errorf("%q is read as %q", got.JSON, again.JSON)
	}
}

// FuzzScanner compares the scanner with the standard library's decoder.
func FuzzScanner(f *testing.F) {
	addCorpus(f, func(_ *answerCase, text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || text[0] != '{' && text[0] != '[' {
			return
		}
		sc := scanner{text: text}
		end, ok := sc.scan(0)
		dec := json.NewDecoder(strings.NewReader(text))
		var want json.RawMessage
		err := dec.Decode(&want)
		switch {
		case !ok && err == nil:
			t.Errorf("%q is JSON up to %d, but refused: %v", text, len(want), sc.bad)
		case ok && err == nil && end != len(want):
			t.Errorf("%q: ends at %d, want %d", text, end, len(want))
		case ok && err != nil && !leniently(text[:end]):
			t.Errorf("%q is taken for JSON up to %d, but: %v", text, end, err)
		}
	})
}

// leniently tells whether text is JSON once trailing commas are dropped and
// numbers stand for the words that are none.
func leniently(text string) bool {
	data, _ := compact(text)
	out := string(data)
	var b strings.Builder
	for i := 0; i < len(out); {
		if out[i] == '"' {
			end, _ := lexString(out, i)
			b.WriteString(out[i:end])
			i = end
			continue
		}
		n := 1
		for _, word := range []string{"-Infinity", "Infinity", "NaN"} {
			if strings.HasPrefix(out[i:], word) {
				n = len(word)
				break
			}
		}
		if n > 1 {
			b.WriteByte('0')
		} else {
			b.WriteByte(out[i])
		}
		i += n
	}
	return json.Valid([]byte(b.String())) || deeperThan(text, 9990)
}

// deeperThan tells whether text may nest deeper than the standard library
// takes.
func deeperThan(text string, n int) bool {
	return strings.Count(text, "[")+strings.Count(text, "{") > n
}

// FuzzProse compares what is found in prose with a plain search: each piece
// has to be a value that begins and ends there, behind the one before it.
func FuzzProse(f *testing.F) {
	addCorpus(f, func(_ *answerCase, text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		found, _ := findProse(text)
		behind := 0
		for _, sp := range found {
			sc := scanner{text: text}
			end, ok := sc.scan(sp.start)
			if !ok || end != sp.end || sp.start < behind || !isOpener(text[sp.start]) {
				t.Errorf("%q: %v is no value", text, sp)
			}
			behind = sp.end
		}
		if value := strings.TrimSpace(text); len(found) == 0 && value != "" && isOpener(value[0]) && json.Valid([]byte(value)) {
			t.Errorf("%q is not found", text)
		}
	})
}

// FuzzFences compares the search for fenced blocks with one that looks at
// every line.
func FuzzFences(f *testing.F) {
	addCorpus(f, func(_ *answerCase, text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := findFences(text), plainFences(text); !slices.Equal(got, want) && len(want) < maxCandidates {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	})
}

func plainFences(text string) []span {
	var found []span
	open, start, at := fence{}, 0, 0
	for _, line := range strings.SplitAfter(text, "\n") {
		switch f := parseFence(line); {
		case open.n == 0 && f.n > 0 && f.opens():
			open, start = f, at+len(line)
		case open.n > 0 && f.closes(open):
			found = append(found, span{start, at})
			open = fence{}
		}
		at += len(line)
	}
	if open.n > 0 {
		found = append(found, span{start, len(text)})
	}
	return found
}

// FuzzCompile shows that no schema and no answer is fatal or endless.
func FuzzCompile(f *testing.F) {
	addCorpus(f, func(c *answerCase, text string) { f.Add(string(c.Schema), text) })
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"$dynamicRef":"#a","$dynamicAnchor":"a"}`, `{"$id":"a","$defs":{"b":{"$id":"#c"}},"$ref":"a#c"}`,
		`{"items":[{"$ref":"#/items/1"},{"uniqueItems":true}]}`, `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{}}}`,
		`{"dependencies":{"a":["b"],"c":{"enum":[1]}},"patternProperties":{"^\\u0061":false}}`,
	} {
		f.Add(schema, `[{"a":1},[1,1.0,"x"]]`)
	}
	f.Fuzz(func(t *testing.T, schema, answer string) {
		start := time.Now()
		s, err := compile([]byte(schema), nil)
		if err != nil {
			if _, ok := err.(*SchemaError); !ok { //nolint:errorlint // exactly this type is promised
				t.Errorf("got %T: %v", err, err)
			}
			return
		}
		_ = s.Validate([]byte(answer))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
