package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/psyb0t/aicodebox/internal/httpd"
)

// The headers and methods of the protocol that decide how a request is served.
const (
	sessionHeader    = "Mcp-Session-Id"
	versionHeader    = "Mcp-Protocol-Version"
	methodInitialize = "initialize"
)

// endpoint serves the protocol over HTTP at some paths. The protocol has two
// ways: with a session that initialize begins (versions until 2025-11-25), and
// without (since 2026-07-28). The library serves each with a handler of its
// own, so that one has to be chosen.
type endpoint struct {
	surface *surface
	paths   []string
	session *sdk.StreamableHTTPHandler
	single  *sdk.StreamableHTTPHandler
}

// newEndpoint returns the handler for paths; a slash at the end of a path makes
// no difference. Other paths are a 404 for anyone, so that clients which look
// for OAuth learn that there is none.
func newEndpoint(s *surface, paths ...string) http.Handler {
	library := func(*http.Request) *sdk.Server { return s.server().library }
	e := &endpoint{
		surface: s, paths: paths,
		session: sdk.NewStreamableHTTPHandler(library, &sdk.StreamableHTTPOptions{
			SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
		}),
		single: sdk.NewStreamableHTTPHandler(library, &sdk.StreamableHTTPOptions{
			Stateless: true, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
		}),
	}
	guarded := s.guard.wrap(e.authorize(http.HandlerFunc(e.serve)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(paths, "/"+strings.Trim(r.URL.Path, "/")) {
			httpd.Early(w, r, func() {
				httpd.WriteProblem(w, r, http.StatusNotFound, "the MCP server is at "+paths[0]+" and has nothing at this path")
			})
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// tokenQuery is the query parameter for clients that cannot send headers.
const tokenQuery = "apiToken"

// authorize lets through who has the token, in the header or in the query. The
// token goes no further.
func (e *endpoint) authorize(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inHeader, given := httpd.BearerToken(r)
		query := r.URL.Query()
		inQuery := query.Get(tokenQuery)
		token := e.surface.token
		if token != "" && !httpd.TokensEqual(inHeader, token) && !httpd.TokensEqual(inQuery, token) {
			httpd.Unauthorized(w, r, given || inQuery != "", httpd.WriteProblem)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Del("Authorization")
		query.Del(tokenQuery)
		r.URL.RawQuery = query.Encode()
		h.ServeHTTP(w, r)
	})
}

// serve gives the request to the handler for its way of the protocol.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	h := e.session
	if r.Method == http.MethodPost {
		method, err := peek(w, r)
		if err != nil {
			refuseBody(w, r, err)
			return
		}
		h = e.choose(r, method)
	}
	x := e.surface.server().open(w, r)
	defer x.close()
	h.ServeHTTP(x, x.request)
}

// choose finds the handler for a POST of method. An initialize begins a new
// session, whatever session and version the client thinks it has; a request
// without a session needs none.
func (e *endpoint) choose(r *http.Request, method string) *sdk.StreamableHTTPHandler {
	switch {
	case method == methodInitialize:
		r.Header.Del(sessionHeader)
		r.Header.Del(versionHeader)
		return e.session
	case r.Header.Get(sessionHeader) != "":
		return e.session
	}
	return e.single
}

// peek reads the body, leaves it to be read again, and returns the method of
// the one message it holds, or "".
func peek(w http.ResponseWriter, r *http.Request) (method string, err error) {
	body, err := httpd.ReadBody(w, r, maxBody)
	if err != nil {
		return "", err
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) // a byte-order mark
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	var message struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(body, &message) != nil {
		return "", nil // the library says what is wrong with it
	}
	return message.Method, nil
}

// refuseBody answers a request whose body could not be read.
func refuseBody(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusBadRequest
	var large *httpd.TooLargeError
	switch {
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, httpd.ErrStalled):
		status = http.StatusRequestTimeout
	}
	httpd.Early(w, r, func() { httpd.WriteProblem(w, r, status, detail(err)) })
}

// detail is err for a caller: what went wrong with a connection is not theirs.
func detail(err error) string {
	var large *httpd.TooLargeError
	if errors.As(err, &large) || errors.Is(err, httpd.ErrStalled) {
		return err.Error()
	}
	return "the body of the request ended early"
}
