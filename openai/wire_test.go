package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox/internal/boxtest"
)

var weather = m{"type": "function", "function": m{
	"name": "get_weather", "description": "Weather of a city",
	"parameters": m{"type": "object", "properties": m{"city": m{"type": "string"}}, "required": []string{"city"}},
}}

var add = m{"type": "function", "function": m{"name": "add", "parameters": m{"type": "object"}}}

var tools = m{"tools": []m{weather, add}}

var schemaA = m{"response_format": m{"type": "json_schema", "json_schema": m{
	"name": "x", "schema": m{"type": "object", "properties": m{"a": m{"type": "integer"}}, "required": []string{"a"}},
}}}

const counted = `@usage {"input_tokens":11,"output_tokens":7,"cache_read_tokens":5,"reasoning_tokens":2,"cost":0.5}` + "\n"

// Every shape that leaves the endpoint is in a file.
func TestWireShapes(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_API_MODE_REASONING": "1"})
	streaming := m{"stream": true}
	withUsage := m{"stream": true, "stream_options": m{"include_usage": true}}
	old := m{"functions": []m{weather["function"].(m)}}
	oneCall := `SAY:{"tool_calls":[{"name":"get_weather","arguments":{"city":"Oslo"}}]}`
	twoCalls := "SAY:I will look.\n" + `SAY:{"tool_calls":[{"name":"get_weather","arguments":{"city":"Oslo"}},{"name":"add","arguments":"{\"x\":1}"}]}`
	for name, body := range map[string]m{
		"plain":             ask(counted + "SAY:hello\n@thinking hm"),
		"nousage":           ask("SAY:hello"),
		"schema":            ask(`SAY:{"a": 1, "s":"<é😀>"}`, schemaA),
		"schema-retry":      ask(counted+`SEQ:bad|{"a":2}`, schemaA),
		"tools":             ask(twoCalls, tools),
		"tools-text":        ask("SAY:just text", tools),
		"legacy":            ask(oneCall, old),
		"stream":            ask("SAY:one\nSAY:two", streaming),
		"stream-usage":      ask(counted+"@thinking hm\nSAY:one\nSAY:two", withUsage),
		"stream-empty":      ask("@done", streaming),
		"stream-crash":      ask("SAY:partial\nERR:boom\nEXIT:3", streaming),
		"stream-schema":     ask(`SAY:{"a":1}`, schemaA, withUsage),
		"stream-tools":      ask(twoCalls, tools, streaming),
		"stream-tools-text": ask("SAY:one\nSAY:two", tools, streaming),
		"stream-legacy":     ask(oneCall, old, streaming),
		"error-field":       ask("SAY:x", m{"n": 2}),
		"error-model":       ask("SAY:x", m{"model": "gpt-99"}),
		"error-crash":       ask("SAY:partial\nERR:boom\nEXIT:3"),
		"error-provider":    ask("@error 429 slow down"),
		"error-schema":      ask("SAY:bad", schemaA),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := *s
			server.t = t
			a := server.chat(body, "x-aicodebox-workspace", "wire-"+name)
			golden(t, "wire/"+name+".txt", append([]byte(headerText(a)), a.body...))
		})
	}
	t.Run("models", func(t *testing.T) {
		golden(t, "wire/models.txt", s.do("GET", "/v1/models", "").body)
		golden(t, "wire/model.txt", s.do("GET", "/v1/models/acme/m-1", "").body)
	})
}

// headerText is the status and the headers that matter.
func headerText(a answered) string {
	var b strings.Builder
	fmt.Fprintf(&b, "status %d\n", a.status)
	for _, name := range []string{"Content-Type", "Cache-Control", "X-Accel-Buffering", "X-Should-Retry", "Retry-After"} {
		if v := a.header.Get(name); v != "" {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	return b.String() + "\n"
}
