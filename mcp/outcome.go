package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// outcome is what run_prompt and get_run answer.
type outcome struct {
	ID        string           `json:"run_id"`
	Status    ledger.Status    `json:"status"`
	Result    *string          `json:"result,omitempty"`
	JSON      json.RawMessage  `json:"json,omitempty"`
	Workspace *string          `json:"workspace,omitempty"`
	ExitCode  *int             `json:"exit_code,omitempty"`
	Session   string           `json:"session_id,omitempty"`
	Usage     *aicodebox.Usage `json:"usage,omitempty"`
	Error     string           `json:"error,omitempty"`
	Stderr    string           `json:"stderr,omitempty"`
	Seconds   float64          `json:"seconds,omitempty"`
}

// report makes the answer of a run that has ended. What a caller cannot take
// for the agent's answer is an error, with what there is.
func (s *surface) report(id string, r runner.Result, err error) (output, error) {
	var cancelled *runner.CancelledError
	switch {
	case errors.As(err, &cancelled):
		r = cancelled.Result
		r.ID, r.Status, r.Error = id, ledger.Cancelled, cancelled.Reason
	case err != nil && r.Status == "":
		return output{}, s.refusal(id, err)
	case err != nil:
		r.Error = err.Error()
	}
	o := s.outcome(r)
	if r.OK() {
		return output{data: o, text: answer(o)}, nil
	}
	o.Error = complaint(r)
	return output{data: o, text: failure(o), isError: true}, nil
}

// refusal says what to do about a run that never began.
func (s *surface) refusal(id string, err error) error {
	var refused *runner.RefusedError
	var state *runner.StateError
	switch {
	case errors.Is(err, runner.ErrDraining), errors.As(err, &state):
		return err
	case errors.As(err, &refused):
		return errors.New(refused.Reason)
	case errors.Is(err, runner.ErrQueueFull):
		return errors.New("too many runs are waiting; call again later, or name another workspace")
	case errors.Is(err, runner.ErrBusy):
		return errors.New("the workspace is busy with another run; call again later, or name another workspace")
	}
	s.box.Log().Error("a run over MCP could not begin", "run", id, "error", err)
	return fmt.Errorf("the box could not begin the run; its log has the cause under run %s", id)
}

// outcome tells what became of a run.
func (s *surface) outcome(r runner.Result) outcome {
	o := outcome{
		ID: r.ID, Status: r.Status, Result: &r.Text, JSON: r.JSON, ExitCode: &r.ExitCode,
		Workspace: s.relative(r.Workspace), Session: r.SessionID, Usage: r.Usage,
	}
	if r.JSON != nil {
		text := string(r.JSON)
		o.Result = &text
	}
	if !r.OK() {
		o.Stderr = tail(string(r.Stderr))
	}
	if !r.Ended.IsZero() {
		o.Seconds = r.Ended.Sub(r.Created).Round(time.Millisecond).Seconds()
	}
	return o
}

// relative returns a workspace as the file tools name it, or nil for one that
// they do not reach.
func (s *surface) relative(dir string) *string {
	rel, err := filepath.Rel(s.box.Workspaces().Dir(), dir)
	if dir == "" || err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	if rel == "." {
		rel = "/"
	}
	return &rel
}

// answer is a run's answer for the model: the agent's words alone.
func answer(o outcome) string {
	if *o.Result == "" {
		return "(the agent ended without an answer)"
	}
	return *o.Result
}

// complaint is one sentence on what went wrong.
func complaint(r runner.Result) string {
	switch {
	case r.Status == ledger.Cancelled:
		return "the run was cancelled: " + r.Error
	case r.TimedOut():
		return "the agent was ended by its time limit; allow more with timeout_seconds, or ask for less at a time"
	case r.Provider != nil:
		text := "the model provider refused: " + r.Provider.Error()
		if r.Provider.Retryable {
			text += "; the same call may work later"
		}
		return text
	case r.ParseError != "":
		return "the agent's answer does not satisfy json_schema, also when asked again: " + r.ParseError
	case r.Error != "":
		return r.Error
	case r.ExitCode == 127:
		return "the agent's program was not found; the box has to be mended by its operator (box doctor)"
	}
	return fmt.Sprintf("the agent failed with exit code %d", r.ExitCode)
}

// failure is what the model gets to read of a run that failed.
func failure(o outcome) string {
	var b strings.Builder
	b.WriteString(capital(o.Error) + ".")
	if o.Stderr != "" {
		fmt.Fprintf(&b, "\n\nThe end of its standard error:\n%s", o.Stderr)
	}
	if o.Result != nil && *o.Result != "" {
		fmt.Fprintf(&b, "\n\nWhat it had answered:\n%s", *o.Result)
	}
	fmt.Fprintf(&b, "\n\n(run_id %s)", o.ID)
	return b.String()
}

// capital begins a sentence.
func capital(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// tailLength is how many bytes of a failed agent's standard error are shown.
const tailLength = 2000

func tail(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd"))
	if len(text) <= tailLength {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-tailLength:], "")
}

// unfinished is the answer for a run that goes on.
func unfinished(id string, waited time.Duration) output {
	return output{
		data: outcome{ID: id, Status: ledger.Running, Seconds: waited.Round(time.Millisecond).Seconds()},
		text: fmt.Sprintf("The agent is still working. run_id: %s\nCall get_run with this run_id to wait for its answer, or cancel_run to stop it. "+
			"Do not start the task again: an equal run_prompt joins this run.", id),
	}
}
