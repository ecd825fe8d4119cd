package openai

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/psyb0t/aicodebox/runner"
)

// chunks writes a chat's answer to a stream, piece by piece: a chunk with the
// role, chunks with pieces, one with the reason for the end, one with the
// usage if it was asked for, and the end mark. Or, in place of the last three,
// an error.
type chunks struct {
	*stream
	usage   bool   // the client wants to know the usage
	common  []byte // what every chunk begins with, up to its choices
	content []byte // the beginning of a chunk with a piece of text
	tail    []byte // the end of it
}

// chunk is one event of a stream. Pieces of text are written without it, by
// write, in the same form.
type chunk struct {
	ID       string           `json:"id"`
	Object   string           `json:"object"`
	Created  int64            `json:"created"`
	Model    string           `json:"model"`
	Choices  []chunkChoice    `json:"choices"`
	Usage    json.RawMessage  `json:"usage,omitempty"` // null but in the last, if it was asked for
	Attempts []runner.Attempt `json:"aicodebox_attempts,omitempty"`
	Unknown  bool             `json:"aicodebox_usage_missing,omitempty"`
}

type chunkChoice struct {
	Index    int             `json:"index"`
	Delta    delta           `json:"delta"`
	Logprobs json.RawMessage `json:"logprobs"`
	Finish   *string         `json:"finish_reason"`
}

// delta is what a chunk adds to the message.
type delta struct {
	Role      string        `json:"role,omitempty"`
	Content   *string       `json:"content,omitempty"`
	Reasoning string        `json:"reasoning_content,omitempty"`
	Calls     []toolCall    `json:"tool_calls,omitempty"`
	Function  *functionCall `json:"function_call,omitempty"`
}

const objectChunk = "chat.completion.chunk"

// openChunks begins an answer with the chunk that names the role.
func openChunks(s *stream, h head, usage bool) *chunks {
	c := &chunks{stream: s, usage: usage}
	common := encode(chunk{ID: h.id, Object: objectChunk, Created: h.created, Model: h.model})
	c.common = bytes.TrimSuffix(common, []byte(`null}`)) // of the choices
	c.content = []byte("data: " + string(c.common) + `[{"index":0,"delta":{"content":`)
	c.tail = []byte(`},"logprobs":null,"finish_reason":null}]`)
	if usage {
		c.tail = append(c.tail, `,"usage":null`...)
	}
	c.tail = append(c.tail, "}\n\n"...)
	c.delta(delta{Role: "assistant", Content: new("")})
	return c
}

// text sends a piece of the answer.
func (c *chunks) text(piece string) {
	if piece == "" {
		return
	}
	c.send(func(b []byte) []byte {
		b = append(b, c.content...)
		b = appendString(b, piece)
		return append(b, c.tail...)
	})
}

// delta sends a chunk that adds d.
func (c *chunks) delta(d delta) { c.choice(chunkChoice{Delta: d}, nil) }

// answer sends all of an answer at once.
func (c *chunks) answer(a answer) {
	if a.reasoning != "" {
		c.delta(delta{Reasoning: a.reasoning})
	}
	c.text(a.content)
	for i, call := range a.calls {
		f := functionCall{Name: call.Name, Arguments: call.Arguments}
		if a.legacy {
			c.delta(delta{Function: &f})
			continue
		}
		c.delta(delta{Calls: []toolCall{{Index: &i, ID: call.ID, Type: "function", Function: f}}})
	}
}

// finish ends the answer.
func (c *chunks) finish(a answer) {
	reason := a.finish()
	c.choice(chunkChoice{Finish: &reason}, a.attempts)
	if c.usage {
		c.chunk(chunk{Choices: []chunkChoice{}, Usage: encode(usageOf(a.usage)), Unknown: a.usage == nil})
	}
	c.event("", []byte("[DONE]"))
}

// fail ends the answer with an error.
func (c *chunks) fail(f *failure) { c.event("", f.encode()) }

func (c *chunks) choice(one chunkChoice, attempts []runner.Attempt) {
	k := chunk{Choices: []chunkChoice{one}, Attempts: attempts}
	if c.usage {
		k.Usage = json.RawMessage("null")
	}
	c.chunk(k)
}

// chunk sends k under the head of this answer.
func (c *chunks) chunk(k chunk) {
	body := encode(k)
	_, rest, _ := bytes.Cut(body, []byte(`"choices":`))
	c.event("", append(bytes.Clone(c.common), rest...))
}

const hex = "0123456789abcdef"

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		b = append(b, s[from:i]...)
		b = appendEscape(b, c)
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// appendEscape appends a byte that cannot stand in a JSON string by itself.
func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
}
