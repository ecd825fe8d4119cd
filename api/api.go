// Package api is the run API: the surface that programs use to ask the box for
// runs and to exchange files with it, over HTTP and JSON.
//
//	aicodebox.Run(adapter, api.Surface())
//
// It is on with AICODEBOX_API_MODE=1 and answers
//
//	POST /run                 one prompt, waited for or in the background
//	GET /run/result           what became of a run
//	GET /run/{id}/events      what an agent tells, as it tells it
//	DELETE /run/{id}          end a run of any surface
//	GET /status               what the box is doing
//	GET PUT DELETE /files     the files of all workspaces
//	GET /healthz              whether the box takes work
//	GET /openapi.json /docs   the description of all this, and a page to try it
//
// Errors are application/problem+json (RFC 9457). Other surfaces are seated on
// the same server: the OpenAI endpoint, MCP, the scheduler's routes.
//
// Every route is one line of a table (see routes): from it come the router and
// the OpenAPI document, so that neither can lack what the other has. Requests
// are checked against the schemas of that document.
package api

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/runner"
)

// Surface links the run API. It is served when AICODEBOX_API_MODE is on.
func Surface() aicodebox.Option { return aicodebox.Seat(&surface{}) }

var (
	_ aicodebox.SettingsSurface = (*surface)(nil)
	_ aicodebox.MountSurface    = (*surface)(nil)
	_ aicodebox.CommandSurface  = (*surface)(nil)
)

// surface is the run API of one box.
type surface struct {
	box      *aicodebox.Box
	host     string
	port     int64
	portName string // the variable that sets port
	token    string
	upload   int64 // bytes
	cors     []string
	seats    []seat

	doc    *document
	claims claims
	stall  time.Duration       // how long a request's body may bring nothing
	beat   time.Duration       // between the signs of life of an event stream
	listen func(addr net.Addr) // called once the port is open; for tests
}

// The limits that are not settings.
const (
	maxJSON = 16 << 20 // bytes of a JSON body
	stall   = time.Minute
	beat    = 15 * time.Second
)

// Mode answers to AICODEBOX_API_MODE.
func (s *surface) Mode() string { return "API" }

// Settings declares the variables of the run API.
func (s *surface) Settings(set aicodebox.Settings) {
	s.host = set.String("API_MODE_HOST", "", "address the API listens on; empty means all")
	s.port = set.Int("API_MODE_PORT", 8080, 0, 65535, "port the API listens on; 0 picks a free one")
	s.portName = set.Name("API_MODE_PORT")
	s.token = set.Secret("API_MODE_TOKEN", "bearer token that callers must send; without one the API is open")
	s.cors = set.List("API_MODE_CORS_ORIGINS", "origins whose pages may call the API, as scheme://host[:port], or *")
	s.upload = set.Int("API_MODE_MAX_UPLOAD_BYTES", 1<<30, 1, 1<<50, "largest file that PUT /files takes, in bytes")
	for _, origin := range s.cors {
		if !isOrigin(origin) {
			set.Errorf("API_MODE_CORS_ORIGINS", "has %q; it accepts origins such as https://app.example:8443, or *", origin)
		}
	}
}

// isOrigin tells whether s is what a browser sends as Origin.
func isOrigin(s string) bool {
	if s == "*" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != "" && strings.Trim(u.Path, "/") == "" &&
		u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

// Init keeps the box.
func (s *surface) Init(box *aicodebox.Box) error {
	s.box, s.stall, s.beat = box, stall, beat
	return nil
}

// Mount seats the handler of another surface; see httpd.Seat and
// httpd.Patterns for what it can bring.
func (s *surface) Mount(pattern string, h http.Handler) {
	s.seats = append(s.seats, newSeat(pattern, h))
}

// Serve answers requests until ctx is done and what is in hand is answered.
func (s *surface) Serve(ctx context.Context) error {
	opened := make(chan error, 1)
	go func() { opened <- runner.Open(s.box) }() // beside the document, which takes as long
	handler := s.handler()
	if err := <-opened; err != nil {
		return err
	}
	ln, err := httpd.Listen(ctx, s.host, s.port, s.portName)
	if err != nil {
		return err
	}
	s.announce(ln.Addr())
	server := httpd.Server{Handler: handler, Log: s.box.Log(), Brief: httpd.IsHealth}
	return server.Serve(ctx, s.box.Work(), ln)
}

func (s *surface) announce(addr net.Addr) {
	log := s.box.Log()
	log.Info("the API listens", "address", addr.String())
	if s.token == "" {
		log.Warn("THE API IS OPEN: anyone who can reach the port can run the agent and read the workspaces; set AICODEBOX_API_MODE_TOKEN", "address", addr.String())
	}
	if s.listen != nil {
		s.listen(addr)
	}
}

// handler builds all that the server answers.
func (s *surface) handler() http.Handler {
	return httpd.Observe(s.box.Log(), s.fail)(
		httpd.CORS(s.cors)(
			httpd.Progress(s.stall)(
				s.router())))
}
