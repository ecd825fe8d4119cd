package api

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// runAnswer documents what POST /run and GET /run/result answer. It is written
// by an answer, member by member; TestAnswer holds the two together.
type runAnswer struct {
	_             struct{}        `additionalProperties:"true"`
	RunID         string          `json:"runId" doc:"Id of the run." example:"0198c1f2-7a64-7cc0-9c1e-1f0b7c1d2e3f"`
	Workspace     string          `json:"workspace" doc:"Absolute path of the directory the agent ran in." example:"/workspace/project-a"`
	Status        string          `json:"status,omitempty" enum:"waiting,running,completed,failed,cancelled" doc:"Where the run stands. In answers about background runs: completed means that the agent ended by itself, whatever its exit code; failed a timeout, a restart of the box, or an agent that could not start." example:"completed"`
	FireAndForget *bool           `json:"fireAndForget,omitempty" doc:"Only in the immediate answer to a background run." example:"false"`
	Error         string          `json:"error,omitempty" doc:"Why the run failed: timeout, interrupted by restart, or a sentence." example:"timeout"`
	ExitCode      *int            `json:"exitCode,omitempty" doc:"Of the agent: 124 timed out, 127 not found, 128+n killed by signal n." example:"0"`
	Text          *string         `json:"text,omitempty" doc:"The answer." example:"README.md explains the project."`
	Events        []runner.Record `json:"events,omitempty" nullable:"false" doc:"The agent's records, of all attempts; see eventMode."`
	SessionID     string          `json:"sessionId,omitempty" doc:"Session that a later run may resume. With a jsonSchema." example:"0b3c2f1e"`
	Usage         *usage          `json:"usage,omitempty" doc:"Tokens and cost, summed over the attempts, where the agent tells. With a jsonSchema."`
	Attempts      []attempt       `json:"attempts,omitempty" nullable:"false" doc:"Each process of the run. With a jsonSchema."`
	JSON          any             `json:"json,omitempty" doc:"The value that satisfies the jsonSchema."`
	ParseError    string          `json:"parseError,omitempty" doc:"In place of json: what is wrong with the last attempt's answer." example:"/count: expected integer"`
	JSONRetries   int             `json:"jsonRetries,omitempty" doc:"How often an answer was asked again, where it was." example:"1"`
	JSONRepaired  bool            `json:"jsonRepaired,omitempty" doc:"A trailing comma was dropped to read the answer." example:"true"`
	ProviderError *providerError  `json:"providerError,omitempty" doc:"The model provider refused or failed. The agent may have exited with 0 all the same."`
	Stdout        *string         `json:"stdout,omitempty" doc:"What the last attempt printed. With includeRaw." example:"README.md explains the project.\n"`
	Stderr        *string         `json:"stderr,omitempty" doc:"With includeRaw, or when exitCode is not 0." example:""`
}

// providerError is how the API tells of an aicodebox.ProviderError.
type providerError struct {
	_         struct{} `additionalProperties:"true"`
	Message   string   `json:"message" doc:"The provider's words." example:"rate limit reached"`
	Status    int      `json:"status,omitempty" doc:"Its HTTP status, where known." example:"429"`
	Retryable bool     `json:"retryable" doc:"Whether the same request may work later." example:"true"`
}

// leftBehind is a process that outlived its run.
type leftBehind struct {
	PID     int    `json:"pid" doc:"Process id, as the box sees it." example:"4711"`
	Command string `json:"command" doc:"Its program." example:"node"`
}

