package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/internal/spelling"
)

// runRequest is the body of POST /run. Its tags are the schema in the OpenAPI
// document, against which bodies are checked.
type runRequest struct {
	Prompt             string         `json:"prompt" minLength:"1" doc:"What to ask the agent." example:"List the files here and say what each is for."`
	Workspace          string         `json:"workspace,omitempty" doc:"Directory the agent runs in, relative to the root of all workspaces; made when missing. Empty means the root itself. One run at a time per workspace." example:"project-a"`
	Model              string         `json:"model,omitempty" doc:"One of the box's models; empty means the agent's default." example:"openai/gpt-5"`
	SystemPrompt       string         `json:"systemPrompt,omitempty" doc:"Replaces the agent's system prompt." example:"You review Go code."`
	AppendSystemPrompt string         `json:"appendSystemPrompt,omitempty" doc:"Is added to the system prompt." example:"Answer in English."`
	JSONSchema         map[string]any `json:"jsonSchema,omitempty" doc:"A JSON Schema (draft 2020-12, or draft-07 by $schema) that the answer must satisfy. An answer that does not is asked again, up to three times. References to other documents are refused."`
	EventMode          string         `json:"eventMode,omitempty" enum:"auto,none,full" doc:"Whether the answer holds the agent's records as events: auto (default) with a jsonSchema or outputFormat json-verbose, none never, full always." example:"auto"`
	OutputFormat       string         `json:"outputFormat,omitempty" enum:"text,json,json-verbose" doc:"The kind of output asked of the agent. Kept for existing clients; json-verbose adds events." example:"text"`
	NoContinue         bool           `json:"noContinue,omitempty" doc:"Start a new session instead of continuing the workspace's last." example:"true"`
	Resume             string         `json:"resume,omitempty" doc:"Id of the session to go on with (sessionId of an earlier answer)." example:"0b3c2f1e"`
	Async              bool           `json:"async,omitempty" doc:"Answer at once with the run's id, and run in the background." example:"false"`
	FireAndForget      bool           `json:"fireAndForget,omitempty" doc:"The same as async, and echoed." example:"false"`
	TimeoutSeconds     int64          `json:"timeoutSeconds,omitempty" minimum:"1" maximum:"31536000" doc:"Wall-clock limit of one attempt. A run that hits it answers with exitCode 124, error timeout, and the text there was." example:"600"`
	Thinking           string         `json:"thinking,omitempty" doc:"One of the box's thinking levels; empty means the agent's default." example:"high"`
	ToolsAllowlist     []string       `json:"toolsAllowlist,omitempty" nullable:"false" doc:"The agent's tools it may use; an empty list allows none." example:"[\"read\",\"write\"]"`
	NoTools            bool           `json:"noTools,omitempty" doc:"The agent must use no tools." example:"false"`
	ExtraArgs          []string       `json:"extraArgs,omitempty" nullable:"false" doc:"More words for the agent's command line." example:"[\"--verbose\"]"`
	IncludeRaw         bool           `json:"includeRaw,omitempty" doc:"Add what the last attempt printed as stdout and stderr." example:"false"`
	WaitSeconds        int64          `json:"waitSeconds,omitempty" minimum:"0" maximum:"86400" doc:"How long to wait for a busy workspace before 409. 0 (default) does not wait." example:"30"`

	schema json.RawMessage // JSONSchema as it was sent
}

// badBody is a body that cannot be a run request.
type badBody struct {
	status int
	detail string
	errors []httpd.FieldError
}

func (e *badBody) Error() string { return e.detail }

// decodeRun reads a request from body. Names may be spelt in snake_case, as
// clients of earlier versions do. All that is wrong is told at once.
func decodeRun(body []byte, registry huma.Registry, schema *huma.Schema) (runRequest, error) {
	fields, raw, faults, err := members(body, schema)
	if err != nil {
		return runRequest{}, err
	}
	faults = append(faults, check(fields, registry, schema)...)
	if len(faults) > 0 {
		return runRequest{}, &badBody{422, invalidDetail(faults), faults}
	}
	return assign(fields, raw), nil
}

