package aicodebox

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// Adapter says how one agent is run. It is the whole of what an author must
// write: the command line for a request, and the reading of what came back.
//
// One value serves every surface for the life of the process, so both methods
// must be safe for concurrent use. Everything else an agent may need is a
// capability: an optional method listed below, each with a default that does
// the ordinary thing.
type Adapter interface {
	// BuildArgv returns the command line that answers req, program first.
	//
	// The prompt is written to the program's standard input unless one of the
	// returned words is exactly req.Prompt: then standard input is empty and
	// closed. One word may hold 128 KiB at most (Linux, MAX_ARG_STRLEN), so an
	// agent that reads standard input should be given the prompt there.
	//
	// An error refuses the request before anything starts; its text is shown
	// to the caller.
	BuildArgv(req Request) ([]string, error)

	// ParseOutput reads what that command printed, whether it ended well or
	// not: out may be empty, cut in the middle of a line, or not UTF-8. An
	// error means that the output cannot be read at all; its text is reported
	// as the run's error.
	ParseOutput(req Request, out Output) (Reply, error)
}

// Format is the kind of output the caller asked for.
type Format string

// The output kinds of a request.
const (
	FormatText    Format = "text"         // the answer's words
	FormatJSON    Format = "json"         // a JSON answer
	FormatVerbose Format = "json-verbose" // a JSON answer and the agent's records
)

// Request is one prompt and how the agent is to answer it. It is passed by
// value; an adapter may keep or change its copy, but not what its slices hold.
type Request struct {
	Prompt       string          // what is asked; never empty
	Workspace    string          // absolute directory the agent runs in
	Scratch      string          // absolute private directory, removed after the run
	Model        string          // one of the box's models, or empty for the agent's default
	Effort       string          // thinking level, or empty for the agent's default
	System       string          // replaces the agent's system prompt
	AppendSystem string          // is added to the system prompt
	Schema       json.RawMessage // JSON Schema the answer must satisfy, or nil
	Format       Format          // output kind
	Resume       string          // session id to go on with
	Fresh        bool            // start a new session instead of continuing the workspace's last
	Tools        []string        // allow-list of the agent's tools; nil allows all, empty allows none
	NoTools      bool            // the agent must use no tools
	Images       []string        // absolute paths of images; the prompt says where each belongs
	ExtraArgs    []string        // more words for the command line, as the caller wrote them
	Env          []string        // more environment variables, as NAME=value
	Timeout      time.Duration   // wall-clock limit of one attempt; 0 means none
}

// Output is what one process of an agent printed. Stdout and Stderr are the
// bytes as they came, except that a very long output has its middle replaced by
// a marked gap.
type Output struct {
	Stdout   []byte
	Stderr   []byte
	ExitCode int // 0-255; 124 timed out, 127 not found, 128+n killed by signal n
}

// StopReason tells why an answer ended. Empty means StopEnd.
type StopReason string

// The reasons an answer ends.
const (
	StopEnd    StopReason = "stop"           // the model was done
	StopLength StopReason = "length"         // an output limit was reached
	StopFilter StopReason = "content_filter" // the provider withheld the rest
)

// Reply is an adapter's reading of an Output.
type Reply struct {
	Text          string          // the answer
	Stop          StopReason      // why it ended
	JSON          json.RawMessage // the agent's own structured value, if it has one
	SessionID     string          // the session that a later Request may Resume
	Usage         *Usage          // nil when the agent did not tell
	ProviderError *ProviderError  // the model provider refused or failed
}

// ProviderError says that the model provider, not the agent, failed. An agent
// may exit 0 all the same; no surface presents such a run as a success.
type ProviderError struct {
	Message   string // the provider's words
	Status    int    // its HTTP status, or 0 when unknown
	Retryable bool   // the same request may work later
}

// Error returns the provider's message with its status where known.
func (e *ProviderError) Error() string {
	if e.Status == 0 {
		return "model provider: " + e.Message
	}
	return fmt.Sprintf("model provider answered %d: %s", e.Status, e.Message)
}

// Usage counts what an answer cost. Counts are tokens; Cost is in the
// currency of the provider's price list, usually US dollars.
type Usage struct {
	Input      int64          // tokens of the prompt that were not read from a cache
	Output     int64          // tokens of the answer, reasoning included
	CacheRead  int64          // tokens of the prompt read from the provider's cache
	CacheWrite int64          // tokens written to it
	Reasoning  int64          // the part of Output that was thinking
	Cost       float64        // price
	Extra      map[string]any // the agent's own counters, under its own names
}

