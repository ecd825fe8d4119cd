// Package mcp is the MCP server: the surface that lets other agents use this
// one as a tool, over the Model Context Protocol.
//
//	aicodebox.Run(adapter, api.Surface(), mcp.Surface())
//
// It is on with AICODEBOX_MCP_MODE=1. With the run API on too it is seated on
// that server, at /mcp; alone it listens on a port of its own, at /mcp and /.
// `box mcp` speaks the protocol on standard input and output, for clients that
// start their servers themselves.
//
// The tools are run_prompt, get_run and cancel_run, and list_files, read_file,
// write_file and delete_file; the files of the workspaces are resources, too.
//
// A request comes in like this. The guard lets known hosts and origins through,
// the token is checked, and the endpoint finds out which of the protocol's two
// ways it speaks: with a session, or without. An exchange keeps its answer
// alive and tells when its client hangs up. The server (server.go) finds the
// tool (tool.go), the arguments are read with every mistake named
// (arguments.go), and what the tool did becomes a text for the model and the
// same as JSON (outcome.go, file.go). A prompt is a flight that several equal
// calls may share (flight.go, prompt.go).
package mcp

import (
	"context"
	_ "embed"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/runner"
)

// Surface links the MCP server. It is served when AICODEBOX_MCP_MODE is on, and
// offers the command `box mcp` in any case.
func Surface() aicodebox.Option { return aicodebox.Seat(&surface{}) }

var (
	_ aicodebox.SettingsSurface = (*surface)(nil)
	_ aicodebox.HandlerSurface  = (*surface)(nil)
	_ aicodebox.CommandSurface  = (*surface)(nil)
)

// surface is the MCP server of one box.
type surface struct {
	box        *aicodebox.Box
	host       string
	port       int64
	portName   string // the variable that sets port
	token      string
	sync       time.Duration // how long a call without progress waits for a run
	guard      guard
	beat       time.Duration // between the signs of life of a long call
	stall      time.Duration // how long a request's body may bring nothing
	stdin      io.Reader     // of box mcp; nil means the process's own
	seated     bool          // on another surface's server
	flights    flights
	serverOnce sync.Once
	made       *server
	listen     func(addr net.Addr) // called once the port is open; for tests
}

// The limits that are not settings.
const (
	maxBody     = 16 << 20 // bytes of a request
	stall       = time.Minute
	beat        = 15 * time.Second
	sessionIdle = 8 * time.Hour // a session without a request ends
)

// Mode answers to AICODEBOX_MCP_MODE.
func (s *surface) Mode() string { return "MCP" }

// Settings declares the variables of the MCP server.
func (s *surface) Settings(set aicodebox.Settings) {
	s.host = set.String("MCP_MODE_HOST", "", "address MCP listens on when the API mode is off; empty means all")
	s.port = set.Int("MCP_MODE_PORT", 8081, 0, 65535, "port MCP listens on when the API mode is off; 0 picks a free one")
	s.portName = set.Name("MCP_MODE_PORT")
	s.token = set.Secret("MCP_MODE_TOKEN", "bearer token that MCP clients must send; the API's token does not count here; without one MCP is open")
	s.sync = set.Seconds("MCP_MODE_SYNC_SECONDS", 45*time.Second,
		"how long run_prompt waits for the agent before it answers with a run id, unless the client asked for progress; many clients give up after 60")
	s.guard = guard{
		token:       s.token != "",
		hosts:       set.List("MCP_MODE_ALLOWED_HOSTS", "host names that clients may call the box by, besides loopback names; without a list and with a token: all"),
		origins:     set.List("MCP_MODE_ALLOWED_ORIGINS", "origins whose pages may call MCP, as scheme://host, besides loopback names"),
		hostsName:   set.Name("MCP_MODE_ALLOWED_HOSTS"),
		originsName: set.Name("MCP_MODE_ALLOWED_ORIGINS"),
	}
	for _, host := range s.guard.hosts {
		if !isHost(host) {
			set.Errorf("MCP_MODE_ALLOWED_HOSTS", "has %q; it accepts host names such as box.example.com, without scheme and path", host)
		}
	}
	for _, origin := range s.guard.origins {
		if !isOrigin(origin) {
			set.Errorf("MCP_MODE_ALLOWED_ORIGINS", "has %q; it accepts origins such as https://app.example.com", origin)
		}
	}
}

// isHost tells whether text is what a client sends as Host.
func isHost(text string) bool {
	u, err := url.Parse("http://" + text)
	return err == nil && u.Host == text && u.Hostname() != "" && !strings.Contains(text, "*")
}

// isOrigin tells whether text is what a browser sends as Origin.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != "" && strings.Trim(u.Path, "/") == "" &&
		u.RawQuery == "" && u.Fragment == "" && u.User == nil && !strings.Contains(text, "*")
}

// Init keeps the box.
func (s *surface) Init(box *aicodebox.Box) error {
	s.box, s.stall, s.beat = box, stall, beat
	return nil
}

// document describes the routes for the API's own description of the box.
//
//go:embed openapi.json
var document []byte

// Handler is seated at /mcp and below it, and checks its callers itself.
func (s *surface) Handler() (pattern string, h http.Handler) {
	s.seated = true
	return "/mcp/", httpd.Seat{
		Handler: newEndpoint(s, "/mcp"), OwnAuth: true, Fail: httpd.WriteProblem, Document: document,
	}
}

// Serve answers on a port of its own, unless the handler is seated: then it
// waits for the end with the server that it is seated on.
func (s *surface) Serve(ctx context.Context) error {
	if err := runner.Open(s.box); err != nil {
		return err
	}
	if s.seated {
		s.announce("")
		<-ctx.Done()
		s.flights.wait()
		return nil
	}
	ln, err := httpd.Listen(ctx, s.host, s.port, s.portName)
	if err != nil {
		return err
	}
	s.announce(ln.Addr().String())
	if s.listen != nil {
		s.listen(ln.Addr())
	}
	server := httpd.Server{Handler: s.handler(), Log: s.box.Log(), Brief: httpd.IsHealth}
	if err := server.Serve(ctx, s.box.Work(), ln); err != nil {
		return err
	}
	s.server().close()
	s.flights.wait()
	return nil
}

// announce tells where the server is, and warns if it is open.
func (s *surface) announce(address string) {
	log := s.box.Log()
	if address == "" {
		address = "/mcp of the API"
	}
	log.Info("MCP is served", "address", address)
	if s.token == "" {
		log.Warn("MCP IS OPEN: anyone who can reach the port can run the agent and read and write the workspaces; set AICODEBOX_MCP_MODE_TOKEN", "address", address)
	}
}

// handler builds all that a server of its own answers.
func (s *surface) handler() http.Handler {
	agent := s.box.Agent().Name
	mux := http.NewServeMux()
	mux.Handle("/healthz", httpd.Health{Adapter: agent, Version: s.box.Version(), Draining: s.box.Draining()})
	mux.Handle("/", newEndpoint(s, "/mcp", "/"))
	return httpd.Observe(s.box.Log(), httpd.WriteProblem)(
		httpd.Progress(s.stall)(mux))
}

// server is the protocol's side, made at the first use.
func (s *surface) server() *server {
	s.serverOnce.Do(func() { s.made = newServer(s) })
	return s.made
}
