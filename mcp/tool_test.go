package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// What clients are told of the tools is what they were told before.
func TestTools(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	r := s.do(t.Context(), "POST", "/mcp", message(1, "tools/list", m{})).want(200).last()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, r.Result, "", "  "); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/tools.json"
	if *update {
		if err := os.WriteFile(golden, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Errorf("run go test ./mcp -update if this is meant\n%s", diff)
	}
}

// The answers satisfy the schemas that clients are told.
func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(s *surface) { s.sync = 0 })
	running := s.tool("run_prompt", m{"prompt": "HANG", "workspace": "h"}).ok()
	id := running.outcome().ID
	s.s.sync = beat
	for _, c := range []struct {
		tool string
		args m
	}{
		{"run_prompt", m{"prompt": "SAY:x\n@session s\n@usage {\"input_tokens\":1}"}},
		{"run_prompt", m{"prompt": "EXIT:1"}},
		{"run_prompt", m{"prompt": "SAY:[1]", "json_schema": m{"type": "array"}}},
		{"get_run", m{"run_id": id, "wait_seconds": 0}},
		{"cancel_run", m{"run_id": id}},
		{"get_run", m{"run_id": id}},
		{"write_file", m{"path": "a/b", "content": "x"}},
		{"list_files", m{"depth": 2}},
		{"read_file", m{"path": "a/b"}},
		{"delete_file", m{"path": "a/b"}},
	} {
		var sch jsonschema.Schema
		if err := json.Unmarshal(schema(c.tool+".out"), &sch); err != nil {
			t.Fatal(err)
		}
		resolved, err := sch.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		r := s.tool(c.tool, c.args)
		if err := resolved.Validate(r.fields()); err != nil {
			t.Errorf("%s: %v: %s", c.tool, err, r.raw)
		}
	}
}
