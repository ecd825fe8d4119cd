package cron

import (
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox/internal/httpd"
)

// routes.json describes the routes below, as a part of an OpenAPI document.
//
//go:embed routes.json
var routesDocument []byte

// Handler answers the scheduler's routes under the run API:
//
//	GET /cron/jobs               the jobs, when they run, and how they ran
//	POST /cron/jobs/{name}/run   runs one now
func (s *surface) Handler() (pattern string, h http.Handler) {
	return "/cron/", httpd.Seat{Handler: http.HandlerFunc(s.scheduler.route), Document: routesDocument}
}

// route finds what answers a request. The names of jobs need no escapes.
func (s *scheduler) route(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 2 && parts[1] == "jobs":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			s.listJobs(w, r)
		}
	case len(parts) == 4 && parts[1] == "jobs" && parts[3] == "run":
		if allow(w, r, http.MethodPost) {
			s.runJob(w, r, parts[2])
		}
	default:
		httpd.WriteProblem(w, r, http.StatusNotFound, "the scheduler has GET /cron/jobs and POST /cron/jobs/{name}/run")
	}
}

// allow refuses methods that a path does not take.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	httpd.WriteProblem(w, r, http.StatusMethodNotAllowed, "this path takes "+strings.Join(methods, ", "))
	return false
}

// jobView is a job as the API shows it.
type jobView struct {
	Name      string   `json:"name"`
	Schedule  string   `json:"schedule"`
	Timezone  string   `json:"timezone"`
	Enabled   bool     `json:"enabled"`
	Workspace string   `json:"workspace"`
	Misfire   policy   `json:"misfire"`
	Running   bool     `json:"running"`
	RunID     *string  `json:"runId"`   // of the run in hand
	NextRun   *string  `json:"nextRun"` // RFC 3339, on the clock of the job's zone
	LastRun   *runView `json:"lastRun"`
}

// runView is a run that has ended.
type runView struct {
	RunID      string  `json:"runId"`
	Status     string  `json:"status"`
	Trigger    trigger `json:"trigger"`
	StartedAt  string  `json:"startedAt"`
	FinishedAt string  `json:"finishedAt"`
	ExitCode   *int    `json:"exitCode"`
	Error      *string `json:"error"`
}

func (s *scheduler) listJobs(w http.ResponseWriter, _ *http.Request) {
	views := []jobView{}
	for _, j := range s.configuration().jobs {
		views = append(views, s.view(j))
	}
	answer(w, http.StatusOK, map[string]any{"jobs": views})
}

// view shows a job and what its state tells.
func (s *scheduler) view(j job) jobView {
	v := jobView{
		Name: j.name, Schedule: j.schedule.text, Timezone: j.schedule.zone.String(), Enabled: j.enabled,
		Workspace: j.workspace, Misfire: j.misfire,
	}
	if j.enabled {
		v.NextRun = orNull(stamp(j.schedule.next(s.now()), j.schedule.zone))
	}
	m, err := s.store.read(j.name)
	if err != nil {
		s.log.Error("the state of a job cannot be shown", "job", j.name, "error", err)
		return v
	}
	if m.Running != nil {
		v.Running, v.RunID = true, &m.Running.RunID
	}
	if n := m.Newest; n != nil {
		v.LastRun = &runView{n.RunID, n.Status, n.Trigger, n.FiredAt, n.FinishedAt, n.ExitCode, orNull(n.Error)}
	}
	return v
}

func (s *scheduler) runJob(w http.ResponseWriter, r *http.Request, name string) {
	j, ok := s.configuration().find(name)
	if !ok {
		httpd.WriteProblem(w, r, http.StatusNotFound, "there is no job of this name; GET /cron/jobs lists them")
		return
	}
	e, err := s.lane(j).begin(j, byHand, time.Time{})
	switch {
	case errors.Is(err, errHeld):
		httpd.WriteProblem(w, r, http.StatusConflict, "the job runs already; GET /cron/jobs tells when it has ended")
	case errors.Is(err, errStopping):
		w.Header().Set("Retry-After", "10")
		httpd.WriteProblem(w, r, http.StatusServiceUnavailable, "the scheduler takes no work now: the box starts or shuts down")
	case err != nil:
		s.log.Error("a job cannot be run", "job", name, "error", err)
		httpd.WriteProblem(w, r, http.StatusInternalServerError, "the state directory cannot keep the records of the run; see the box's log")
	default:
		answer(w, http.StatusAccepted, map[string]string{"job": name, "runId": e.record.runID, "status": "started"})
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