// check holds fields against the schema of the document.
func check(fields map[string]any, registry huma.Registry, schema *huma.Schema) []httpd.FieldError {
	var result huma.ValidateResult
	at := huma.NewPathBuffer(make([]byte, 0, 64), 0)
	at.Push("body")
	huma.Validate(registry, schema, at, huma.ModeWriteToServer, fields, &result)
	faults := make([]httpd.FieldError, 0, len(result.Errors))
	for _, err := range result.Errors {
		var detail *huma.ErrorDetail
		if errors.As(err, &detail) {
			faults = append(faults, httpd.FieldError{Location: detail.Location, Message: detail.Message})
		}
	}
	return faults
}

// invalidDetail says what is wrong in one sentence.
func invalidDetail(faults []httpd.FieldError) string {
	text := faults[0].Location + ": " + faults[0].Message
	if more := len(faults) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more, see errors)", more)
	}
	return text
}

// members takes the top level of body apart: known fields under their camelCase
// names, and jsonSchema as it stands.
func members(body []byte, schema *huma.Schema) (map[string]any, json.RawMessage, []httpd.FieldError, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if err := needObject(body); err != nil {
		return nil, nil, nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if _, err := dec.Token(); err != nil {
		return nil, nil, nil, malformed(err)
	}
	m := memberReader{dec: dec, known: schema.Properties, fields: map[string]any{}}
	for dec.More() {
		if err := m.read(); err != nil {
			return nil, nil, nil, malformed(err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, nil, malformed(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, nil, &badBody{status: 400, detail: "the body holds more than one JSON value"}
	}
	return m.fields, m.schema, m.faults, nil
}

// needObject refuses what is not the beginning of a JSON object.
func needObject(body []byte) error {
	first := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case len(first) == 0:
		return &badBody{status: 400, detail: "the body is empty; send a JSON object with at least a prompt"}
	case !utf8.Valid(body):
		return &badBody{status: 400, detail: "the body is not valid UTF-8"}
	case first[0] != '{' && json.Valid(body):
		fault := httpd.FieldError{Location: "body", Message: "expected object"}
		return &badBody{422, "body: expected a JSON object", []httpd.FieldError{fault}}
	}
	return nil
}

func malformed(err error) error {
	detail := "the body is not valid JSON: " + err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		detail = "the body is not valid JSON: it ends in the middle of a value"
	}
	return &badBody{status: 400, detail: detail}
}

type memberReader struct {
	dec    *json.Decoder
	known  map[string]*huma.Schema
	fields map[string]any
	schema json.RawMessage
	faults []httpd.FieldError
}

// read takes one member.
func (m *memberReader) read() error {
	token, err := m.dec.Token()
	if err != nil {
		return err
	}
	sent, _ := token.(string)
	name := camel(sent)
	if _, ok := m.known[name]; !ok {
		m.fault(sent, m.unexpected(name))
		var skip json.RawMessage
		return m.dec.Decode(&skip)
	}
	if _, twice := m.fields[name]; twice {
		m.fault(sent, "given twice")
	}
	if name == "jsonSchema" {
		return m.readSchema()
	}
	var value any
	err = m.dec.Decode(&value)
	m.fields[name] = value
	return err
}

// readSchema keeps the digits and the order of a schema; that it is one is
// found out by the engine.
func (m *memberReader) readSchema() error {
	if err := m.dec.Decode(&m.schema); err != nil {
		return err
	}
	switch m.schema[0] {
	case '{':
		m.fields["jsonSchema"] = map[string]any{}
	case 'n':
		m.fields["jsonSchema"], m.schema = nil, nil
	default:
		m.fields["jsonSchema"] = false // whatever it is, it is no object
	}
	return nil
}

func (m *memberReader) fault(name, message string) {
	m.faults = append(m.faults, httpd.FieldError{Location: "body." + clip(name), Message: message})
}

// unexpected says that there is no such field, and which was meant.
func (m *memberReader) unexpected(name string) string {
	if best := spelling.Nearest(name, slices.Sorted(maps.Keys(m.known))); best != "" {
		return "unexpected property; did you mean " + best + "?"
	}
	return "unexpected property"
}

// camel turns snake_case into camelCase and leaves the rest alone.
func camel(name string) string {
	first, rest, found := strings.Cut(name, "_")
	if !found || first == "" {
		return name
	}
	var out strings.Builder
	out.WriteString(first)
	for word := range strings.SplitSeq(rest, "_") {
		if word == "" || word[0] < 'a' || word[0] > 'z' {
			return name
		}
		out.WriteByte(word[0] - 'a' + 'A')
		out.WriteString(word[1:])
	}
	return out.String()
}

// clip bounds what is repeated of a caller's words.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// assign fills a request with fields that have been checked.
func assign(fields map[string]any, schema json.RawMessage) runRequest {
	f := checked(fields)
	return runRequest{
		Prompt:             f.text("prompt"),
		Workspace:          f.text("workspace"),
		Model:              f.text("model"),
		SystemPrompt:       f.text("systemPrompt"),
		AppendSystemPrompt: f.text("appendSystemPrompt"),
		EventMode:          f.text("eventMode"),
		OutputFormat:       f.text("outputFormat"),
		NoContinue:         f.flag("noContinue"),
		Resume:             f.text("resume"),
		Async:              f.flag("async"),
		FireAndForget:      f.flag("fireAndForget"),
		TimeoutSeconds:     f.number("timeoutSeconds"),
		Thinking:           f.text("thinking"),
		ToolsAllowlist:     f.list("toolsAllowlist"),
		NoTools:            f.flag("noTools"),
		ExtraArgs:          f.list("extraArgs"),
		IncludeRaw:         f.flag("includeRaw"),
		WaitSeconds:        f.number("waitSeconds"),
		schema:             schema,
	}
}

// checked are the fields of a body that satisfies its schema: a field is of its
// type, null, or not there.
type checked map[string]any

func (c checked) text(name string) string { s, _ := c[name].(string); return s }

func (c checked) flag(name string) bool { b, _ := c[name].(bool); return b }

func (c checked) number(name string) int64 { n, _ := c[name].(float64); return int64(n) }

func (c checked) list(name string) []string {
	values, ok := c[name].([]any)
	if !ok {
		return nil
	}
	words := make([]string, 0, len(values))
	for _, v := range values {
		word, _ := v.(string)
		words = append(words, word)
	}
	return words
}

// request is what the runner is asked.
func (q runRequest) request() aicodebox.Request {
	return aicodebox.Request{
		Prompt:       q.Prompt,
		Workspace:    q.Workspace,
		Model:        q.Model,
		Effort:       q.Thinking,
		System:       q.SystemPrompt,
		AppendSystem: q.AppendSystemPrompt,
		Schema:       q.schema,
		Format:       q.format(),
		Resume:       q.Resume,
		Fresh:        q.NoContinue,
		Tools:        q.ToolsAllowlist,
		NoTools:      q.NoTools,
		ExtraArgs:    q.ExtraArgs,
		Timeout:      time.Duration(q.TimeoutSeconds) * time.Second,
	}
}

// format is the kind of output the agent is asked for: records are wanted
// wherever the answer may hold them.
func (q runRequest) format() aicodebox.Format {
	switch {
	case q.schema != nil || q.EventMode == eventsFull:
		return aicodebox.FormatVerbose
	case q.OutputFormat != "":
		return aicodebox.Format(q.OutputFormat)
	}
	return aicodebox.FormatText
}

// detached tells whether the run goes on in the background.
func (q runRequest) detached() bool { return q.Async || q.FireAndForget }

// hash identifies what is asked, whatever the order and spelling of its names.
func (q runRequest) hash() string {
	return digest(q, q.schema)
}
