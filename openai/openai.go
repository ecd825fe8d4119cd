// Package openai is the OpenAI endpoint: the surface that lets programs written
// for a model server use the agent instead.
//
//	aicodebox.Run(adapter, api.Surface(), openai.Surface())
//
// It has no mode and no port of its own: it is on with AICODEBOX_API_MODE=1 and
// is seated on the run API's server, at /v1 and, the same, at /openai/v1:
//
//	GET  /v1/models            the models on offer
//	GET  /v1/models/{id}       one of them
//	POST /v1/chat/completions  a chat, as one answer or as a stream
//
// One chat goes like this. The body is decoded strictly, so that a mistake is a
// 400 that names the field (value, chatRequest, message, tool, format). Headers
// say what the body cannot (options). Images and files are saved where the
// agent can read them (attachments). The messages become one prompt
// (transcript), and functions or a schema an instruction (protocol). The runner
// asks the agent, and asks again what cannot be used. The result leaves as a
// completion or as chunks (exchange, stream), and whatever goes wrong in the
// error shape that clients know (failure), with its true status as long as
// nothing has been sent.
//
// Functions are executed by the client, as with a model server: the agent is
// told of them, its answer is read for calls, and calls are checked against
// what was offered before a client sees them.
package openai

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/runner"
)

// Surface links the OpenAI endpoint. It is served, by the surface that has the
// HTTP server (package api), when AICODEBOX_API_MODE is on.
func Surface() aicodebox.Option { return aicodebox.Seat(&surface{}) }

var (
	_ aicodebox.SettingsSurface = (*surface)(nil)
	_ aicodebox.HandlerSurface  = (*surface)(nil)
)

// surface is the OpenAI endpoint of one box. It is not changed after Init.
type surface struct {
	box       *aicodebox.Box
	workspace string // shared, ephemeral, or a workspace's name
	reasoning bool   // send the agent's thinking
	since     int64  // Unix time of the start
	mark      [32]byte
	fetcher   fetcher
	patience  time.Duration // how long a buffered stream waits with its headers
	beat      time.Duration // between the signs of life of a stream
}

// The words of API_MODE_CHAT_WORKSPACE that are no workspace's name.
const (
	workspaceShared    = "shared"
	workspaceEphemeral = "ephemeral"
)

// The times that are not settings.
const (
	patience = 45 * time.Second
	beat     = 15 * time.Second
)

// maxBody is how many bytes a request's body may have.
const maxBody = 16 << 20

// Mode answers to AICODEBOX_API_MODE.
func (s *surface) Mode() string { return "API" }

// Settings declares the variables of chats. Address, token and origins are the
// server's.
func (s *surface) Settings(set aicodebox.Settings) {
	const name = "API_MODE_CHAT_WORKSPACE"
	s.workspace = set.String(name, workspaceShared,
		"where a chat without a workspace header runs: shared (the root of all workspaces, one at a time), ephemeral (a throw-away directory each), or the name of a workspace")
	s.reasoning = set.Bool("API_MODE_REASONING", false, "send the agent's thinking to chat clients as reasoning_content")
	if !filepath.IsLocal(s.workspace) {
		set.Errorf(name, "is %q; it accepts shared, ephemeral, or a relative path below the root of all workspaces", s.workspace)
	}
}

// Init keeps the box and checks the workspace of chats.
func (s *surface) Init(box *aicodebox.Box) error {
	s.box, s.patience, s.beat = box, patience, beat
	s.since = time.Now().Unix()
	s.fetcher = newFetcher()
	if _, err := rand.Read(s.mark[:]); err != nil {
		return fmt.Errorf("make a secret for transcripts: %w", err)
	}
	if !s.namesWorkspace() {
		return nil
	}
	if _, err := box.Workspaces().Resolve(s.workspace); err != nil {
		return fmt.Errorf("AICODEBOX_API_MODE_CHAT_WORKSPACE: %w", err)
	}
	return nil
}

// namesWorkspace tells whether chats run in a certain workspace by default.
func (s *surface) namesWorkspace() bool {
	return s.workspace != workspaceShared && s.workspace != workspaceEphemeral
}

// Serve readies the run engine and waits for the end: requests are answered by
// the server that the handler is seated on, which also waits for them.
func (s *surface) Serve(ctx context.Context) error {
	if err := runner.Open(s.box); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// document describes the endpoint for the server's own OpenAPI document.
//
//go:embed openapi.json
var document []byte

// Handler is seated at /v1 and /openai/v1, behind the server's token, and
// brings its own form of errors.
func (s *surface) Handler() (pattern string, h http.Handler) {
	return "/v1/ /openai/v1/", httpd.Seat{
		Handler: http.HandlerFunc(s.serve), Fail: fail, Document: json.RawMessage(document),
	}
}

// serve finds the route. A slash at the end of a path makes no difference.
func (s *surface) serve(w http.ResponseWriter, r *http.Request) {
	route, ok := strings.CutPrefix(path.Clean(r.URL.Path), "/openai")
	if !ok {
		route = path.Clean(r.URL.Path)
	}
	route = strings.TrimPrefix(route, "/v1")
	model, one := strings.CutPrefix(route, "/models/")
	switch {
	case route == "/models":
		s.only(w, r, s.listModels, http.MethodGet, http.MethodHead)
	case one:
		s.only(w, r, func(w http.ResponseWriter, _ *http.Request) { s.showModel(w, r, model) }, http.MethodGet, http.MethodHead)
	case route == "/chat/completions":
		s.only(w, r, s.chat, http.MethodPost)
	default:
		unknownPath(r).write(w, r)
	}
}

// only answers 405 to methods that the route does not have.
func (s *surface) only(w http.ResponseWriter, r *http.Request, h http.HandlerFunc, methods ...string) {
	for _, m := range methods {
		if r.Method == m {
			h(w, r)
			return
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	wrongMethod(r, methods[0]).write(w, r)
}
