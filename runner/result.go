package runner

import (
	"encoding/json"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
)

// Result is how a run ended: the engine's view, over all its attempts.
//
// A run that ended in any way at all is a Result; whether it is a success is
// told by OK.
type Result struct {
	ID        string        `json:"id"`
	Workspace string        `json:"workspace"` // absolute
	Status    ledger.Status `json:"status"`    // completed, failed or cancelled
	Error     string        `json:"error,omitempty"`
	ExitCode  int           `json:"exitCode"` // of the last attempt; 124 timeout, 127 not found, 128+n signal

	Text       string               `json:"text"` // the last attempt's answer
	Stop       aicodebox.StopReason `json:"stop,omitempty"`
	JSON       json.RawMessage      `json:"json,omitempty"` // validated against the request's schema; nil if none
	Repaired   bool                 `json:"repaired,omitempty"`
	ParseError string               `json:"parseError,omitempty"` // why the last attempt's answer did not satisfy the schema
	SessionID  string               `json:"sessionId,omitempty"`
	Usage      *aicodebox.Usage     `json:"usage,omitempty"` // summed over the attempts; nil when the agent did not tell
	Provider   *ProviderError       `json:"provider,omitempty"`
	Attempts   []Attempt            `json:"attempts,omitempty"`
	Stdout     []byte               `json:"-"` // of the last attempt, with a marked gap when very long
	Stderr     []byte               `json:"-"`
	Background []ledger.Process     `json:"background,omitempty"` // left running on purpose
	Notes      []string             `json:"notes,omitempty"`      // what the engine did that a person should know
	Created    time.Time            `json:"created"`
	Ended      time.Time            `json:"ended"`
}

// ProviderError is the model provider's refusal as the adapter read it.
type ProviderError = aicodebox.ProviderError

// Attempt is one process of a run.
type Attempt struct {
	Index      int              `json:"index"`
	Usage      *aicodebox.Usage `json:"usage"`
	ExitCode   int              `json:"exitCode"`
	ParseError *string          `json:"parseError"`
}

// OK tells whether the run is a success: the agent ended by itself with exit
// code 0, the provider did not refuse, and the schema, if any, is satisfied.
func (r Result) OK() bool {
	return r.Status == ledger.Completed && r.ExitCode == 0 && r.Provider == nil &&
		r.ParseError == "" && r.Error == ""
}

// TimedOut tells whether an attempt was ended by its time limit.
func (r Result) TimedOut() bool { return r.Error == ErrorTimeout }

// ErrorTimeout is Result.Error of a run that hit its time limit.
const ErrorTimeout = "timeout"
