package fakemodel

import (
	"encoding/json"
	"slices"
	"time"
)

// Response is one answer. The zero value is an answer that says nothing.
type Response struct {
	Parts []Part
	Stop  Stop
	Cut   bool // end the stream before it says why it ended; a whole answer is not affected

	// Status, if not 0, makes it an error of this HTTP status. Code and
	// Message are the provider's usual ones for that status when empty.
	Status  int
	Code    string
	Message string
}

// Stop is why an answer ends.
type Stop string

// The reasons an answer ends; the zero value is that the model was done.
const (
	StopLength Stop = "length"
	StopRefuse Stop = "refuse"
)

// Part is one thing in an answer: Text, Thinking or Call, or a wait alone.
type Part struct {
	Text     string
	Thinking string
	Call     *Call

	Wait   time.Duration // before the part
	Hang   bool          // wait until the caller leaves
	Deltas []string      // the pieces a stream says the part in; nil means 12 characters each
	Gap    time.Duration // between pieces
}

// Say is the answer text.
func Say(text string) Response { return Response{Parts: []Part{{Text: text}}} }

// Use is the answer that calls a tool with arguments, which must encode as
// JSON.
func Use(tool string, args any) Response {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return Response{Parts: []Part{{Call: &Call{Name: tool, Arguments: data}}}}
}

// Fail is an error of the given HTTP status.
func Fail(status int) Response { return Response{Status: status} }

// Usage is what an answer is said to have cost, in tokens of four bytes.
type Usage struct {
	Input     int // of the whole prompt, cached or not
	Cached    int // the part of Input that an earlier turn had sent already
	Output    int // thinking included
	Reasoning int // the part of Output that was thinking
}

// usage counts a request and its answer. The same conversation always counts
// the same.
func usage(req Request, res Response) Usage {
	prompt, cached := len(req.System), 0
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			cached = prompt
		}
		prompt += m.size()
	}
	var said, thought int
	for _, p := range res.Parts {
		said += len(p.Text)
		thought += len(p.Thinking)
		if p.Call != nil {
			said += len(p.Call.Name) + len(p.Call.Arguments)
		}
	}
	return Usage{
		Input:     tokens(prompt),
		Cached:    tokens(cached),
		Output:    tokens(said) + tokens(thought),
		Reasoning: tokens(thought),
	}
}

func tokens(bytes int) int { return (bytes + 3) / 4 }

func (m Message) size() int {
	n := len(m.Text)
	for _, c := range m.Calls {
		n += len(c.Name) + len(c.Arguments)
	}
	return n
}

// pieces cuts a part's words into what one event of a stream says.
func (p Part) pieces() []string {
	if p.Deltas != nil {
		return p.Deltas
	}
	words := p.Text + p.Thinking
	if p.Call != nil {
		words = string(p.Call.Arguments)
	}
	var out []string
	for piece := range slices.Chunk([]rune(words), 12) {
		out = append(out, string(piece))
	}
	return out
}
