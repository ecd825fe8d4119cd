package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/httpd"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	a := s.get("/openapi.json").want(200)
	doc := a.object()
	if doc["openapi"] != "3.1.0" || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("openapi %v, content type %q", doc["openapi"], a.header.Get("Content-Type"))
	}
	s.get("/openapi.json", "If-None-Match", a.header.Get("ETag")).want(304)
	yaml := s.get("/openapi.yaml").want(200)
	if !bytes.HasPrefix(yaml.body, []byte("openapi: 3.1.0\n")) {
		t.Errorf("YAML begins %.60q", yaml.body)
	}
	ids := map[string]bool{}
	for path, item := range doc["paths"].(object) {
		for method, op := range item.(object) {
			op := op.(object)
			id := member(t, op, "operationId")
			if ids[id] {
				t.Errorf("operation id %s is used twice", id)
			}
			ids[id] = true
			if member(t, op, "summary") == "" || member(t, op, "description") == "" || len(op["tags"].([]any)) != 1 {
				t.Errorf("%s %s is not described", method, path)
			}
		}
	}
}

// What the document says of an answer is what an answer has.
func TestDocumentedAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	schemas := s.get("/openapi.json").want(200).object()["components"].(object)["schemas"].(object)
	known := schemas["RunAnswer"].(object)["properties"].(object)
	for _, body := range []object{
		{"prompt": "SAY:x\nEXIT:3", "includeRaw": true, "eventMode": "full"},
		{"prompt": "@session s\n@usage {\"input_tokens\":1}\nSEQ:no|{\"a\":1}", "jsonSchema": aSchema, "workspace": "w"},
		{"prompt": "@error 429 x"},
		{"prompt": "SAY:x", "async": true, "workspace": "a"},
	} {
		for name := range s.run(body).want(200).object() {
			if known[name] == nil {
				t.Errorf("%s is not documented", name)
			}
		}
	}
	if diff := cmp.Diff(jsonNames(reflect.TypeFor[httpd.Problem]()), slices.Sorted(keysOf(schemas["Problem"].(object)["properties"].(object)))); diff != "" {
		t.Error(diff)
	}
}

func keysOf(o object) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range o {
			if !yield(name) {
				return
			}
		}
	}
}

func jsonNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *surface) rendered(t *testing.T, form int) []byte {
	t.Helper()
	forms, err := s.doc.rendered()
	if err != nil {
		t.Fatal(err)
	}
	return forms[form].body
}

// The golden file shows a change of the document in review.
func TestDocumentGolden(t *testing.T) {
	t.Parallel()
	s := &surface{}
	s.describe()
	const golden = "testdata/openapi.json"
	got := s.rendered(t, jsonDocument)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the document changed (UPDATE=1 accepts it):\n%s", diff)
	}
}

func TestBoxOpenAPI(t *testing.T) {
	t.Parallel()
	s := &surface{}
	command := s.Commands()[0]
	var out bytes.Buffer
	if err := command.Run(t.Context(), nil, nil, &out); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) {
		t.Errorf("not JSON: %.100s", out.String())
	}
	out.Reset()
	if err := command.Run(t.Context(), nil, []string{"--yaml"}, &out); err != nil || !strings.HasPrefix(out.String(), "openapi:") {
		t.Errorf("%v, %.100s", err, out.String())
	}
	if err := command.Run(t.Context(), nil, []string{"--xml"}, &out); err == nil {
		t.Error("an unknown argument is taken")
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	s := &surface{}
	s.Mount("/x/", httpd.Seat{Handler: http.NotFoundHandler(), Document: json.RawMessage(`{
		"tags": [{"name": "X"}], "paths": {"/x/y": {"get": {"operationId": "getY"}}},
		"components": {"schemas": {"Y": {"type": "string"}}}}`)})
	s.describe()
	for _, want := range []string{`"/x/y"`, `"getY"`, `"name": "X"`, `"Y"`, `"/run"`} {
		if !bytes.Contains(s.rendered(t, jsonDocument), []byte(want)) {
			t.Errorf("the document lacks %s", want)
		}
	}
	s.Mount("/run", httpd.Seat{Handler: http.NotFoundHandler(), Document: json.RawMessage(`{"paths": {"/run": {}}}`)})
	s.describe()
	if _, err := s.doc.rendered(); err == nil {
		t.Error("a path that is described twice is taken")
	}
}

// tool returns the path of a file that scripts/api-tools/install fetches.
func tool(t *testing.T, path ...string) string {
	t.Helper()
	dir := os.Getenv("API_TOOLS")
	if dir == "" {
		dir = filepath.Join("..", ".cache", "api-tools")
	}
	found, err := filepath.Abs(filepath.Join(append([]string{dir, "node_modules"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(found); err != nil {
		t.Fatalf("%v: run scripts/api-tools/install first", err)
	}
	return found
}

func TestDocumentLint(t *testing.T) {
	t.Parallel()
	s := &surface{}
	s.describe()
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, s.rendered(t, jsonDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", tool(t, "@redocly", "cli", "bin", "cli.js"), "lint", "--config", "testdata/redocly.yaml", "--format", "stylish", file)
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The page's files are those of the package that package.json names.
func TestDocsAssets(t *testing.T) {
	t.Parallel()
	for name, packed := range map[string][]byte{"swagger-ui.css": docsStyle, "swagger-ui-bundle.js": docsBundle} {
		want, err := os.ReadFile(tool(t, "swagger-ui-dist", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := unpack(t, packed); !bytes.Equal(got, want) {
			t.Errorf("docs/%s.gz is not the package's file; run scripts/api-tools/update-docs", name)
		}
	}
}

// A client that is generated from the document runs a prompt.
func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	s := start(t, tokenEnv)
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", s.url, s.token)
	cmd.Dir = filepath.Join("testdata", "client")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "hello\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if got, err := os.ReadFile(filepath.Join(s.root, "generated", "notes.txt")); err != nil || string(got) != "notes" {
		t.Errorf("notes %q, %v", got, err)
	}
}
