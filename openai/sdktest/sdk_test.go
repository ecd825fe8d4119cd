package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// The official Go SDK cannot tell a box from a model server.

func client(b box, opts ...option.RequestOption) sdk.Client {
	return sdk.NewClient(append([]option.RequestOption{option.WithBaseURL(b.url + "/v1"), option.WithAPIKey(token)}, opts...)...)
}

func user(text string) []sdk.ChatCompletionMessageParamUnion {
	return []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage(text)}
}

const counted = `@usage {"input_tokens":11,"output_tokens":7,"cache_read_tokens":5}` + "\n"

func TestSDKChat(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	c := client(b)
	page, err := c.Models.List(t.Context())
	if err != nil || len(page.Data) != 3 || page.Data[0].ID != "fast" {
		t.Fatalf("%v, %+v", err, page)
	}
	model, err := c.Models.Get(t.Context(), "smart")
	if err != nil || model.ID != "smart" {
		t.Errorf("%v, %+v", err, model)
	}
	answer, err := c.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{Model: "fast", Messages: user(counted + "SAY:hello")})
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Choices[0]; got.Message.Content != "hello" || got.FinishReason != "stop" {
		t.Errorf("%+v", got)
	}
	if u := answer.Usage; u.PromptTokens != 16 || u.CompletionTokens != 7 || u.TotalTokens != 23 || u.PromptTokensDetails.CachedTokens != 5 {
		t.Errorf("%+v", u)
	}
}

func TestSDKStream(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	c := client(b)
	stream := c.Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{
		Model: "fast", Messages: user(counted + "SAY:one\nSAY:two"), StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	})
	var acc sdk.ChatCompletionAccumulator
	finished := 0
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatalf("a chunk cannot be added: %s", stream.Current().RawJSON())
		}
		if content, ok := acc.JustFinishedContent(); ok {
			finished++
			if content != "one\ntwo" {
				t.Errorf("%q", content)
			}
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if finished != 1 || acc.Choices[0].FinishReason != "stop" || acc.Usage.TotalTokens != 23 {
		t.Errorf("%d, %+v", finished, acc.ChatCompletion)
	}
}

func TestSDKStructured(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	c := client(b)
	answer, err := c.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{
		Model: "fast", Messages: user(`SEQ:bad|{"name":"Ann","age":7}`),
		ResponseFormat: sdk.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "person", Strict: sdk.Bool(true), Schema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}, "age": map[string]any{"type": "integer"}},
				"required": []string{"name", "age"}, "additionalProperties": false,
			}},
		}},
	}, option.WithHeader("x-aicodebox-workspace", "w"))
	if err != nil {
		t.Fatal(err)
	}
	var person struct {
		Name string
		Age  int
	}
	if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &person); err != nil || person.Name != "Ann" || person.Age != 7 {
		t.Errorf("%v, %+v", err, answer.Choices[0])
	}
}

var sdkTools = []sdk.ChatCompletionToolUnionParam{
	sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "get_weather", Description: sdk.String("Weather of a city"),
		Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}},
	}),
	sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "add"}),
}

const (
	twoCalls = `{"tool_calls":[{"name":"get_weather","arguments":{"city":"Oslo"}},{"name":"add","arguments":{"x":1}}]}`
	thenText = "SEQ:" + twoCalls + "|" + twoCalls + "|It is sunny, and 2."
)

// Two rounds of two parallel calls, and an answer.
func TestSDKToolLoop(t *testing.T) {
	t.Parallel()
	b := startBox(t, "API_MODE_CHAT_WORKSPACE=loop")
	c := client(b)
	params := sdk.ChatCompletionNewParams{Model: "fast", Messages: user(thenText), Tools: sdkTools}
	for round := range 3 {
		answer, err := c.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		choice := answer.Choices[0]
		if round == 2 {
			if choice.FinishReason != "stop" || choice.Message.Content != "It is sunny, and 2." {
				t.Errorf("%+v", choice)
			}
			return
		}
		calls := choice.Message.ToolCalls
		if choice.FinishReason != "tool_calls" || len(calls) != 2 || calls[0].Function.Arguments != `{"city":"Oslo"}` || calls[0].ID == calls[1].ID {
			t.Fatalf("%+v", choice)
		}
		params.Messages = append(params.Messages, choice.Message.ToParam(), sdk.ToolMessage("2", calls[1].ID), sdk.ToolMessage("sunny", calls[0].ID))
	}
}

