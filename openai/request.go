package openai

import (
	"strings"

	"github.com/psyb0t/aicodebox/internal/jsonanswer"
)

// chatRequest is the body of POST /v1/chat/completions. What an agent cannot
// honour (temperature, seed, limits of tokens, ...) and what is not known is
// let pass.
type chatRequest struct {
	model    string
	messages []message
	effort   string
	stream   bool
	usage    bool // stream_options.include_usage
	native   bool // stream_options.include_aicodebox_events
	stop     []string
	format   format
	tools    toolset
}

// readChat decodes a body. Its errors are failures that name the field.
func readChat(data []byte) (chatRequest, error) {
	body, err := readBody(data)
	if err != nil {
		return chatRequest{}, err
	}
	var r chatRequest
	for _, read := range []func(members) error{
		r.readMessages, r.readModel, r.readStream, r.readStop, r.readRefused, r.readForm,
	} {
		if err := read(body); err != nil {
			return chatRequest{}, err
		}
	}
	return r, nil
}

func (r *chatRequest) readMessages(body members) error {
	field, err := body.need(value{}, "messages")
	if err == nil {
		r.messages, err = readMessages(field)
	}
	return err
}

func (r *chatRequest) readModel(body members) (err error) {
	if r.model, err = body.get(value{}, "model").optionalText(); err != nil {
		return err
	}
	r.effort, err = body.get(value{}, "reasoning_effort").optionalText()
	return err
}

func (r *chatRequest) readStream(body members) (err error) {
	if r.stream, err = body.get(value{}, "stream").flag(); err != nil {
		return err
	}
	options := body.get(value{}, "stream_options")
	if options.absent() {
		return nil
	}
	fields, err := options.object()
	if err != nil {
		return err
	}
	if r.usage, err = fields.get(options, "include_usage").flag(); err != nil {
		return err
	}
	r.native, err = fields.get(options, "include_aicodebox_events").flag()
	return err
}

func (r *chatRequest) readStop(body members) error {
	field := body.get(value{}, "stop")
	if field.absent() {
		return nil
	}
	list := []value{field}
	if !field.is('"') {
		var err error
		if list, err = field.list(); err != nil {
			return field.wrong("a string or a list of strings")
		}
	}
	if len(list) > 64 {
		return badField(field.at, "there are %d texts to stop at; at most 64 are accepted", len(list))
	}
	for _, item := range list {
		text, err := item.text()
		if err != nil {
			return err
		}
		if text != "" {
			r.stop = append(r.stop, text)
		}
	}
	return nil
}

// readRefused refuses what would change the answer's form and cannot be had.
func (r *chatRequest) readRefused(body members) error {
	n, err := body.get(value{}, "n").integer(1)
	if err != nil {
		return err
	}
	if n != 1 {
		return badField("n", "an agent gives one answer; use 1")
	}
	probabilities, err := body.get(value{}, "logprobs").flag()
	if err == nil && probabilities {
		err = badField("logprobs", "an agent does not tell probabilities; leave it out")
	}
	return err
}

func (r *chatRequest) readForm(body members) (err error) {
	if r.tools, err = readTools(body); err != nil {
		return err
	}
	field := body.get(value{}, "response_format")
	if r.format, err = readFormat(field); err != nil {
		return err
	}
	return checkSchema(field.at+".json_schema.schema", r.format)
}

// checkSchema refuses a schema that cannot be used.
func checkSchema(at string, f format) error {
	if f.schema == nil {
		return nil
	}
	if _, err := jsonanswer.Compile(f.schema); err != nil {
		return badField(at, "%s", err.Error())
	}
	return nil
}

// onlyText returns the text of the only message of a user, or "" when there
// are other turns.
func (r *chatRequest) onlyText() string {
	said := turns(r.messages)
	if len(said) != 1 || said[0].role != roleUser {
		return ""
	}
	return strings.TrimSpace(said[0].text())
}