// Add returns the sum of u and v. Numbers of Extra (float64, int64, int and
// json.Number) are added; of anything else the later value, v's, stays.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
		Cost:       u.Cost + v.Cost,
	}
	if u.Extra == nil && v.Extra == nil {
		return sum
	}
	sum.Extra = maps.Clone(u.Extra)
	if sum.Extra == nil {
		sum.Extra = make(map[string]any, len(v.Extra))
	}
	for name, value := range v.Extra {
		sum.Extra[name] = addExtra(sum.Extra[name], value)
	}
	return sum
}

func addExtra(a, b any) any {
	x, okX := number(a)
	y, okY := number(b)
	if !okX || !okY {
		return b
	}
	return x + y
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// MarshalJSON writes the counts under the names that clients of the run API
// know (input_tokens, output_tokens, ...); counts that are zero but for those
// two are left out, and Extra stands beside them.
func (u Usage) MarshalJSON() ([]byte, error) {
	fields := make(map[string]any, len(u.Extra)+7)
	maps.Copy(fields, u.Extra)
	fields["input_tokens"] = u.Input
	fields["output_tokens"] = u.Output
	for name, n := range map[string]int64{
		"cache_read_tokens":  u.CacheRead,
		"cache_write_tokens": u.CacheWrite,
		"reasoning_tokens":   u.Reasoning,
	} {
		if n != 0 {
			fields[name] = n
		}
	}
	if u.Cost != 0 {
		fields["cost"] = u.Cost
	}
	return json.Marshal(fields)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (u *Usage) UnmarshalJSON(data []byte) error {
	var known struct {
		Input      int64   `json:"input_tokens"`
		Output     int64   `json:"output_tokens"`
		CacheRead  int64   `json:"cache_read_tokens"`
		CacheWrite int64   `json:"cache_write_tokens"`
		Reasoning  int64   `json:"reasoning_tokens"`
		Cost       float64 `json:"cost"`
	}
	if err := json.Unmarshal(data, &known); err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	var extra map[string]any
	if err := json.Unmarshal(data, &extra); err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	for _, name := range []string{
		"input_tokens", "output_tokens", "cache_read_tokens",
		"cache_write_tokens", "reasoning_tokens", "cost",
	} {
		delete(extra, name)
	}
	if len(extra) == 0 {
		extra = nil
	}
	*u = Usage{
		Input: known.Input, Output: known.Output,
		CacheRead: known.CacheRead, CacheWrite: known.CacheWrite,
		Reasoning: known.Reasoning, Cost: known.Cost, Extra: extra,
	}
	return nil
}

// EventKind is what an Event tells.
type EventKind string

// The kinds of events.
const (
	EventText     EventKind = "text"     // Text is the next piece of the answer
	EventThinking EventKind = "thinking" // Text is the next piece of the model's reasoning
	EventTool     EventKind = "tool"     // Text is the name of the tool the agent uses
	EventSession  EventKind = "session"  // Text is the session id
	EventUsage    EventKind = "usage"    // Usage is what has been used since the last such event
	EventError    EventKind = "error"    // Text is what went wrong, as the agent told it
	EventDone     EventKind = "done"     // the answer is complete; the process may linger
	EventOther    EventKind = "other"    // a record that is none of these
)

// Event is one thing an agent told while it worked.
//
// The text events since the last tool event, joined, are the answer that
// ParseOutput returns, up to white space at either end. An agent that starts an
// answer anew after it has told a part of it (a retry) is the adapter's to hide,
// with an Answer: what was told is not told again.
type Event struct {
	Kind  EventKind
	Text  string
	Usage *Usage // of EventUsage
	Raw   []byte // the line it came from, without its line end; nil if it has none
}

// Description is what an adapter knows of its agent. Every field may be empty.
type Description struct {
	Name        string   // the agent's name: "pi"
	Binary      string   // name or path of its executable
	Models      []string // models it offers
	Efforts     []string // thinking levels it knows, from none to most
	Credentials []string // files and directories with its logins, ~ for the home directory
	State       []string // files and directories that must outlive a container

	// Images says that the model is shown Request.Images. Otherwise the agent
	// opens them with its own tools, from the paths that the prompt gives.
	Images bool
}
