package api

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/internal/workspace"
	"github.com/psyb0t/aicodebox/runner"
)

// refuse answers a request that got no result with the status and the words
// that err asks for. Errors of ours that are none of the known kinds go to the
// log, not to the caller.
func (s *surface) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // the caller has left
	}
	p := problemOf(err)
	switch p.Status {
	case http.StatusConflict:
		if errors.Is(err, runner.ErrBusy) {
			w.Header().Set("Retry-After", "1")
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	case http.StatusInternalServerError:
		s.box.Log().Error("a request failed", "request", httpd.RequestID(r.Context()), "path", r.URL.Path, "error", err)
		p.Detail = "the box could not do this; its log has the cause under request id " + httpd.RequestID(r.Context())
	}
	if !unread(err) {
		p.Write(w, r)
		return
	}
	httpd.Early(w, r, func() { p.Write(w, r) })
}

// unread tells of an error that left the request's body, or some of it, unread.
func unread(err error) bool {
	var large *httpd.TooLargeError
	return errors.As(err, &large) || errors.Is(err, workspace.ErrTooLarge) || errors.Is(err, httpd.ErrStalled) || errors.Is(err, errUnread)
}

// errUnread marks a refusal that was made without reading the body.
var errUnread = errors.New("the body was not read")

// problemOf finds the status and words for err.
func problemOf(err error) httpd.Problem {
	var (
		bad       *badBody
		large     *httpd.TooLargeError
		refused   *runner.RefusedError
		cancelled *runner.CancelledError
		state     *runner.StateError
		path      *workspace.PathError
	)
	switch {
	case errors.As(err, &bad):
		return httpd.Problem{Status: bad.status, Detail: bad.detail, Errors: bad.errors}
	case errors.As(err, &large):
		return httpd.Problem{Status: http.StatusRequestEntityTooLarge, Detail: large.Error()}
	case errors.Is(err, httpd.ErrStalled):
		return httpd.Problem{Status: http.StatusRequestTimeout, Detail: err.Error()}
	case errors.As(err, &refused):
		return refusedProblem(refused)
	case errors.Is(err, runner.ErrBusy):
		return httpd.Problem{Status: http.StatusConflict, Detail: "the workspace is busy with another run; send waitSeconds to wait for it, or use another workspace"}
	case errors.Is(err, runner.ErrQueueFull):
		return httpd.Problem{Status: http.StatusTooManyRequests, Detail: runner.ErrQueueFull.Error()}
	case errors.Is(err, aicodebox.ErrDraining):
		return httpd.Problem{Status: http.StatusServiceUnavailable, Detail: aicodebox.ErrDraining.Error()}
	case errors.As(err, &cancelled):
		return httpd.Problem{Status: http.StatusConflict, Detail: cancelled.Error(), RunID: cancelled.Result.ID}
	case errors.As(err, &state):
		return httpd.Problem{Status: http.StatusServiceUnavailable, Detail: state.Error()}
	case errors.Is(err, runner.ErrNotFound):
		return httpd.Problem{Status: http.StatusNotFound, Detail: "no run has this id; results are kept for six hours"}
	case errors.As(err, &path):
		return httpd.Problem{Status: pathStatus(path), Detail: path.Error()}
	}
	return httpd.Problem{Status: http.StatusInternalServerError}
}

// refusedProblem tells of a request that cannot be run.
func refusedProblem(e *runner.RefusedError) httpd.Problem {
	status := http.StatusUnprocessableEntity
	switch {
	case e.Field == "workspace":
		status = http.StatusBadRequest
	case e.TooLarge:
		status = http.StatusRequestEntityTooLarge
	}
	p := httpd.Problem{Status: status, Detail: e.Reason}
	if name := bodyName(e.Field); name != "" {
		p.Errors = []httpd.FieldError{{Location: "body." + name, Message: e.Reason}}
	}
	return p
}

// bodyName is the body's word for a field of a Request.
func bodyName(field string) string {
	if name, ok := bodyNames[field]; ok {
		return name
	}
	return field
}

// bodyNames are the body's words for fields that the runner calls otherwise.
var bodyNames = map[string]string{
	"effort":  "thinking",
	"schema":  "jsonSchema",
	"system":  "systemPrompt",
	"append":  "appendSystemPrompt",
	"tools":   "toolsAllowlist",
	"args":    "extraArgs",
	"timeout": "timeoutSeconds",
	"format":  "outputFormat",
}

// pathStatus is the status for what is wrong with a name under /files.
func pathStatus(err *workspace.PathError) int {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	case errors.Is(err, fs.ErrPermission):
		return http.StatusForbidden
	case errors.Is(err, workspace.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, workspace.ErrEscapes), errors.Is(err, workspace.ErrInvalid),
		errors.Is(err, workspace.ErrNotDir), errors.Is(err, workspace.ErrIsDir),
		errors.Is(err, workspace.ErrNotRegular):
		return http.StatusBadRequest
	case isFull(err):
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}
