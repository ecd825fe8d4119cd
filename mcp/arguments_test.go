package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, tt := range map[string]struct {
		args  any
		words []string
	}{
		"no prompt":     {m{}, []string{"prompt", "missing"}},
		"empty":         {m{"prompt": " "}, []string{"prompt", "empty"}},
		"null":          {m{"prompt": nil}, []string{"prompt", "missing"}},
		"number":        {m{"prompt": 5}, []string{"prompt", "a string, not a number"}},
		"unknown":       {m{"prompt": "x", "modle": "fast"}, []string{"modle", "model"}},
		"other case":    {m{"prompt": "x", "Model": "fast"}, []string{"Model"}},
		"flag":          {m{"prompt": "x", "no_continue": "yes"}, []string{"no_continue", "true or false"}},
		"schema":        {m{"prompt": "x", "json_schema": "{}"}, []string{"json_schema", "an object, not a string"}},
		"bad schema":    {m{"prompt": "x", "json_schema": m{"type": "strng"}}, []string{"schema"}},
		"remote schema": {m{"prompt": "x", "json_schema": m{"$ref": "http://127.0.0.1:1/x"}}, []string{"schema"}},
		"timeout":       {m{"prompt": "x", "timeout_seconds": 0}, []string{"timeout_seconds", "0"}},
		"half a second": {m{"prompt": "x", "timeout_seconds": 1.5}, []string{"timeout_seconds", "1.5"}},
		"text number":   {m{"prompt": "x", "timeout_seconds": "5"}, []string{"timeout_seconds", "a string"}},
		"huge number":   {m{"prompt": "x", "timeout_seconds": json.Number(strings.Repeat("9", 100))}, []string{"timeout_seconds"}},
		"model":         {m{"prompt": "x", "model": "fats"}, []string{"fats", "fast, smart"}},
		"thinking":      {m{"prompt": "x", "thinking": "hgih"}, []string{"hgih", "low, high"}},
		"absolute":      {m{"prompt": "x", "workspace": "/etc"}, []string{"workspace", "relative"}},
		"array":         {[]string{"x"}, []string{"must be a JSON object"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.on(t)
			s.tool("run_prompt", tt.args).fails(tt.words...)
		})
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `[]`, `{"a":1.0}`, `{"a":"x","b":null}`, `{"a":1e999999999}`, `{"a":-0}`, `{"a": {}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return // the library passes valid JSON alone
		}
		args, err := readArguments(data)
		if err != nil {
			return
		}
		for name := range args.given {
			args.text(name)
			args.flag(name, true)
			if n := args.number(name, 5, 1, 10); n < 1 || n > 10 {
				t.Errorf("%s is %d", name, n)
			}
			args.object(name)
		}
		_ = args.check()
	})
}
