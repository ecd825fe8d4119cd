package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/psyb0t/aicodebox/internal/workspace"
)

// The files of the workspaces are resources: workspace:///<path>.
const (
	resourceScheme = "workspace:///"
	resourcePage   = 200      // files in one answer
	resourceScan   = 20_000   // entries that are looked at for one answer
	maxResource    = 16 << 20 // bytes of one
)

// fileURI returns the URI of the file name.
func fileURI(name string) string {
	parts := strings.Split(strings.TrimPrefix(path.Clean("/"+name), "/"), "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return resourceScheme + strings.Join(parts, "/")
}

// fileName returns the name of the file that uri stands for.
func fileName(uri string) (string, error) {
	escaped, ok := strings.CutPrefix(uri, resourceScheme)
	if !ok {
		return "", fmt.Errorf("the URI does not begin with %s", resourceScheme)
	}
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return "", errors.New("the URI has a broken escape")
	}
	return name, nil
}

// fileTemplate tells clients how the URIs of files are made.
func fileTemplate() *sdk.ResourceTemplate {
	return &sdk.ResourceTemplate{
		Name: "workspace file", Title: "A file of the workspaces", URITemplate: resourceScheme + "{+path}",
		Description: "A file by its path relative to the root of all workspaces. Text comes as text, anything else as base64.",
	}
}

// readResource answers with a file.
func (s *server) readResource(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	name, err := fileName(uri)
	if err != nil {
		return nil, invalid(err)
	}
	f, info, err := s.surface.box.Workspaces().OpenFile(name)
	if err != nil {
		return nil, invalid(err)
	}
	defer f.Close()
	if info.Size() > maxResource {
		return nil, invalid(fmt.Errorf("the file %.200q has %d bytes, more than the %d of a resource; read it in parts with read_file", name, info.Size(), maxResource))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxResource))
	if err != nil {
		return nil, invalid(unreadable(name))
	}
	contents := &sdk.ResourceContents{URI: uri, MIMEType: mediaType(name, data[:min(len(data), sniffed)])}
	if utf8.Valid(data) && !isImage(contents.MIMEType) {
		contents.Text = string(data)
	} else {
		contents.Blob = data
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{contents}}, nil
}

// invalid is an error of the protocol with the words of err.
func invalid(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
}

// listFiles answers the list of resources with the files there are now. The
// library would list what was registered.
func (s *server) listFiles(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		list, ok := req.(*sdk.ListResourcesRequest)
		if method != methodListResources || !ok {
			return next(ctx, method, req)
		}
		after := ""
		if list.Params != nil && list.Params.Cursor != "" {
			cursor, err := base64.RawURLEncoding.DecodeString(list.Params.Cursor)
			if err != nil {
				return nil, invalid(errors.New("the cursor is none that this server gave"))
			}
			after = string(cursor)
		}
		p := page{root: s.surface.box.Workspaces(), after: after, found: []*sdk.Resource{}}
		p.walk(ctx, "")
		result := &sdk.ListResourcesResult{Resources: p.found, Cacheable: sdk.Cacheable{CacheScope: "private"}}
		if p.more {
			result.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(p.last))
		}
		return result, ctx.Err()
	}
}

// page is a part of the list of resources: the files after one, in the order
// of a walk. What begins with a dot is left out, and so is node_modules.
type page struct {
	root    *workspace.Root
	after   string // where the page before ended
	found   []*sdk.Resource
	last    string // what was looked at last; a directory has a slash at its end
	scanned int
	more    bool
}

func (p *page) walk(ctx context.Context, dir string) {
	list, err := p.root.List(dir)
	if err != nil {
		return // removed or closed meanwhile
	}
	for _, e := range list {
		name := path.Join(dir, e.Name)
		if strings.HasPrefix(e.Name, ".") || bulky(e.Name) || p.behind(name, e.Type) {
			continue
		}
		if p.scanned++; len(p.found) == resourcePage || p.scanned > resourceScan {
			p.more = true
		}
		if p.more || ctx.Err() != nil {
			return
		}
		switch e.Type {
		case workspace.File:
			p.last = name
			p.found = append(p.found, &sdk.Resource{
				URI: fileURI(name), Name: name, Size: e.Size, MIMEType: typeByName(name),
			})
		case workspace.Dir:
			p.last = name + "/"
			p.walk(ctx, name)
		default:
			p.last = name
		}
	}
}

// behind tells whether the page before had name. The directories that it ended
// in are walked again.
func (p *page) behind(name, kind string) bool {
	if p.after == "" || kind == workspace.Dir && strings.HasPrefix(p.after, name+"/") {
		return false
	}
	return compareWalk(name, p.after) <= 0
}

// compareWalk compares two paths in the order of a walk, which is that of their
// parts.
func compareWalk(a, b string) int {
	for {
		x, restA, deeperA := strings.Cut(a, "/")
		y, restB, deeperB := strings.Cut(b, "/")
		if x != y {
			return strings.Compare(x, y)
		}
		if !deeperA || !deeperB {
			return len(restA) - len(restB)
		}
		a, b = restA, restB
	}
}