// Streamed calls, put together by the SDK's helper.
func TestSDKToolStream(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	c := client(b)
	stream := c.Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{Model: "fast", Messages: user("SAY:I will look.\nSAY:" + twoCalls), Tools: sdkTools})
	var acc sdk.ChatCompletionAccumulator
	var finished []string
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatalf("a chunk cannot be added: %s", stream.Current().RawJSON())
		}
		if call, ok := acc.JustFinishedToolCall(); ok {
			finished = append(finished, call.Name+" "+call.Arguments)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(finished, "; "); got != `get_weather {"city":"Oslo"}; add {"x":1}` {
		t.Errorf("%s", got)
	}
	if m := acc.Choices[0].Message; m.Content != "I will look." || len(m.ToolCalls) != 2 || acc.Choices[0].FinishReason != "tool_calls" {
		t.Errorf("%+v", acc.Choices[0])
	}
}

// A stream that its reader leaves ends the agent.
func TestSDKAbort(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	c := client(b)
	ctx, abort := context.WithCancel(t.Context())
	stream := c.Chat.Completions.NewStreaming(ctx, sdk.ChatCompletionNewParams{Model: "fast", Messages: user("SAY:begun\nHANG")}, option.WithHeader("x-aicodebox-workspace", "w"))
	for stream.Next() {
		if chunk := stream.Current(); len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content == "begun" {
			break
		}
	}
	abort()
	_ = stream.Close()
	// The workspace is free once the agent is gone.
	answer, err := c.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{Model: "fast", Messages: user("SAY:free")}, option.WithHeader("x-aicodebox-workspace", "w"))
	if err != nil || answer.Choices[0].Message.Content != "free" {
		t.Errorf("%v", err)
	}
}

// Every class of errors arrives as the SDK's own, at once: none of them is
// repeated once an agent has worked.
func TestSDKErrors(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	c := client(b)
	for _, tt := range []struct {
		model, prompt string
		opts          []option.RequestOption
		status        int
		code          string
	}{
		{"fast", "x", []option.RequestOption{option.WithAPIKey("wrong")}, 401, "invalid_api_key"},
		{"nope", "x", nil, 404, "model_not_found"},
		{"fast", "x", []option.RequestOption{option.WithJSONSet("n", 2)}, 400, "invalid_value"},
		{"fast", "SAY:bad", []option.RequestOption{option.WithJSONSet("response_format", map[string]any{"type": "json_object"})}, 422, "invalid_answer"},
		{"fast", "@error 403 no", nil, 403, "provider_error"},
		{"fast", "@error 429 slow down", nil, 429, "provider_error"},
		{"fast", "EXIT:3", nil, 500, "agent_failed"},
		{"missing", "x", nil, 503, "agent_missing"},
		{"fast", "HANG", []option.RequestOption{option.WithHeader("x-aicodebox-timeout-seconds", "1")}, 504, "timeout"},
	} {
		prompt := "WRITE:.counted/" + tt.code + time.Now().Format("150405.000000000") + ":x\n" + tt.prompt
		_, err := c.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{Model: tt.model, Messages: user(prompt)}, tt.opts...)
		var failure *sdk.Error
		if !errors.As(err, &failure) {
			t.Errorf("%s: %v", tt.code, err)
			continue
		}
		if failure.StatusCode != tt.status || failure.Code != tt.code || failure.Message == "" || failure.Type == "" {
			t.Errorf("%d %s: %s", failure.StatusCode, failure.Code, failure.RawJSON())
		}
	}
	stream := c.Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{Model: "fast", Messages: user("SAY:some\nEXIT:3")})
	text := ""
	for stream.Next() {
		if chunk := stream.Current(); len(chunk.Choices) > 0 {
			text += chunk.Choices[0].Delta.Content
		}
	}
	if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "agent_failed") || text != "some" {
		t.Errorf("%v, %q", err, text)
	}
	// Each failed once: a repeated one would have left a file more.
	entries, err := os.ReadDir(filepath.Join(b.root, ".counted"))
	if err != nil || len(entries) != 4 {
		t.Errorf("%d agents worked in the workspace: %v", len(entries), err)
	}
}
