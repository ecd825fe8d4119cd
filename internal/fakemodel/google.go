package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// google is Google's generateContent and streamGenerateContent.
type google struct{}

type googlePart struct {
	Text         string `json:"text"`
	Thought      bool   `json:"thought"`
	FunctionCall *struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

type googleContent struct {
	Role  string       `json:"role"`
	Parts []googlePart `json:"parts"`
}

type googleTool struct {
	Name                 string          `json:"name"`
	Parameters           json.RawMessage `json:"parameters"`
	ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
}

func (google) read(r *http.Request, body []byte) (Request, error) {
	model, method, ok := strings.Cut(r.PathValue("call"), ":")
	if !ok || (method != "generateContent" && method != "streamGenerateContent") {
		return Request{}, fmt.Errorf("the path must end in :generateContent or :streamGenerateContent")
	}
	var in struct {
		SystemInstruction googleContent   `json:"systemInstruction"`
		Contents          []googleContent `json:"contents"`
		Tools             []struct {
			FunctionDeclarations []googleTool `json:"functionDeclarations"`
		} `json:"tools"`
		GenerationConfig struct {
			ThinkingConfig struct {
				ThinkingLevel string `json:"thinkingLevel"`
			} `json:"thinkingConfig"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("read the content request: %w", err)
	}
	req := Request{
		API: "google", Model: model, Stream: method == "streamGenerateContent",
		Effort: in.GenerationConfig.ThinkingConfig.ThinkingLevel,
	}
	for _, p := range in.SystemInstruction.Parts {
		req.addSystem(p.Text)
	}
	for _, c := range in.Contents {
		c.addTo(&req)
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			req.Tools = append(req.Tools, f.neutral())
		}
	}
	return req, nil
}

func (t googleTool) neutral() Tool {
	if t.ParametersJSONSchema != nil {
		return Tool{t.Name, t.ParametersJSONSchema}
	}
	return Tool{t.Name, t.Parameters}
}

func (c googleContent) addTo(req *Request) {
	turn := Message{Role: "user"}
	if c.Role == "model" {
		turn.Role = "assistant"
	}
	for _, p := range c.Parts {
		switch {
		case p.FunctionCall != nil:
			turn.Calls = append(turn.Calls, Call{Name: p.FunctionCall.Name, Arguments: p.FunctionCall.Args})
		case p.FunctionResponse != nil:
			req.add(Message{Role: "tool", Name: p.FunctionResponse.Name, Text: functionOutput(p.FunctionResponse.Response)})
		case !p.Thought:
			turn.Text += p.Text
		}
	}
	if turn.Text != "" || turn.Calls != nil || turn.Role == "assistant" {
		req.add(turn)
	}
}

// functionOutput is what a tool said: the text under "output" or "error", or
// the whole value.
func functionOutput(raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // anything else is shown as it is
	for _, name := range []string{"output", "error", "result"} {
		var s string
		if json.Unmarshal(fields[name], &s) == nil {
			return s
		}
	}
	return string(raw)
}

func (google) failure(f failure) any {
	status := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
	}[f.status]
	if status == "" {
		status = "UNKNOWN"
	}
	return map[string]any{"error": map[string]any{"code": f.status, "message": f.message, "status": status}}
}

func googleStop(res Response) string {
	switch res.Stop {
	case StopLength:
		return "MAX_TOKENS"
	case StopRefuse:
		return "SAFETY"
	}
	return "STOP"
}

func googleEnvelope(req Request, parts []any, stop string, u *Usage) map[string]any {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	if stop != "" {
		candidate["finishReason"] = stop
	}
	out := map[string]any{
		"candidates": []any{candidate}, "modelVersion": req.Model, "responseId": fmt.Sprintf("fake%06d", req.Number),
	}
	if u != nil {
		out["usageMetadata"] = map[string]int{
			"promptTokenCount": u.Input, "cachedContentTokenCount": u.Cached,
			"candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning,
			"totalTokenCount": u.Input + u.Output,
		}
	}
	return out
}

// googleParts is a part of an answer with words in place of its own.
func googleParts(p Part, words string) []any {
	switch {
	case p.Call != nil:
		return []any{map[string]any{"functionCall": map[string]any{"name": p.Call.Name, "args": p.Call.Arguments}}}
	case p.Thinking != "":
		return []any{map[string]any{"text": words, "thought": true}}
	}
	return []any{map[string]any{"text": words}}
}

func (google) whole(req Request, res Response) any {
	parts := []any{}
	for _, p := range res.Parts {
		if p.Text != "" || p.Thinking != "" || p.Call != nil {
			parts = append(parts, googleParts(p, p.Text+p.Thinking)...)
		}
	}
	u := usage(req, res)
	return googleEnvelope(req, parts, googleStop(res), &u)
}

func (google) stream(out *events, req Request) encoder { return &googleStream{out: out, req: req} }

// googleStream writes one response object per piece; a function call comes
// whole.
type googleStream struct {
	out  *events
	req  Request
	part Part
}

func (s *googleStream) begin() {}

func (s *googleStream) open(_ int, p Part) { s.part = p }

func (s *googleStream) delta(piece string) {
	if s.part.Call == nil {
		s.out.send("", googleEnvelope(s.req, googleParts(s.part, piece), "", nil))
	}
}

func (s *googleStream) shut() {
	if s.part.Call != nil {
		s.out.send("", googleEnvelope(s.req, googleParts(s.part, ""), "", nil))
	}
}

func (s *googleStream) end(res Response) {
	u := usage(s.req, res)
	s.out.send("", googleEnvelope(s.req, []any{}, googleStop(res), &u))
}
