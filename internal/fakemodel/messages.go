package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// messages is Anthropic's Messages interface.
type messages struct{}

// block is a part of a message.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"` // of a tool_result
}

func (messages) read(_ *http.Request, body []byte) (Request, error) {
	var in struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		System       json.RawMessage `json:"system"`
		OutputConfig struct {
			Effort string `json:"effort"`
		} `json:"output_config"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("read the messages request: %w", err)
	}
	if len(in.Messages) == 0 {
		return Request{}, fmt.Errorf("messages must not be empty")
	}
	req := Request{API: "messages", Model: in.Model, Stream: in.Stream, Effort: in.OutputConfig.Effort}
	req.addSystem(text(in.System))
	for _, m := range in.Messages {
		addBlocks(&req, m.Role, m.Content)
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, Tool{t.Name, t.InputSchema})
	}
	return req, nil
}

// addBlocks adds one message: its tool results are turns of their own and come
// before its text, as the model sees them.
func addBlocks(req *Request, role string, content json.RawMessage) {
	var blocks []block
	if json.Unmarshal(content, &blocks) != nil {
		blocks = []block{{Type: "text", Text: text(content)}}
	}
	turn := Message{Role: role}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			if turn.Text != "" {
				turn.Text += "\n"
			}
			turn.Text += b.Text
		case "tool_use":
			turn.Calls = append(turn.Calls, Call{b.ID, b.Name, b.Input})
		case "tool_result":
			req.add(Message{Role: "tool", Text: text(b.Content)})
		}
	}
	if turn.Text != "" || turn.Calls != nil || role == "assistant" {
		req.add(turn)
	}
}

func (messages) failure(f failure) any {
	kind := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
	}[f.status]
	if kind == "" {
		kind = "api_error"
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": f.message}}
}

func messagesStop(res Response) string {
	switch chatStop(res) {
	case "length":
		return "max_tokens"
	case "content_filter":
		return "refusal"
	case "tool_calls":
		return "tool_use"
	}
	return "end_turn"
}

func messagesUsage(u Usage) map[string]any {
	return map[string]any{
		"input_tokens": u.Input - u.Cached, "output_tokens": u.Output,
		"cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": 0,
	}
}

func messagesEnvelope(req Request, content []any, stop any, usage map[string]any) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("msg_fake%06d", req.Number), "type": "message", "role": "assistant", "model": req.Model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
}

func (messages) whole(req Request, res Response) any {
	content := []any{}
	for i, p := range res.Parts {
		switch {
		case p.Call != nil:
			content = append(content, map[string]any{"type": "tool_use", "id": toolUseID(req, i), "name": p.Call.Name, "input": p.Call.Arguments})
		case p.Thinking != "":
			content = append(content, map[string]any{"type": "thinking", "thinking": p.Thinking, "signature": "fake"})
		case p.Text != "":
			content = append(content, map[string]any{"type": "text", "text": p.Text})
		}
	}
	return messagesEnvelope(req, content, messagesStop(res), messagesUsage(usage(req, res)))
}

func toolUseID(req Request, part int) string {
	return fmt.Sprintf("toolu_fake%06d_%d", req.Number, part)
}

func (messages) stream(out *events, req Request) encoder {
	return &messagesStream{out: out, req: req}
}

// messagesStream writes the events of a message.
type messagesStream struct {
	out   *events
	req   Request
	part  Part
	index int
}

func (s *messagesStream) send(kind string, fields map[string]any) {
	fields["type"] = kind
	s.out.send(kind, fields)
}

func (s *messagesStream) begin() {
	u := messagesUsage(usage(s.req, Response{}))
	u["output_tokens"] = 1
	s.send("message_start", map[string]any{"message": messagesEnvelope(s.req, []any{}, nil, u)})
}

func (s *messagesStream) open(index int, p Part) {
	s.part, s.index = p, index
	start := map[string]any{"type": "text", "text": ""}
	switch {
	case p.Call != nil:
		start = map[string]any{"type": "tool_use", "id": toolUseID(s.req, index), "name": p.Call.Name, "input": map[string]any{}}
	case p.Thinking != "":
		start = map[string]any{"type": "thinking", "thinking": "", "signature": ""}
	}
	s.send("content_block_start", map[string]any{"index": index, "content_block": start})
}

func (s *messagesStream) delta(piece string) {
	d := map[string]any{"type": "text_delta", "text": piece}
	switch {
	case s.part.Call != nil:
		d = map[string]any{"type": "input_json_delta", "partial_json": piece}
	case s.part.Thinking != "":
		d = map[string]any{"type": "thinking_delta", "thinking": piece}
	}
	s.send("content_block_delta", map[string]any{"index": s.index, "delta": d})
}

func (s *messagesStream) shut() {
	if s.part.Thinking != "" {
		signature := map[string]any{"type": "signature_delta", "signature": "fake"}
		s.send("content_block_delta", map[string]any{"index": s.index, "delta": signature})
	}
	s.send("content_block_stop", map[string]any{"index": s.index})
}

func (s *messagesStream) end(res Response) {
	s.send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": messagesStop(res), "stop_sequence": nil},
		"usage": messagesUsage(usage(s.req, res)),
	})
	s.send("message_stop", map[string]any{})
}
