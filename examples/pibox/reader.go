package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/psyb0t/aicodebox"
)

// reader understands the records that pi prints in JSON mode, one a line. It
// serves the live stream and the whole output alike, so that they agree.
//
// pi tries a failed answer again as a whole.
type reader struct {
	begun bool // a record has been seen
	words int  // lines of plain text so far

	session string
	usage   *aicodebox.Usage
	last    message // the last message of the model that ended
	ended   bool    // there is one

	answer aicodebox.Answer
	block  int  // the text block in hand
	open   bool // it has text
}

// record is one line of pi's output.
type record struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"` // of session
	Message  json.RawMessage `json:"message"`
	ToolName string          `json:"toolName"`
	Update   struct {
		Type         string `json:"type"`
		ContentIndex int    `json:"contentIndex"`
		Delta        string `json:"delta"`
	} `json:"assistantMessageEvent"`
}

// StreamParser reads pi's records as they come.
func (PiAdapter) StreamParser(aicodebox.Request) func([]byte) []aicodebox.Event {
	return new(reader).read
}

// ParseOutput reads pi's records after its end.
func (PiAdapter) ParseOutput(_ aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	r := new(reader)
	for line := range bytes.SplitSeq(bytes.TrimSuffix(out.Stdout, []byte("\n")), []byte("\n")) {
		r.read(line)
	}
	if err := r.silence(out); err != nil {
		return aicodebox.Reply{SessionID: r.session}, err
	}
	reply := aicodebox.Reply{Text: r.answer.Text(), SessionID: r.session, Usage: r.usage}
	r.verdict(&reply)
	return reply, nil
}

// ignored are the records that repeat what others told, and are long.
var ignored = [][]byte{
	[]byte(`{"type":"agent_end",`), []byte(`{"type":"turn_end",`), []byte(`{"type":"tool_execution_update",`),
	[]byte(`{"type":"message_start","message":{"role":"system",`), []byte(`{"type":"message_end","message":{"role":"system",`),
}

// read takes one line and returns what it tells.
func (r *reader) read(line []byte) []aicodebox.Event {
	for _, start := range ignored {
		if bytes.HasPrefix(line, start) {
			r.begun = true
			return []aicodebox.Event{{Kind: aicodebox.EventOther, Raw: line}}
		}
	}
	var rec record
	trimmed := bytes.TrimSpace(line)
	if !bytes.HasPrefix(trimmed, []byte("{")) || json.Unmarshal(trimmed, &rec) != nil {
		return []aicodebox.Event{r.plain(line)}
	}
	r.begun = true
	events := r.events(rec)
	if len(events) == 0 {
		events = []aicodebox.Event{{Kind: aicodebox.EventOther}}
	}
	events[0].Raw = line
	return events
}

// plain takes a line that is no record. Before any record it is what pi prints
// when an extra argument asks for something else than an answer (--version).
func (r *reader) plain(line []byte) aicodebox.Event {
	if r.begun || len(bytes.TrimSpace(line)) == 0 {
		return aicodebox.Event{Kind: aicodebox.EventOther, Raw: line}
	}
	text := string(line)
	if r.words > 0 {
		text = "\n" + text
	}
	r.words++
	return aicodebox.Event{Kind: aicodebox.EventText, Text: r.answer.Say(text), Raw: line}
}

func (r *reader) events(rec record) []aicodebox.Event {
	switch rec.Type {
	case "session":
		r.session = rec.ID
		return []aicodebox.Event{{Kind: aicodebox.EventSession, Text: rec.ID}}
	case "message_start":
		r.start(rec.Message)
	case "message_update":
		return r.update(rec)
	case "message_end":
		return r.end(rec.Message)
	case "tool_execution_start":
		return []aicodebox.Event{{Kind: aicodebox.EventTool, Text: rec.ToolName}}
	case "agent_settled":
		return r.settle()
	}
	return nil
}

// start begins a message. After a failure it is a new try at the same answer,
// after a tool's use it is another answer.
func (r *reader) start(raw json.RawMessage) {
	if _, ok := decode(raw); !ok {
		return
	}
	r.answer.Begin(r.ended && r.last.failed())
	r.block, r.open = 0, false
}

func (r *reader) update(rec record) []aicodebox.Event {
	switch rec.Update.Type {
	case "text_delta":
		return r.say(rec.Update.Delta, rec.Update.ContentIndex)
	case "thinking_delta":
		return []aicodebox.Event{{Kind: aicodebox.EventThinking, Text: rec.Update.Delta}}
	}
	return nil
}

// say takes the next piece of the message in hand and tells what is new in it.
// Text blocks of one message stand on lines of their own.
func (r *reader) say(piece string, block int) []aicodebox.Event {
	if piece == "" {
		return nil
	}
	if r.open && block != r.block {
		piece = "\n" + piece
	}
	r.block, r.open = block, true
	return textEvent(r.answer.Say(piece))
}

func textEvent(text string) []aicodebox.Event {
	if text == "" {
		return nil
	}
	return []aicodebox.Event{{Kind: aicodebox.EventText, Text: text}}
}

// end takes a message as a whole: its usage, and text that did not come in
// pieces.
func (r *reader) end(raw json.RawMessage) []aicodebox.Event {
	m, ok := decode(raw)
	if !ok {
		return nil
	}
	r.last, r.ended = m, true
	var events []aicodebox.Event
	if !m.failed() {
		events = textEvent(r.answer.End(m.text()))
	}
	if u, ok := m.usage(); ok {
		events = append(events, aicodebox.Event{Kind: aicodebox.EventUsage, Usage: &u})
		r.count(u)
	}
	return events
}

func (r *reader) count(u aicodebox.Usage) {
	if r.usage != nil {
		u = r.usage.Add(u)
	}
	r.usage = &u
}

// settle ends the stream: by now a failure is final.
func (r *reader) settle() []aicodebox.Event {
	reply := aicodebox.Reply{Text: r.answer.Text()}
	r.verdict(&reply)
	done := aicodebox.Event{Kind: aicodebox.EventDone}
	if reply.ProviderError == nil {
		return []aicodebox.Event{done}
	}
	return []aicodebox.Event{{Kind: aicodebox.EventError, Text: reply.ProviderError.Message}, done}
}

// silence explains an output without any answer.
func (r *reader) silence(out aicodebox.Output) error {
	if r.ended || r.answer.Text() != "" || out.ExitCode >= 124 {
		return nil
	}
	reason := firstLine(out.Stderr)
	if strings.HasPrefix(reason, "Session found in different project") {
		return errors.New("the session belongs to another workspace; pi continues a session only where it began")
	}
	if reason == "" {
		return errors.New("pi ended without an answer")
	}
	return errors.New("pi gave no answer: " + reason)
}

// firstLine is the first thing that pi complained of.
func firstLine(stderr []byte) string {
	for line := range strings.Lines(string(stderr)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Warning:") {
			return strings.TrimPrefix(line, "Error: ")
		}
	}
	return ""
}
