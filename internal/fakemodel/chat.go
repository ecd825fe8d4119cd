package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chat is OpenAI's chat completions.
type chat struct{}

// chatMessage is a message of a request or an answer.
type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	ToolCalls []chatCall      `json:"tool_calls"`
}

type chatCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (chat) read(_ *http.Request, body []byte) (Request, error) {
	var in struct {
		Model    string        `json:"model"`
		Stream   bool          `json:"stream"`
		Effort   string        `json:"reasoning_effort"`
		Messages []chatMessage `json:"messages"`
		Tools    []struct {
			Function Tool `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("read the chat request: %w", err)
	}
	if len(in.Messages) == 0 {
		return Request{}, fmt.Errorf("messages must not be empty")
	}
	req := Request{API: "chat", Model: in.Model, Stream: in.Stream, Effort: in.Effort}
	for _, m := range in.Messages {
		req.add(m.neutral())
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.Function)
	}
	return req, nil
}

func (m chatMessage) neutral() Message {
	out := Message{Role: m.Role, Text: text(m.Content), Name: m.Name}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, Call{c.ID, c.Function.Name, arguments(c.Function.Arguments)})
	}
	return out
}

func (chat) failure(f failure) any {
	kind := "invalid_request_error"
	switch {
	case f.code == codeQuota:
		kind = codeQuota
	case f.status == http.StatusTooManyRequests:
		kind = "requests"
	case f.status >= 500:
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": f.message, "type": kind, "param": nil, "code": f.code}}
}

// chatStop is the finish reason of an answer.
func chatStop(res Response) string {
	switch res.Stop {
	case StopLength:
		return "length"
	case StopRefuse:
		return "content_filter"
	}
	for _, p := range res.Parts {
		if p.Call != nil {
			return "tool_calls"
		}
	}
	return "stop"
}

func chatUsage(u Usage) map[string]any {
	return map[string]any{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     map[string]int{"cached_tokens": u.Cached},
		"completion_tokens_details": map[string]int{"reasoning_tokens": u.Reasoning},
	}
}

func (chat) whole(req Request, res Response) any {
	message := map[string]any{"role": "assistant", "content": nil}
	var content, reasoning string
	var calls []chatCall
	for i, p := range res.Parts {
		content += p.Text
		reasoning += p.Thinking
		if p.Call != nil {
			calls = append(calls, newChatCall(nil, callID(req, i), p.Call.Name, string(p.Call.Arguments)))
		}
	}
	if content != "" || calls == nil {
		message["content"] = content
	}
	if reasoning != "" {
		message["reasoning_content"] = reasoning
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	out := chatEnvelope(req, "chat.completion")
	out["choices"] = []any{map[string]any{"index": 0, "message": message, "finish_reason": chatStop(res)}}
	out["usage"] = chatUsage(usage(req, res))
	return out
}

func newChatCall(index *int, id, name, args string) chatCall {
	c := chatCall{Index: index, ID: id}
	if id != "" {
		c.Type = "function"
	}
	c.Function.Name, c.Function.Arguments = name, args
	return c
}

func callID(req Request, part int) string { return fmt.Sprintf("call_fake%06d_%d", req.Number, part) }

func chatEnvelope(req Request, object string) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("chatcmpl_fake%06d", req.Number), "object": object,
		"created": req.Time.Unix(), "model": req.Model,
	}
}

func (chat) stream(out *events, req Request) encoder {
	var options struct {
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	_ = json.Unmarshal(req.Body, &options) // read has understood it already
	return &chatStream{out: out, req: req, usage: options.StreamOptions.IncludeUsage}
}

// chatStream writes chat.completion.chunk events.
type chatStream struct {
	out   *events
	req   Request
	usage bool
	part  Part
	calls int
}

func (s *chatStream) chunk(delta map[string]any, finish any) {
	event := chatEnvelope(s.req, "chat.completion.chunk")
	event["choices"] = []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}
	s.out.send("", event)
}

func (s *chatStream) begin() { s.chunk(map[string]any{"role": "assistant", "content": ""}, nil) }

func (s *chatStream) open(index int, p Part) {
	s.part = p
	if p.Call != nil {
		n := s.calls
		s.chunk(map[string]any{"tool_calls": []any{newChatCall(&n, callID(s.req, index), p.Call.Name, "")}}, nil)
	}
}

func (s *chatStream) delta(piece string) {
	switch {
	case s.part.Call != nil:
		n := s.calls
		s.chunk(map[string]any{"tool_calls": []any{newChatCall(&n, "", "", piece)}}, nil)
	case s.part.Thinking != "":
		s.chunk(map[string]any{"reasoning_content": piece}, nil)
	default:
		s.chunk(map[string]any{"content": piece}, nil)
	}
}

func (s *chatStream) shut() {
	if s.part.Call != nil {
		s.calls++
	}
}

func (s *chatStream) end(res Response) {
	s.chunk(map[string]any{}, chatStop(res))
	if s.usage {
		event := chatEnvelope(s.req, "chat.completion.chunk")
		event["choices"] = []any{}
		event["usage"] = chatUsage(usage(s.req, res))
		s.out.send("", event)
	}
	s.out.raw("data: [DONE]\n\n")
	s.out.flush()
}
