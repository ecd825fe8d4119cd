package api

import (
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// cancelled is the answer to DELETE /run/{id}.
type cancelled struct {
	RunID  string `json:"runId" doc:"Id of the run." example:"0198c1f27a647cc09c1e1f0b7c1d2e3f"`
	Status string `json:"status" enum:"completed,failed,cancelled" doc:"cancelled, or how the run had ended before." example:"cancelled"`
}

// getResult tells what became of a run.
func (s *surface) getResult(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !query.Has("runId") {
		fault := httpd.FieldError{Location: "query.runId", Message: "required query parameter is missing"}
		s.refuse(w, r, &badBody{http.StatusUnprocessableEntity, "query.runId: give the id of a run, as POST /run answered it", []httpd.FieldError{fault}})
		return
	}
	info, err := runner.Lookup(r.Context(), s.box, query.Get("runId"))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if !info.Status.Final() {
		writeJSON(w, http.StatusOK, progress(info))
		return
	}
	if info.Started.IsZero() || info.Error == ledger.Interrupted {
		writeJSON(w, http.StatusOK, progress(info)) // there is no more to tell
		return
	}
	result, err := runner.ResultOf(r.Context(), s.box, info.ID)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	answer := s.answerOf(r.Context(), result, shapeOf(info.Meta))
	answer.status = true
	answer.send(w)
}

// progress is what can be said of a run without its result. A run that waits
// for its turn is running to clients, which ask again for as long as it is.
func progress(info runner.Info) started {
	p := started{RunID: info.ID, Workspace: info.Workspace, Status: string(info.Status), Error: info.Error}
	if info.Status == ledger.Waiting {
		p.Status, p.Waiting = running, true
	}
	return p
}

// deleteRun ends a run of any surface and waits until it is gone.
func (s *surface) deleteRun(w http.ResponseWriter, r *http.Request) {
	info, err := runner.Cancel(r.Context(), s.box, lastSegment(r), "it was cancelled over the API")
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, cancelled{RunID: info.ID, Status: string(info.Status)})
}

// lastSegment is the run's id in /run/{id}.
func lastSegment(r *http.Request) string { return path.Base(r.URL.Path) }

// statusAnswer is the answer to GET /status.
type statusAnswer struct {
	_              struct{}    `additionalProperties:"true"`
	Name           string      `json:"name" doc:"The box's name." example:"aicodebox"`
	Version        string      `json:"version" doc:"The version of the program." example:"1.0.0"`
	Adapter        string      `json:"adapter" doc:"The agent behind the box." example:"pi"`
	Draining       bool        `json:"draining" doc:"True while the box shuts down." example:"false"`
	BusyWorkspaces []string    `json:"busyWorkspaces" nullable:"false" doc:"Absolute paths of the workspaces in which a run is in flight." example:"[\"/workspace/project-a\"]"`
	Runs           []runStatus `json:"runs" nullable:"false" doc:"Runs in flight and waiting, oldest first; then finished ones that left processes running."`
}

// runStatus is one run in GET /status.
type runStatus struct {
	_          struct{}     `additionalProperties:"true"`
	RunID      string       `json:"runId" doc:"Id of the run." example:"0198c1f27a647cc09c1e1f0b7c1d2e3f"`
	Surface    string       `json:"surface" doc:"The surface that asked." example:"api"`
	Workspace  string       `json:"workspace" doc:"Absolute path of the directory it runs in." example:"/workspace/project-a"`
	Status     string       `json:"status" enum:"waiting,running,completed,failed,cancelled" doc:"Where it stands." example:"running"`
	Age        float64      `json:"age" doc:"Seconds since it was asked for." example:"12.5"`
	Created    time.Time    `json:"created" doc:"When it was asked for."`
	Background []leftBehind `json:"background,omitempty" nullable:"false" doc:"Processes it left running on purpose; DELETE /run/{id} ends them."`
}

// getStatus tells what the box is doing.
func (s *surface) getStatus(w http.ResponseWriter, r *http.Request) {
	infos, err := runner.List(r.Context(), s.box)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	answer := statusAnswer{
		Name: s.box.Name(), Version: s.box.Version(), Adapter: s.box.Agent().Name,
		Draining: closed(s.box.Draining()), BusyWorkspaces: []string{}, Runs: []runStatus{},
	}
	for _, info := range infos {
		if info.Status == ledger.Running {
			answer.BusyWorkspaces = append(answer.BusyWorkspaces, info.Workspace)
		}
		answer.Runs = append(answer.Runs, statusOf(info))
	}
	writeJSON(w, http.StatusOK, answer)
}

func statusOf(info runner.Info) runStatus {
	age := time.Since(info.Created).Round(time.Millisecond).Seconds()
	return runStatus{
		RunID: info.ID, Surface: info.Surface, Workspace: info.Workspace, Status: string(info.Status),
		Age: age, Created: info.Created.UTC(), Background: left(info.Background),
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// eventsRun is the run's id in /run/{id}/events.
func eventsRun(r *http.Request) string {
	return path.Base(strings.TrimSuffix(r.URL.Path, "/events"))
}
