package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// responses is OpenAI's Responses interface.
type responses struct{}

// item is one entry of a request's input.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

func (responses) read(_ *http.Request, body []byte) (Request, error) {
	var in struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []Tool          `json:"tools"`
		Reasoning    struct {
			Effort string `json:"effort"`
		} `json:"reasoning"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("read the responses request: %w", err)
	}
	req := Request{API: "responses", Model: in.Model, Stream: in.Stream, Effort: in.Reasoning.Effort}
	req.addSystem(in.Instructions)
	var items []item
	if json.Unmarshal(in.Input, &items) != nil {
		items = []item{{Role: "user", Content: in.Input}}
	}
	for _, i := range items {
		i.addTo(&req)
	}
	for _, t := range in.Tools {
		if t.Name != "" {
			req.Tools = append(req.Tools, t)
		}
	}
	return req, nil
}

func (i item) addTo(req *Request) {
	switch i.Type {
	case "", "message":
		req.add(Message{Role: i.Role, Text: text(i.Content)})
	case "function_call", "custom_tool_call":
		req.add(Message{Role: "assistant", Calls: []Call{{i.CallID, i.Name, arguments(i.Arguments)}}})
	case "function_call_output", "custom_tool_call_output":
		req.add(Message{Role: "tool", Text: text(i.Output)})
	}
}

func (responses) failure(f failure) any { return chat{}.failure(f) }

func responsesUsage(u Usage) map[string]any {
	return map[string]any{
		"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"input_tokens_details":  map[string]int{"cached_tokens": u.Cached},
		"output_tokens_details": map[string]int{"reasoning_tokens": u.Reasoning},
	}
}

// responsesEnvelope is the response object; status is in_progress, completed or
// incomplete.
func responsesEnvelope(req Request, status string, output []any) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("resp_fake%06d", req.Number), "object": "response", "created_at": req.Time.Unix(),
		"status": status, "model": req.Model, "output": output, "error": nil, "incomplete_details": nil,
		"parallel_tool_calls": true, "tools": []any{}, "tool_choice": "auto", "usage": nil,
	}
}

// finished is the response object of a whole answer.
func (responses) finished(req Request, res Response, output []any) map[string]any {
	out := responsesEnvelope(req, "completed", output)
	switch res.Stop {
	case StopLength:
		out["status"], out["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	case StopRefuse:
		out["status"], out["incomplete_details"] = "incomplete", map[string]any{"reason": "content_filter"}
	}
	out["usage"] = responsesUsage(usage(req, res))
	return out
}

// outputItem is part number index of an answer, as it is when complete or, with
// empty, as it is when it begins.
func outputItem(req Request, index int, p Part, empty bool) map[string]any {
	status, words, args := "completed", p.Text+p.Thinking, ""
	if p.Call != nil {
		args = string(p.Call.Arguments)
	}
	if empty {
		status, words, args = "in_progress", "", ""
	}
	switch {
	case p.Call != nil:
		return map[string]any{
			"type": "function_call", "id": itemID("fc", req, index), "call_id": callID(req, index),
			"name": p.Call.Name, "arguments": args, "status": status,
		}
	case p.Thinking != "":
		summary := []any{}
		if !empty {
			summary = append(summary, map[string]any{"type": "summary_text", "text": words})
		}
		return map[string]any{"type": "reasoning", "id": itemID("rs", req, index), "summary": summary}
	}
	content := []any{}
	if !empty {
		content = append(content, outputText(words))
	}
	return map[string]any{
		"type": "message", "id": itemID("msg", req, index), "role": "assistant", "status": status, "content": content,
	}
}

func outputText(words string) map[string]any {
	return map[string]any{"type": "output_text", "text": words, "annotations": []any{}}
}

func itemID(kind string, req Request, index int) string {
	return fmt.Sprintf("%s_fake%06d_%d", kind, req.Number, index)
}

func (r responses) whole(req Request, res Response) any {
	output := []any{}
	for i, p := range res.Parts {
		if p.Text != "" || p.Thinking != "" || p.Call != nil {
			output = append(output, outputItem(req, i, p, false))
		}
	}
	return r.finished(req, res, output)
}

func (responses) stream(out *events, req Request) encoder {
	return &responsesStream{out: out, req: req}
}
