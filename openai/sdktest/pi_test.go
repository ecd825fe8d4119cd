package sdktest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"

	"github.com/psyb0t/aicodebox/internal/fakemodel"
)

// piMain is the main function of a pibox that has an OpenAI endpoint.
const piMain = `package main

import (
	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/api"
	"github.com/psyb0t/aicodebox/openai"
)

func main() { aicodebox.Run(PiAdapter{}, api.Surface(), openai.Surface()) }
`

// A loop of functions through the real pi, which knows nothing of them, and
// the SDK, which does not know of pi: two rounds of two calls, one of them
// streamed, and an answer that satisfies a schema.
func TestPiToolLoop(t *testing.T) {
	t.Parallel()
	model, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	b := startPi(t, model)
	c := client(b)
	final := `{"weather":"sunny","sum":2}`
	params := sdk.ChatCompletionNewParams{
		Model: "fake/fake-1", Tools: sdkTools,
		Messages: []sdk.ChatCompletionMessageParamUnion{
			sdk.SystemMessage("Be brief."), sdk.UserMessage("SEQ:I will look. " + twoCalls + "|" + twoCalls + "|" + final),
		},
		ResponseFormat: sdk.ChatCompletionNewParamsResponseFormatUnion{OfJSONObject: &sdk.ResponseFormatJSONObjectParam{}},
	}
	for round := range 2 {
		choice := ask(t, c, params, round == 1)
		calls := choice.Message.ToolCalls
		if choice.FinishReason != "tool_calls" || len(calls) != 2 || calls[0].Function.Arguments != `{"city":"Oslo"}` || calls[1].Function.Name != "add" {
			t.Fatalf("round %d: %+v", round, choice)
		}
		params.Messages = append(params.Messages, choice.Message.ToParam(), sdk.ToolMessage("the sum is 2", calls[1].ID), sdk.ToolMessage("it is sunny", calls[0].ID))
	}
	if choice := ask(t, c, params, false); choice.FinishReason != "stop" || choice.Message.Content != final {
		t.Errorf("%+v", choice)
	}
	requests := model.Requests()
	if len(requests) != 3 {
		t.Fatalf("the model was asked %d times", len(requests))
	}
	last := requests[2]
	if len(last.Tools) != 0 || !strings.Contains(last.System, "Be brief.") {
		t.Errorf("tools %v, system %q", last.Tools, last.System)
	}
	for _, want := range []string{"it is sunny", "the sum is 2", `"get_weather"`} {
		if !strings.Contains(last.User(), want) {
			t.Errorf("the model was not told %q: %s", want, last.User())
		}
	}
}

// ask makes one request, streamed or not.
func ask(t *testing.T, c sdk.Client, params sdk.ChatCompletionNewParams, streamed bool) sdk.ChatCompletionChoice {
	t.Helper()
	if !streamed {
		answer, err := c.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Choices[0]
	}
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	var acc sdk.ChatCompletionAccumulator
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return acc.Choices[0]
}

// startPi builds and starts a pibox around the real pi, which asks model.
func startPi(t *testing.T, model *fakemodel.Server) box {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"models.json": fmt.Sprintf(`{"providers": {"fake": {"baseUrl": "%s/v1", "apiKey": "$FAKE_KEY", "api": "openai-completions",
			"models": [{"id": "fake-1", "contextWindow": 4000000, "maxTokens": 8192}]}}}`, model.URL),
		"settings.json": `{"retry": {"enabled": false}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pi := piDir(t)
	return serve(t, exec.CommandContext(t.Context(), buildPi(t)),
		"PATH="+pi+string(os.PathListSeparator)+os.Getenv("PATH"), "PI_CODING_AGENT_DIR="+dir, "PI_OFFLINE=1", "FAKE_KEY=k",
		"AICODEBOX_AVAILABLE_MODELS=fake/fake-1")
}

func buildPi(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	example, err := filepath.Abs("../../examples/pibox/main.go")
	if err != nil {
		t.Fatal(err)
	}
	main, overlay, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "pibox")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{example: main}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{main: piMain, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", binary, "../../examples/pibox").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// piDir is where the real pi is: in the directory that AICODEBOX_TEST_AGENTS
// names, or the repository's cache.
func piDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("AICODEBOX_TEST_AGENTS")
	if dir == "" {
		dir = filepath.Join("..", "..", ".cache", "agents")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pi")); err != nil {
		t.Fatal("this test needs the real pi: run `make agents` once, or name its directory in AICODEBOX_TEST_AGENTS")
	}
	return dir
}
