package openai

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// headerPrefix begins the headers that say what a chat's body cannot. Clients
// of an earlier product send them under oldPrefix.
const (
	headerPrefix = "x-aicodebox-"
	oldPrefix    = "x-claude-"
)

// options are what the headers of a chat say.
type options struct {
	workspace    string
	continues    bool // go on with the workspace's last session
	resume       string
	appendSystem string
	extraArgs    []string
	timeout      time.Duration
	tools        []string // nil for all
	noTools      *bool    // nil when not said
	format       format   // of the schema header
}

// headers reads the options among a request's headers.
type headers struct{ http.Header }

// readOptions reads the headers. A bad value is a failure that names its
// header; an empty one counts as not sent.
func readOptions(h http.Header) (options, error) {
	var o options
	in := headers{h}
	for _, read := range []func(headers) error{
		o.readWorkspace, o.readSession, o.readTimeout, o.readTools, o.readSchema,
	} {
		if err := read(in); err != nil {
			return options{}, err
		}
	}
	return o, nil
}

// text returns a header's value as UTF-8; bytes that are not are taken for
// Latin-1, which some clients send.
func (h headers) text(name string) string {
	value := strings.TrimSpace(h.Get(headerPrefix + name))
	if value == "" {
		value = strings.TrimSpace(h.Get(oldPrefix + name))
	}
	if utf8.ValidString(value) {
		return value
	}
	runes := make([]rune, len(value))
	for i := range len(value) {
		runes[i] = rune(value[i])
	}
	return string(runes)
}

// flag returns nil for a header that was not sent.
func (h headers) flag(name string) (*bool, error) {
	switch strings.ToLower(h.text(name)) {
	case "":
		return nil, nil
	case "1", "true", "yes", "on":
		return new(true), nil
	case "0", "false", "no", "off":
		return new(false), nil
	}
	return nil, badField(headerPrefix+name, "%q is not a switch; use 1 or 0", clip(h.text(name), 100))
}

// words reads a JSON list of strings, or words separated by commas.
func (h headers) words(name string) ([]string, error) {
	text := h.text(name)
	switch {
	case text == "":
		return nil, nil
	case strings.HasPrefix(text, "["):
		var list []*string
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, badField(headerPrefix+name, "it is not a JSON list of strings")
		}
		out := make([]string, len(list))
		for i, word := range list {
			if word == nil {
				return nil, badField(headerPrefix+name, "it is not a JSON list of strings")
			}
			out[i] = *word
		}
		return out, nil
	}
	var out []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out, nil
}

func (o *options) readWorkspace(h headers) error {
	o.workspace = h.text("workspace")
	if o.workspace != "" && !filepath.IsLocal(o.workspace) {
		return badField(headerPrefix+"workspace", "%q is not a relative path below the root of all workspaces", clip(o.workspace, 200))
	}
	return nil
}

func (o *options) readSession(h headers) error {
	o.resume = h.text("resume")
	o.appendSystem = h.text("append-system-prompt")
	on, err := h.flag("continue")
	if err != nil {
		return err
	}
	o.continues = on != nil && *on
	return nil
}

// maxTimeout is the longest time limit, in seconds: a year.
const maxTimeout = 365 * 24 * 3600

func (o *options) readTimeout(h headers) error {
	const name = "timeout-seconds"
	text := h.text(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxTimeout {
		return badField(headerPrefix+name, "%q is not a whole number of seconds from 1 to %d", clip(text, 100), maxTimeout)
	}
	o.timeout = time.Duration(n) * time.Second
	return nil
}

func (o *options) readTools(h headers) (err error) {
	if o.extraArgs, err = h.words("extra-args"); err != nil {
		return err
	}
	if o.tools, err = h.words("tools-allowlist"); err != nil {
		return err
	}
	o.noTools, err = h.flag("no-tools")
	return err
}

func (o *options) readSchema(h headers) error {
	const name = headerPrefix + "json-schema"
	text := h.text("json-schema")
	if text == "" {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return badField(name, "it is not a JSON Schema, which is a JSON object")
	}
	o.format = format{json.RawMessage(text)}
	return checkSchema(name, o.format)
}
