package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox"
)

// recorded reads one recorded run of pi.
func recorded(t *testing.T, name string) aicodebox.Output {
	t.Helper()
	var out aicodebox.Output
	out.Stdout = file(t, name+".ndjson")
	out.Stderr = file(t, name+".stderr")
	if code := file(t, name+".exit"); code != nil {
		n, err := strconv.Atoi(strings.TrimSpace(string(code)))
		if err != nil {
			t.Fatal(err)
		}
		out.ExitCode = n
	}
	return out
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return data
}

func TestRecordedRuns(t *testing.T) {
	t.Parallel()
	const unicodeText = "Grüße, 世界! 👩‍👩‍👧‍👦 🇩🇪 e\u0301 \"quoted\" back\\\\slash\nsecond line: <b>&amp;</b>\n\ttabbed\u2028after U+2028 — עברית العربية 日本語\n```go\nfmt.Println(\"hi\")\n```"
	var stream strings.Builder
	for i := range 300 {
		fmt.Fprintf(&stream, "w%d ", i+1)
	}
	rate := &aicodebox.ProviderError{Status: 429, Retryable: true, Message: "Rate limit reached for fake-model on requests per min (RPM): Limit 3, Used 3, Requested 1."}
	used := func(input, output, cached, reasoning int64) *aicodebox.Usage {
		return &aicodebox.Usage{Input: input, Output: output, CacheRead: cached, Reasoning: reasoning}
	}
	for _, c := range []struct {
		name  string
		reply aicodebox.Reply
		err   string
	}{
		{"json-answer", aicodebox.Reply{Text: "The answer is 42.", Stop: "stop", Usage: used(567, 5, 0, 0)}, ""},
		{"thinking", aicodebox.Reply{Text: "The sum is 7.", Stop: "stop", Usage: used(580, 16, 0, 12)}, ""},
		{"thinking-anthropic", aicodebox.Reply{Text: "The sum is 7.", Stop: "stop", Usage: &aicodebox.Usage{Input: 18, Output: 16, CacheWrite: 562}}, ""},
		{"responses-api", aicodebox.Reply{Text: "The sum is 7.", Stop: "stop", Usage: used(580, 16, 0, 12)}, ""},
		{"google-api", aicodebox.Reply{Text: "The sum is 7.", Stop: "stop", Usage: used(580, 16, 0, 12)}, ""},
		{"tool-call", aicodebox.Reply{Text: "tool said: hi there", Stop: "stop", Usage: used(568, 13, 566, 0)}, ""},
		{"tool-calls-two", aicodebox.Reply{Text: "Both ran.", Stop: "stop", Usage: used(575, 17, 1147, 0)}, ""},
		{"tool-error", aicodebox.Reply{Text: "tool said: oops\n\n\nCommand exited with code 3", Stop: "stop", Usage: used(576, 24, 568, 0)}, ""},
		{"multi-turn-continue", aicodebox.Reply{Text: "second answer", Stop: "stop", Usage: used(11, 4, 575, 0)}, ""},
		{"long-stream", aicodebox.Reply{Text: stream.String(), Stop: "stop", Usage: used(565, 348, 0, 0)}, ""},
		{"unicode", aicodebox.Reply{Text: unicodeText, Stop: "stop", Usage: used(612, 49, 0, 0)}, ""},
		{"output-limit", aicodebox.Reply{Text: "a text that hits the output limit", Stop: "length", Usage: used(573, 9, 0, 0)}, ""},
		{"refusal", aicodebox.Reply{Text: "a text that is refused", Stop: "content_filter", Usage: used(571, 6, 0, 0)}, ""},
		{"empty-answer", aicodebox.Reply{Stop: "stop", Usage: used(563, 0, 0, 0)}, ""},
		{"retry-recovered", aicodebox.Reply{Text: "recovered", Stop: "stop", Usage: used(568, 3, 0, 0)}, ""},
		{"unknown-model-known-provider", aicodebox.Reply{Text: "x", Stop: "stop", Usage: used(563, 1, 0, 0)}, ""},
		{"stream-cut", aicodebox.Reply{Text: "a text that is cut in th", ProviderError: &aicodebox.ProviderError{Message: "Stream ended without finish_reason", Retryable: true}}, ""},
		{"provider-401", aicodebox.Reply{ProviderError: &aicodebox.ProviderError{Status: 401, Message: "Incorrect API key provided: lab-****."}}, ""},
		{"provider-429", aicodebox.Reply{ProviderError: rate}, ""},
		{"provider-429-quota", aicodebox.Reply{ProviderError: &aicodebox.ProviderError{Status: 429, Message: "You exceeded your current quota, please check your plan and billing details."}}, ""},
		{"provider-400-content-filter", aicodebox.Reply{ProviderError: &aicodebox.ProviderError{Status: 400, Message: "The response was filtered due to the prompt triggering the content management policy. Please modify your prompt and retry."}}, ""},
		{"provider-529", aicodebox.Reply{ProviderError: &aicodebox.ProviderError{Status: 529, Retryable: true, Message: "The server is currently overloaded. Please try again later."}}, ""},
		{"killed-in-tool", aicodebox.Reply{Usage: used(565, 7, 0, 0)}, ""},
		{"empty-prompt", aicodebox.Reply{}, "pi ended without an answer"},
		{"missing-auth", aicodebox.Reply{}, "pi gave no answer: No API key found for lab-chat."},
		{"resume-unknown", aicodebox.Reply{}, "pi gave no answer: No session found matching 'deadbeef-0000'"},
		{"resume-other-cwd", aicodebox.Reply{}, "the session belongs to another workspace; pi continues a session only where it began"},
		{"unknown-model", aicodebox.Reply{}, `pi gave no answer: Model "nope/nothing" not found. Use --list-models to see available models.`},
		{"bad-flag", aicodebox.Reply{}, "pi gave no answer: Unknown option: --nonsense"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := recorded(t, c.name)
			reply, err := PiAdapter{}.ParseOutput(aicodebox.Request{}, out)
			if (len(out.Stdout) > 0) != (reply.SessionID != "") {
				t.Errorf("the session id is %q", reply.SessionID)
			}
			reply.SessionID = ""
			if diff := cmp.Diff(c.reply, reply); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if text := errorText(err); text != c.err {
				t.Errorf("the error is %q; want %q", text, c.err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestKilledRunKeepsItsText(t *testing.T) {
	t.Parallel()
	reply, err := PiAdapter{}.ParseOutput(aicodebox.Request{}, recorded(t, "killed-midway"))
	if err != nil || !strings.HasPrefix(reply.Text, "w1 w2 w3 ") {
		t.Errorf("the text is %q, the error %v", reply.Text, err)
	}
}

// stream reads records as they come and returns the text of each event and the
// kinds of all.
func stream(lines ...string) (texts []string, kinds []aicodebox.EventKind) {
	parse := PiAdapter{}.StreamParser(aicodebox.Request{})
	for _, line := range lines {
		for _, e := range parse([]byte(line)) {
			if e.Kind == aicodebox.EventText {
				texts = append(texts, e.Text)
			}
			kinds = append(kinds, e.Kind)
		}
	}
	return texts, kinds
}

const begin = `{"type":"message_start","message":{"role":"assistant","content":[],"stopReason":"pending"}}`

func delta(text string) string { return deltaOf(text, 0) }

func deltaOf(text string, block int) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":%d,"delta":%s}}`, block, quoted)
}

func end(stop string, texts ...string) string {
	content := []map[string]string{}
	for _, text := range texts {
		content = append(content, map[string]string{"type": "text", "text": text})
	}
	encoded, _ := json.Marshal(content)
	return fmt.Sprintf(`{"type":"message_end","message":{"role":"assistant","content":%s,"stopReason":%q}}`, encoded, stop)
}

func TestTextIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		lines       []string
		told, reply string
	}{
		{"one try", []string{begin, delta("a"), delta("b"), end("stop", "ab")}, "ab", "ab"},
		{"a failed try first", []string{begin, delta("ab"), end("error", "ab"), begin, delta("a"), delta("bc"), delta("d"), end("stop", "abcd")}, "abcd", "abcd"},
		{"two failed tries", []string{begin, delta("ab"), end("error", "ab"), begin, delta("a"), end("error", "a"), begin, delta("abc"), end("stop", "abc")}, "abc", "abc"},
		{"the same again", []string{begin, delta("ab"), end("error", "ab"), begin, delta("ab"), end("stop", "ab")}, "ab", "ab"},
		{"a try that says something else", []string{begin, delta("ab"), end("error", "ab"), begin, delta("ax"), delta("y"), end("stop", "axy")}, "ab\n\naxy", "axy"},
		{"killed in the second try", []string{begin, delta("abc"), end("error", "abc"), begin, delta("a")}, "abc", "abc"},
		{"no pieces", []string{begin, end("stop", "whole")}, "whole", "whole"},
		{"pieces that lack the end", []string{begin, delta("wh"), end("stop", "whole")}, "whole", "whole"},
		{"two blocks", []string{begin, deltaOf("a", 0), deltaOf("b", 2), end("stop", "a", "b")}, "a\nb", "a\nb"},
		{"text before a tool", []string{
			begin, delta("I look."), end("toolUse", "I look."), `{"type":"tool_execution_start","toolName":"bash"}`,
			begin, delta("Found"), delta(" it."), end("stop", "Found it."),
		}, "I look.\n\nFound it.", "Found it."},
		{"nothing after a tool", []string{begin, delta("I look."), end("toolUse", "I look."), begin, end("stop")}, "I look.", ""},
		{"plain text", []string{"1.6.0", "second"}, "1.6.0\nsecond", "1.6.0\nsecond"},
		{"plain text among records", []string{begin, "warning", delta("a"), end("stop", "a")}, "a", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			texts, _ := stream(c.lines...)
			if told := strings.Join(texts, ""); told != c.told {
				t.Errorf("the stream tells %q; want %q", told, c.told)
			}
			reply, err := PiAdapter{}.ParseOutput(aicodebox.Request{}, aicodebox.Output{Stdout: []byte(strings.Join(c.lines, "\n") + "\n")})
			if err != nil || reply.Text != c.reply {
				t.Errorf("the reply is %q, %v; want %q", reply.Text, err, c.reply)
			}
		})
	}
}

func TestEventKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, want string }{
		{"tool-call", "session,tool,text,usage,done"},
		{"provider-429", "session,error,done"}, // once, though it was tried four times
		{"retry-recovered", "session,text,usage,done"},
		{"thinking", "session,thinking,text,usage,done"},
		{"refusal", "session,text,usage,done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, kinds := stream(strings.Split(strings.TrimSuffix(string(file(t, c.name+".ndjson")), "\n"), "\n")...)
			for _, want := range strings.Split(c.want, ",") {
				n := 0
				for _, k := range kinds {
					if string(k) == want {
						n++
					}
				}
				if n == 0 || (n > 1 && want != "text" && want != "thinking" && want != "usage") {
					t.Errorf("%d events of kind %s", n, want)
				}
			}
			if kinds[len(kinds)-1] != aicodebox.EventDone {
				t.Errorf("the last event is %s", kinds[len(kinds)-1])
			}
		})
	}
}

func TestProviderErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text      string
		status    int
		retryable bool
		message   string
	}{
		{`401: {"code":"invalid_api_key","message":"Bad key."}`, 401, false, "Bad key."},
		{`429 {"error":{"message":"Slow down.","type":"rate_limit_error"},"type":"error"}`, 429, true, "Slow down."},
		{`openai API error (403): {"message":"No."}`, 403, false, "No."},
		{`{"error":{"code":503,"message":"Later.","status":"UNAVAILABLE"}}`, 503, true, "Later."},
		{`Request failed with status code 502`, 502, true, "Request failed with status code 502"},
		{`429: {"code":"insufficient_quota","message":"Pay."}`, 429, false, "Pay."},
		{`Connection error.`, 0, true, "Connection error."},
		{`Anthropic stream ended before message_stop`, 0, true, "Anthropic stream ended before message_stop"},
		{`The context is too long: 413000 tokens`, 0, false, "The context is too long: 413000 tokens"},
		{`{"broken`, 0, false, `{"broken`},
		{``, 0, false, "no reason was given"},
	} {
		got := providerError(c.text)
		want := &aicodebox.ProviderError{Status: c.status, Retryable: c.retryable, Message: c.message}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestRefusalWithoutText(t *testing.T) {
	t.Parallel()
	line := `{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","rawStopReason":"refusal","errorMessage":"The model refused to complete the request"}}`
	reply, err := PiAdapter{}.ParseOutput(aicodebox.Request{}, aicodebox.Output{Stdout: []byte(line)})
	if err != nil || reply.Stop != aicodebox.StopFilter || reply.ProviderError == nil {
		t.Errorf("the reply is %+v, %v", reply, err)
	}
}

func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.ndjson")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[max(0, len(data)-4000):])
	}
	f.Add([]byte(strings.Join([]string{begin, delta("ab"), end("error", "ab"), begin, delta("abc")}, "\n")))
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, err := PiAdapter{}.ParseOutput(aicodebox.Request{}, aicodebox.Output{Stdout: data})
		if err != nil {
			return
		}
		parse := PiAdapter{}.StreamParser(aicodebox.Request{})
		var told strings.Builder
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			for _, e := range parse(line) {
				told.WriteString(e.Text)
			}
		}
		if len(reply.Text) > 0 && told.Len() == 0 {
			t.Errorf("the reply is %q, but the stream told nothing", reply.Text)
		}
	})
}
