package jsonanswer

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// suite is the JSON Schema Test Suite: the required tests of two drafts by
// file, and the documents that some of them refer to by path.
type suite struct {
	Draft7    map[string][]suiteGroup `json:"draft7"`
	Draft2020 map[string][]suiteGroup `json:"draft2020-12"`
	Remotes   remotes                 `json:"remotes"`
}

type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// remotes supplies the suite's documents. No other loader ever does.
type remotes map[string]json.RawMessage

func (r remotes) Load(uri string) (any, error) {
	data, ok := r[strings.TrimPrefix(uri, "http://localhost:1234/")]
	if !ok {
		return nil, errors.New("no document " + uri)
	}
	value, _, f := decode(string(data), span{0, len(data)}, limits{maxSchemaDepth, maxSchemaNodes})
	if f != nil {
		return nil, errors.New(f.reason)
	}
	return value, nil
}

func readSuite(t *testing.T) *suite {
	t.Helper()
	f, err := os.Open("testdata/suite/suite.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var s suite
	if err := json.NewDecoder(unzipped).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// withDraft gives a schema a $schema, as the suite's way of choosing a draft
// is to run a file under it.
func withDraft(schema json.RawMessage, uri string) []byte {
	text := strings.TrimSpace(string(schema))
	if !strings.HasPrefix(text, "{") || strings.Contains(text, `"$schema":"http`) {
		return schema
	}
	member := `{"$schema":"` + uri + `"`
	if text != "{}" {
		member += ","
	}
	return []byte(member + text[1:])
}

// TestSuite runs the official suite.
func TestSuite(t *testing.T) {
	t.Parallel()
	s := readSuite(t)
	for _, draft := range []struct {
		name, uri string
		files     map[string][]suiteGroup
		atLeast   int
	}{
		{"draft-07", "http://json-schema.org/draft-07/schema#", s.Draft7, 910},
		{"2020-12", "https://json-schema.org/draft/2020-12/schema", s.Draft2020, 1250},
	} {
		t.Run(draft.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			for _, file := range slices.Sorted(maps.Keys(draft.files)) {
				for _, group := range draft.files[file] {
					n += len(group.Tests)
					runGroup(t, file, group, draft.uri, s.Remotes)
				}
			}
			if n < draft.atLeast {
				t.Errorf("ran %d tests, want at least %d", n, draft.atLeast)
			}
		})
	}
}

func runGroup(t *testing.T, file string, group suiteGroup, uri string, docs remotes) {
	t.Helper()
	if string(group.Schema) == "false" {
		return // refused as a whole: see TestCompileRefuses
	}
	schema, err := compile(withDraft(group.Schema, uri), docs)
	if err != nil {
		t.Errorf("%s: %s: %v\n%s", file, group.Description, err, group.Schema)
		return
	}
	for _, test := range group.Tests {
		if err := schema.Validate(test.Data); (err == nil) != test.Valid {
			t.Errorf("%s: %s: %s: got %v, want valid: %v\nschema: %s\ndata: %s",
				file, group.Description, test.Description, err, test.Valid, group.Schema, test.Data)
		}
	}
}

// TestSuiteRemotesRefused shows that what ships refuses every document that
// the suite's tests load: those that refer to one do not compile.
func TestSuiteRemotesRefused(t *testing.T) {
	t.Parallel()
	s := readSuite(t)
	refused := 0
	for file, groups := range s.Draft2020 {
		for _, group := range groups {
			if !refersOut(group.Schema, s.Remotes) {
				continue
			}
			refused++
			var bad *SchemaError
			if _, err := Compile(group.Schema); !errors.As(err, &bad) {
				t.Errorf("%s: %s: got %v, want a SchemaError", file, group.Description, err)
			}
		}
	}
	if refused < 15 {
		t.Errorf("only %d schemas refer to other documents", refused)
	}
	for path := range s.Remotes {
		schema := `{"$ref":"http://localhost:1234/` + path + `"}`
		if _, err := Compile([]byte(schema)); err == nil {
			t.Errorf("%s compiles", schema)
		}
	}
}

// refersOut tells whether a schema compiles with the suite's documents and
// asks for one of them.
func refersOut(schema json.RawMessage, docs remotes) bool {
	asked := &countingLoader{docs: docs}
	_, err := compile(schema, asked)
	return err == nil && asked.n > 0
}

type countingLoader struct {
	docs remotes
	n    int
}

func (l *countingLoader) Load(uri string) (any, error) {
	l.n++
	return l.docs.Load(uri)
}
