package fakemodel

// responsesStream writes the named, numbered events of a response.
type responsesStream struct {
	out      *events
	req      Request
	part     Part
	index    int
	sequence int
	output   []any
}

func (s *responsesStream) send(kind string, fields map[string]any) {
	fields["type"] = kind
	fields["sequence_number"] = s.sequence
	s.sequence++
	s.out.send(kind, fields)
}

// inItem sends an event about the item in hand.
func (s *responsesStream) inItem(kind string, fields map[string]any) {
	fields["output_index"] = s.index
	fields["item_id"] = outputItem(s.req, s.index, s.part, true)["id"]
	switch {
	case s.part.Call != nil:
	case s.part.Thinking != "":
		fields["summary_index"] = 0
	default:
		fields["content_index"] = 0
	}
	s.send(kind, fields)
}

func (s *responsesStream) begin() {
	s.send("response.created", map[string]any{"response": responsesEnvelope(s.req, "in_progress", []any{})})
	s.send("response.in_progress", map[string]any{"response": responsesEnvelope(s.req, "in_progress", []any{})})
}

func (s *responsesStream) open(index int, p Part) {
	s.part, s.index = p, index
	s.send("response.output_item.added", map[string]any{"output_index": index, "item": outputItem(s.req, index, p, true)})
	switch {
	case p.Call != nil:
	case p.Thinking != "":
		s.inItem("response.reasoning_summary_part.added", map[string]any{"part": map[string]any{"type": "summary_text", "text": ""}})
	default:
		s.inItem("response.content_part.added", map[string]any{"part": outputText("")})
	}
}

func (s *responsesStream) delta(piece string) {
	switch {
	case s.part.Call != nil:
		s.inItem("response.function_call_arguments.delta", map[string]any{"delta": piece})
	case s.part.Thinking != "":
		s.inItem("response.reasoning_summary_text.delta", map[string]any{"delta": piece})
	default:
		s.inItem("response.output_text.delta", map[string]any{"delta": piece})
	}
}

func (s *responsesStream) shut() {
	switch p := s.part; {
	case p.Call != nil:
		s.inItem("response.function_call_arguments.done", map[string]any{"arguments": string(p.Call.Arguments), "name": p.Call.Name})
	case p.Thinking != "":
		s.inItem("response.reasoning_summary_text.done", map[string]any{"text": p.Thinking})
		s.inItem("response.reasoning_summary_part.done", map[string]any{"part": map[string]any{"type": "summary_text", "text": p.Thinking}})
	default:
		s.inItem("response.output_text.done", map[string]any{"text": p.Text})
		s.inItem("response.content_part.done", map[string]any{"part": outputText(p.Text)})
	}
	done := outputItem(s.req, s.index, s.part, false)
	s.output = append(s.output, done)
	s.send("response.output_item.done", map[string]any{"output_index": s.index, "item": done})
}

func (s *responsesStream) end(res Response) {
	if s.output == nil {
		s.output = []any{}
	}
	done := responses{}.finished(s.req, res, s.output)
	s.send("response."+done["status"].(string), map[string]any{"response": done})
}
