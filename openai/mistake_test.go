package openai

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Mistakes are 400s that name what is wrong, and no agent starts.
func TestMistakes(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	user := func(content string) string {
		return `{"model":"fast","messages":[{"role":"user","content":` + content + `}]}`
	}
	with := func(fields string) string {
		return `{"messages":[{"role":"user","content":"TOUCH:ran"}],` + fields + `}`
	}
	for body, param := range map[string]string{
		``:                             "",
		`{`:                            "",
		`{"model":`:                    "",
		`[]`:                           "",
		`null`:                         "",
		`{} {}`:                        "",
		`{"model":NaN}`:                "",
		`{"model":"fast"}`:             "messages",
		`{"messages":null}`:            "messages",
		`{"messages":[]}`:              "messages",
		`{"messages":"hi"}`:            "messages",
		`{"messages":["hi"]}`:          "messages[0]",
		`{"messages":[{"content":1}]}`: "messages[0].role",
		`{"messages":[{"role":7}]}`:    "messages[0].role",
		`{"messages":[{"role":"robot","content":"x"}]}`:  "messages[0].role",
		`{"messages":[{"role":"system","content":"x"}]}`: "messages",
		user(`5`):                             "messages[0].content",
		user(`null`):                          "messages",
		user(`""`):                            "messages",
		user(`" \n"`):                         "messages",
		user(`{}`):                            "messages[0].content",
		user(`["x"]`):                         "messages[0].content[0]",
		user(`[{"text":"x"}]`):                "messages[0].content[0].type",
		user(`[{"type":"video_url"}]`):        "messages[0].content[0].type",
		user(`[{"type":"text","text":null}]`): "messages[0].content[0].text",
		user(`[{"type":"text","text":5}]`):    "messages[0].content[0].text",
		user(`[{"type":"image_url","image_url":"http://x/y.png"}]`):                           "messages[0].content[0].image_url",
		user(`[{"type":"image_url","image_url":null}]`):                                       "messages[0].content[0].image_url",
		user(`[{"type":"image_url","image_url":{"detail":"low"}}]`):                           "messages[0].content[0].image_url.url",
		user(`[{"type":"image_url","image_url":{"url":"file:///etc/x"}}]`):                    "messages[0].content[0].image_url.url",
		user(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,%%%"}}]`):        "messages[0].content[0].image_url.url",
		user(`[{"type":"image_url","image_url":{"url":"data:image/png;base64"}}]`):            "messages[0].content[0].image_url.url",
		user(`[{"type":"image_url","image_url":{"url":""}}]`):                                 "messages[0].content[0].image_url.url",
		user(`[{"type":"file","file":{"file_id":"f"}}]`):                                      "messages[0].content[0].file.file_id",
		user(`[{"type":"file","file":{"filename":"f"}}]`):                                     "messages[0].content[0].file.file_data",
		user(`[{"type":"input_audio","input_audio":{"data":"?","format":"wav"}}]`):            "messages[0].content[0].input_audio.data",
		user(`[{"type":"input_audio","input_audio":{"data":"AA==","format":"../x"}}]`):        "messages[0].content[0].input_audio.format",
		`{"messages":[{"role":"user","content":"x"},{"role":"tool","content":"x"}]}`:          "messages[1].tool_call_id",
		`{"messages":[{"role":"user","content":"x"},{"role":"function","content":""}]}`:       "messages[1].name",
		`{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{}]}]}`: "messages[1].tool_calls[0].function",
		`{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":5}]}`:    "messages[1].tool_calls",
		with(`"model":5`):                                "model",
		with(`"stream":"maybe"`):                         "stream",
		with(`"stream_options":true`):                    "stream_options",
		with(`"stream_options":{"include_usage":1}`):     "stream_options.include_usage",
		with(`"n":2`):                                    "n",
		with(`"n":0`):                                    "n",
		with(`"n":"1"`):                                  "n",
		with(`"logprobs":true`):                          "logprobs",
		with(`"stop":5`):                                 "stop",
		with(`"stop":[5]`):                               "stop[0]",
		with(`"reasoning_effort":{}`):                    "reasoning_effort",
		with(`"response_format":"text"`):                 "response_format",
		with(`"response_format":{}`):                     "response_format.type",
		with(`"response_format":{"type":"xml"}`):         "response_format.type",
		with(`"response_format":{"type":"json_schema"}`): "response_format.json_schema",
		with(`"response_format":{"type":"json_schema","json_schema":"x"}`):                                             "response_format.json_schema",
		with(`"response_format":{"type":"json_schema","json_schema":{"name":"x"}}`):                                    "response_format.json_schema.schema",
		with(`"response_format":{"type":"json_schema","json_schema":{"schema":"y"}}`):                                  "response_format.json_schema.schema",
		with(`"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"bogus"}}}`):                     "response_format.json_schema.schema",
		with(`"response_format":{"type":"json_schema","json_schema":{"schema":{"$ref":"http://127.0.0.1:1/s.json"}}}`): "response_format.json_schema.schema",
		with(`"tools":{"a":1}`):                                                                                                 "tools",
		with(`"tools":["x"]`):                                                                                                   "tools[0]",
		with(`"tools":[{"type":"web_search"}]`):                                                                                 "tools[0].type",
		with(`"tools":[{"type":"function"}]`):                                                                                   "tools[0].function",
		with(`"tools":[{"type":"function","function":{}}]`):                                                                     "tools[0].function.name",
		with(`"tools":[{"type":"function","function":{"name":"a b"}}]`):                                                         "tools[0].function.name",
		with(`"tools":[{"type":"function","function":{"name":"a","parameters":5}}]`):                                            "tools[0].function.parameters",
		with(`"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"x"}}}]`):                                 "tools[0].function.parameters",
		with(`"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]`):               "tools[1]",
		with(`"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":"whatever"`):                                  "tool_choice",
		with(`"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":5`):                                           "tool_choice",
		with(`"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":{"type":"x"}`):                                "tool_choice.type",
		with(`"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":{"type":"function"}`):                         "tool_choice.name",
		with(`"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":{"type":"function","function":{"name":"b"}}`): "tool_choice",
		with(`"tools":[{"type":"function","function":{"name":"a"}}],"parallel_tool_calls":"no"`):                                "parallel_tool_calls",
		with(`"functions":[{"name":"a"}],"function_call":"required"`):                                                           "function_call",
	} {
		t.Run(param, func(t *testing.T) {
			t.Parallel()
			server := *s
			server.t = t
			e := server.chat(body).error(http.StatusBadRequest)
			if got := deref(e.Param); got != param {
				t.Errorf("param %q, want %q: %s\n%s", got, param, e.Message, body)
			}
			if e.Type != kindRequest || !strings.Contains(e.Message, param) || strings.Contains(e.Message, s.root) {
				t.Errorf("%+v", e)
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(s.root, "ran")); err == nil {
			t.Error("an agent ran")
		}
	})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestBadHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, h := range [][2]string{
		{"workspace", "../x"},
		{"workspace", "/etc"},
		{"continue", "junk"},
		{"no-tools", "maybe"},
		{"timeout-seconds", "abc"},
		{"timeout-seconds", "1.5"},
		{"timeout-seconds", "0"},
		{"timeout-seconds", "-1"},
		{"timeout-seconds", "99999999999999999999"},
		{"extra-args", `["a"`},
		{"extra-args", `["--n",5]`},
		{"extra-args", `[null]`},
		{"tools-allowlist", "[x"},
		{"json-schema", "{nope"},
		{"json-schema", "[]"},
		{"json-schema", "null"},
		{"json-schema", `{"type":"bogus"}`},
	} {
		e := s.chat(ask("SAY:x"), "x-aicodebox-"+h[0], h[1]).error(http.StatusBadRequest)
		if deref(e.Param) != "x-aicodebox-"+h[0] {
			t.Errorf("%v: %+v", h, e)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(s.root, "out")); err != nil {
		t.Fatal(err)
	}
	e := s.chat(ask("SAY:x"), "x-aicodebox-workspace", "out").error(http.StatusBadRequest)
	if deref(e.Param) != "x-aicodebox-workspace" || strings.Contains(e.Message, s.root) {
		t.Errorf("%+v", e)
	}
}

// Whatever a client sends, it is read or refused with the name of a field, and
// what is read makes a prompt.
func FuzzReadChat(f *testing.F) {
	for _, seed := range []string{
		text(m{"messages": history, "tools": []m{weather, add}}), text(ask("x", schemaA, tools, m{"stream": true, "stop": []string{"a"}})),
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,x"}}]}]}`, `{"messages":[{"role":"tool"}]}`, "\xef\xbb\xbf{}", `[`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r, err := readChat([]byte(body))
		if err != nil {
			if e := failureOf(err); e == nil || e.status != http.StatusBadRequest || e.message == "" {
				t.Errorf("%v", err)
			}
			return
		}
		said := turns(r.messages)
		if prompt := transcript(said, []byte("secret")); len(said) > 0 && prompt == "" && said[0].parts == nil {
			t.Errorf("no prompt of %s", body)
		}
		isChore(r)
		if _, err := newProtocol(r.tools, r.format, "x", r.messages); err != nil {
			t.Error(err)
		}
	})
}
