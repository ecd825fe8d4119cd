package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is the protocol's side of the surface: the library's server with the
// tools and resources of the box, whatever the transport.
type server struct {
	surface   *surface
	library   *sdk.Server
	exchanges sync.Map        // id (string) → *exchange
	gone      context.Context // ends when the one client of box mcp is gone
}

// The methods of the protocol that are treated in a special way.
const (
	methodCallTool      = "tools/call"
	methodListResources = "resources/list"
)

func newServer(s *surface) *server {
	srv := &server{surface: s, gone: context.Background()}
	srv.library = sdk.NewServer(&sdk.Implementation{Name: s.box.Brand(), Version: s.box.Version()}, &sdk.ServerOptions{
		Instructions: instructions(s.box),
		Logger:       slog.New(quiet{s.box.Log().Handler()}),
		Capabilities: &sdk.ServerCapabilities{
			Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{},
		},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	for _, t := range srv.tools() {
		srv.library.AddTool(t.describe(), srv.handle(t))
	}
	srv.library.AddResourceTemplate(fileTemplate(), srv.readResource)
	srv.library.AddReceivingMiddleware(srv.guardPanics, srv.keepAlive, srv.listFiles)
	return srv
}

// close ends all sessions. It waits for the calls in hand.
func (s *server) close() {
	for session := range s.library.Sessions() {
		_ = session.Close() // the client has gone, or will find out
	}
}

// guardPanics turns a panic into an error: the library lets one in a handler
// end the process.
func (s *server) guardPanics(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				s.surface.box.Log().Error("panic while answering an MCP request", "method", method,
					"panic", cause, "stack", string(debug.Stack()))
				result, err = nil, fmt.Errorf("the box made a mistake while answering %s; its log has the cause", method)
			}
		}()
		return next(ctx, method, req)
	}
}

// keepAlive keeps the answer to a tool's call alive, and ends the call when
// its client hangs up.
func (s *server) keepAlive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method != methodCallTool {
			return next(ctx, method, req)
		}
		gone := s.gone
		if extra := req.GetExtra(); extra != nil {
			if x := s.find(extra.Header); x != nil {
				gone = x.request.Context()
				defer x.keepAlive(s.surface.beat)()
			}
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(gone, func() { cancel(errHungUp) })()
		return next(ctx, method, req)
	}
}

// handle makes t what the library calls. Whatever goes wrong is a result that
// a model can read: it can act on it, while an error of the protocol is for the
// client's author.
func (s *server) handle(t tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c := &call{ctx: ctx, request: req, surface: s.surface}
		args, err := readArguments(req.Params.Arguments)
		if err != nil {
			return failed(err), nil
		}
		out, err := t.run(c, args)
		if err != nil {
			return failed(err), nil
		}
		return out.result()
	}
}

// call is one call of a tool.
type call struct {
	ctx     context.Context // ends when the client cancels or hangs up
	request *sdk.CallToolRequest
	surface *surface
}

// session identifies the client's session, "" when it has none.
func (c *call) session() string {
	if c.request.Session == nil {
		return ""
	}
	return c.request.Session.ID()
}

// output is what a tool answers: a text for the model and the same as JSON.
type output struct {
	text    string // the JSON itself when empty
	image   *sdk.ImageContent
	data    any
	isError bool
}

func (o output) result() (*sdk.CallToolResult, error) {
	data, err := marshal(o.data)
	if err != nil {
		return nil, fmt.Errorf("write the answer of a tool: %w", err)
	}
	text := o.text
	if text == "" && o.image == nil {
		text = string(data)
	}
	result := &sdk.CallToolResult{StructuredContent: data, IsError: o.isError}
	if text != "" {
		result.Content = append(result.Content, &sdk.TextContent{Text: text})
	}
	if o.image != nil {
		result.Content = append(result.Content, o.image)
	}
	return result, nil
}

// failed is the result of a call that could not be done.
func failed(err error) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}
}

// quiet keeps the library's log to what an operator should see: it tells of
// every session, and calls an ordinary end an error.
type quiet struct{ slog.Handler }

// Enabled lets warnings through, as debug messages.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle logs r as a debug message.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	r.Message = "mcp: " + r.Message
	return q.Handler.Handle(ctx, r)
}

// WithAttrs keeps the wrapping.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup keeps the wrapping.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
