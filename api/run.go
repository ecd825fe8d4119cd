package api

import (
	"errors"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/runner"
)

// surfaceName is the API's name in records and logs.
const surfaceName = "api"

// started is the answer to a run that goes on in the background, and to one
// that is not finished yet.
type started struct {
	RunID         string `json:"runId"`
	Workspace     string `json:"workspace"`
	Status        string `json:"status"`
	Error         string `json:"error,omitempty"`
	FireAndForget *bool  `json:"fireAndForget,omitempty"`
	Waiting       bool   `json:"waiting,omitempty"`
}

// postRun answers one prompt, or begins to.
func (s *surface) postRun(w http.ResponseWriter, r *http.Request) {
	q, err := s.readRun(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	key, err := keyOf(r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if key == "" {
		s.run(w, r, q)
		return
	}
	s.runOnce(w, r, q, key)
}

// readRun reads and checks the body.
func (s *surface) readRun(w http.ResponseWriter, r *http.Request) (runRequest, error) {
	if err := jsonType(r); err != nil {
		return runRequest{}, err
	}
	body, err := httpd.ReadBody(w, r, maxJSON)
	if err != nil {
		return runRequest{}, bodyError(err)
	}
	q, err := decodeRun(body, s.doc.registry, s.doc.runRequest)
	if err != nil {
		return runRequest{}, err
	}
	if path.IsAbs(q.Workspace) {
		return runRequest{}, &badBody{
			400, "body.workspace: give a path relative to the workspace root, not an absolute one",
			[]httpd.FieldError{{Location: "body.workspace", Message: "expected relative path"}},
		}
	}
	return q, nil
}

// jsonType refuses a body that does not claim to be JSON. The claim keeps
// pages of other origins from posting without a preflight.
func jsonType(r *http.Request) error {
	kind := r.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(kind)
	if err == nil && (media == "application/json" || strings.HasSuffix(media, "+json")) {
		return nil
	}
	detail := "send the body with the header `Content-Type: application/json`"
	if kind != "" {
		detail += ", not " + clip(kind)
	}
	return errors.Join(&badBody{status: http.StatusUnsupportedMediaType, detail: detail}, errUnread)
}

// bodyError tells a body that broke off from one that is refused.
func bodyError(err error) error {
	var large *httpd.TooLargeError
	if errors.As(err, &large) || errors.Is(err, httpd.ErrStalled) {
		return err
	}
	return errors.Join(&badBody{status: http.StatusBadRequest, detail: "the body could not be read to its end"}, errUnread)
}

// options are what the API asks of every run.
func (q runRequest) options() []runner.Option {
	opts := []runner.Option{
		runner.Surface(surfaceName),
		runner.Wait(time.Duration(q.WaitSeconds) * time.Second),
		runner.Meta(q.shape().meta()),
	}
	if q.IncludeRaw {
		opts = append(opts, runner.Raw())
	}
	return opts
}

// run asks the runner and answers with what it says.
func (s *surface) run(w http.ResponseWriter, r *http.Request, q runRequest, opts ...runner.Option) {
	if err := s.tryRun(w, r, q, opts...); err != nil {
		s.refuse(w, r, err)
	}
}

// tryRun answers when there is a result, and returns the error when there is none.
func (s *surface) tryRun(w http.ResponseWriter, r *http.Request, q runRequest, opts ...runner.Option) error {
	opts = append(q.options(), opts...)
	if q.detached() {
		info, err := runner.Start(r.Context(), s.box, q.request(), opts...)
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, started{
			RunID: info.ID, Workspace: info.Workspace, Status: running, FireAndForget: &q.FireAndForget,
		})
		return nil
	}
	result, err := runner.Run(r.Context(), s.box, q.request(), opts...)
	if err != nil {
		return err
	}
	s.answerOf(r.Context(), result, q.shape()).send(w)
	return nil
}

// running is the status of a run in flight, as clients know it.
const running = "running"
