package httpd

import (
	"encoding/json"
	"net/http"
)

// healthPath is where every server of the house answers health checks.
const healthPath = "/healthz"

// Health answers health checks.
type Health struct {
	Adapter  string          // the agent's name
	Version  string          // of the program
	Draining <-chan struct{} // closed when no new work is taken
}

// HealthAnswer is the body of a health check.
type HealthAnswer struct {
	OK      bool   `json:"ok" doc:"False while the box shuts down." example:"true"`
	Adapter string `json:"adapter" doc:"The agent behind the box." example:"pi"`
	Version string `json:"version" doc:"The version of the program." example:"1.0.0"`
}

// ServeHTTP answers 200, and 503 while the box drains.
func (h Health) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	answer := HealthAnswer{OK: true, Adapter: h.Adapter, Version: h.Version}
	status := http.StatusOK
	select {
	case <-h.Draining:
		answer.OK, status = false, http.StatusServiceUnavailable
	default:
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// IsHealth tells whether r is a health check: it needs no token and does not
// hold up the end of a server.
func IsHealth(r *http.Request) bool { return r.URL.Path == healthPath }
