package openai

import (
	"encoding/json"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner"
)

// completion is a chat's answer on the wire.
type completion struct {
	ID       string           `json:"id"`
	Object   string           `json:"object"`
	Created  int64            `json:"created"`
	Model    string           `json:"model"`
	Choices  []choice         `json:"choices"`
	Usage    usage            `json:"usage"`
	Attempts []runner.Attempt `json:"aicodebox_attempts,omitempty"`
	Unknown  bool             `json:"aicodebox_usage_missing,omitempty"` // the agent told no usage
}

type choice struct {
	Index    int             `json:"index"`
	Message  wireMessage     `json:"message"`
	Logprobs json.RawMessage `json:"logprobs"`
	Finish   string          `json:"finish_reason"`
}

// wireMessage is the assistant's message.
type wireMessage struct {
	Role      string        `json:"role"`
	Content   *string       `json:"content"`
	Refusal   *string       `json:"refusal"`
	Reasoning string        `json:"reasoning_content,omitempty"`
	Calls     []toolCall    `json:"tool_calls,omitempty"`
	Function  *functionCall `json:"function_call,omitempty"`
}

// toolCall is a call on the wire.
type toolCall struct {
	Index    *int         `json:"index,omitempty"` // in chunks
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// head is what every message about one chat says.
type head struct {
	id      string
	created int64
	model   string
}

// answer is what a chat came to.
type answer struct {
	content   string
	reasoning string
	calls     []call
	legacy    bool // the call leaves as function_call
	stop      aicodebox.StopReason
	usage     *aicodebox.Usage
	attempts  []runner.Attempt // where the answer has a form
}

// finish is the reason the answer ended, in the words of the wire.
func (a answer) finish() string {
	switch {
	case len(a.calls) > 0 && a.legacy:
		return "function_call"
	case len(a.calls) > 0:
		return "tool_calls"
	case a.stop == aicodebox.StopLength, a.stop == aicodebox.StopFilter:
		return string(a.stop)
	}
	return string(aicodebox.StopEnd)
}

// completion is the answer as one message.
func (a answer) completion(h head) completion {
	m := wireMessage{Role: "assistant", Content: &a.content, Reasoning: a.reasoning}
	if len(a.calls) > 0 && a.content == "" {
		m.Content = nil
	}
	for _, c := range a.calls {
		f := functionCall{Name: c.Name, Arguments: c.Arguments}
		if a.legacy {
			m.Function = &f
			break
		}
		m.Calls = append(m.Calls, toolCall{ID: c.ID, Type: "function", Function: f})
	}
	return completion{
		ID: h.id, Object: "chat.completion", Created: h.created, Model: h.model,
		Choices: []choice{{Message: m, Finish: a.finish()}},
		Usage:   usageOf(a.usage), Attempts: a.attempts, Unknown: a.usage == nil,
	}
}
