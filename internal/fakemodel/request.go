package fakemodel

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// Request is one question as the server understood it, the same for all
// interfaces.
type Request struct {
	Number   int             `json:"number"` // 1 for the first request
	Time     time.Time       `json:"time"`
	API      string          `json:"api"` // chat, responses, messages or google
	Path     string          `json:"path"`
	Model    string          `json:"model"`
	Key      string          `json:"key"` // from whichever header carried it, without "Bearer "
	Stream   bool            `json:"stream"`
	Effort   string          `json:"effort,omitempty"` // thinking level, as the request spells it
	System   string          `json:"system,omitempty"` // all system and developer text, joined by blank lines
	Messages []Message       `json:"messages"`         // the rest of the conversation
	Tools    []Tool          `json:"tools,omitempty"`
	Size     int             `json:"size"`   // bytes of the body
	Prompt   int             `json:"prompt"` // bytes of the last user message
	Body     json.RawMessage `json:"body"`
}

// Message is one turn of a conversation.
type Message struct {
	Role  string `json:"role"` // user, assistant or tool
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"` // of an assistant
	Name  string `json:"name,omitempty"`  // of a tool, where the interface tells it
}

// Call is a tool call.
type Call struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Tool is a tool that the agent offers.
type Tool struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters,omitempty"` // JSON Schema
}

// User returns the text of the last user message, or "".
func (r Request) User() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Text
		}
	}
	return ""
}

// noise is what agents put into user messages that is not the user's.
var noise = regexp.MustCompile(`(?s)<(system-reminder|environment_context|user_instructions|permissions instructions)>.*?</(?:system-reminder|environment_context|user_instructions|permissions instructions)>`)

// add appends a turn. Texts of one user turn are joined, notes of the agent to
// itself are dropped, and an assistant's items in a row are one turn.
func (r *Request) add(m Message) {
	switch m.Role {
	case "system", "developer":
		r.addSystem(m.Text)
		return
	case "user":
		m.Text = strings.TrimSpace(noise.ReplaceAllString(m.Text, ""))
		if m.Text == "" {
			return
		}
	}
	last := len(r.Messages) - 1
	if m.Role == "assistant" && last >= 0 && r.Messages[last].Role == "assistant" {
		r.Messages[last].Text += m.Text
		r.Messages[last].Calls = append(r.Messages[last].Calls, m.Calls...)
		return
	}
	r.Messages = append(r.Messages, m)
}

func (r *Request) addSystem(text string) {
	if r.System != "" && text != "" {
		r.System += "\n\n"
	}
	r.System += text
}

// text reads what may be a string or a list of parts with text in them.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// arguments makes sure that a call's arguments are JSON.
func arguments(s string) json.RawMessage {
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	quoted, _ := json.Marshal(s) // a string always encodes
	return quoted
}