// usage documents aicodebox.Usage.
type usage struct {
	_            struct{} `additionalProperties:"true"`
	InputTokens  int64    `json:"input_tokens" doc:"Tokens of the prompt, cached ones left out." example:"1200"`
	OutputTokens int64    `json:"output_tokens" doc:"Tokens of the answer." example:"85"`
	CacheRead    int64    `json:"cache_read_tokens,omitempty" doc:"Tokens read from the provider's cache." example:"8000"`
	CacheWrite   int64    `json:"cache_write_tokens,omitempty" doc:"Tokens written to it." example:"0"`
	Reasoning    int64    `json:"reasoning_tokens,omitempty" doc:"The part of the answer that was thinking." example:"40"`
	Cost         float64  `json:"cost,omitempty" doc:"Price, usually in US dollars." example:"0.0123"`
}

// attempt documents runner.Attempt.
type attempt struct {
	Index      int     `json:"index" doc:"From 0." example:"0"`
	Usage      *usage  `json:"usage" doc:"Null when the agent did not tell."`
	ExitCode   int     `json:"exitCode" doc:"Of this process." example:"0"`
	ParseError *string `json:"parseError" doc:"What was wrong with its answer; null when nothing was." example:"/count: expected integer"`
}

// answer is a finished run on its way to a caller.
type answer struct {
	result  runner.Result
	shape   shape
	status  bool // tell status and error, as GET /run/result does
	records iter.Seq2[runner.Record, error]
}

func (s *surface) answerOf(ctx context.Context, r runner.Result, sh shape) answer {
	return answer{result: r, shape: sh, records: runner.Records(ctx, s.box, r.ID, -1)}
}

// send writes a as the body of a 200, each part as it is encoded.
func (a answer) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	j := newJSONWriter(w)
	j.open('{')
	a.head(j)
	if a.shape.events() {
		a.events(j)
	}
	if a.shape.Schema {
		a.structured(j)
	}
	a.tail(j)
	j.closing('}')
	j.put('\n')
	if j.end() != nil {
		// What has been sent is not a whole answer: say so by cutting it.
		panic(http.ErrAbortHandler)
	}
}

func (a answer) head(j *jsonWriter) {
	r := a.result
	j.text("runId", r.ID)
	j.text("workspace", r.Workspace)
	if a.status {
		j.text("status", string(r.Status))
	}
	if r.Error != "" {
		j.text("error", r.Error)
	}
	j.value("exitCode", r.ExitCode)
	j.text("text", r.Text)
}

func (a answer) events(j *jsonWriter) {
	j.name("events")
	j.open('[')
	for record, err := range a.records {
		if err != nil {
			j.err = err
			break
		}
		j.next()
		j.element(record)
	}
	j.closing(']')
}

// structured writes what a run with a schema adds.
func (a answer) structured(j *jsonWriter) {
	r := a.result
	if r.SessionID != "" {
		j.text("sessionId", r.SessionID)
	}
	if r.Usage != nil {
		j.value("usage", r.Usage)
	}
	attempts := r.Attempts
	if attempts == nil {
		attempts = []runner.Attempt{}
	}
	j.value("attempts", attempts)
	if r.JSON != nil {
		j.value("json", r.JSON)
	} else if r.ParseError != "" {
		j.text("parseError", r.ParseError)
	}
	if n := len(attempts) - 1; n > 0 {
		j.value("jsonRetries", n)
	}
	if r.Repaired {
		j.value("jsonRepaired", true)
	}
}

func (a answer) tail(j *jsonWriter) {
	r := a.result
	if p := r.Provider; p != nil {
		j.value("providerError", wireProvider(p))
	}
	if a.shape.Raw {
		j.bytes("stdout", r.Stdout)
	}
	if a.shape.Raw || r.ExitCode != 0 {
		j.bytes("stderr", r.Stderr)
	}
}

func wireProvider(p *aicodebox.ProviderError) providerError {
	return providerError{Message: p.Message, Status: p.Status, Retryable: p.Retryable}
}

func left(processes []ledger.Process) []leftBehind {
	out := make([]leftBehind, 0, len(processes))
	for _, p := range processes {
		out = append(out, leftBehind{PID: p.PID, Command: p.Command})
	}
	return out
}

// writeJSON answers with a small value.
func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // of our own types only
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}
