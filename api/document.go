package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/yaml"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/httpd"
)

// document is the OpenAPI 3.1 description of the box: of the run API's own
// routes, and of what seated surfaces brought. It is made at start, and written
// when it is first asked for.
type document struct {
	registry   huma.Registry
	runRequest *huma.Schema // against which bodies of POST /run are checked
	api        huma.OpenAPI

	rendered func() (renderings, error) // safe for concurrent use
}

// renderings are both forms of the document, by jsonDocument and yamlDocument.
type renderings [2]rendering

// rendering is the document as it is sent.
type rendering struct {
	kind string
	body []byte
	etag string
}

const (
	jsonDocument = iota
	yamlDocument
)

const schemaPrefix = "#/components/schemas/"

// describe makes the document.
func (s *surface) describe() {
	doc := &document{registry: huma.NewMapRegistry(schemaPrefix, schemaName)}
	doc.runRequest = doc.registry.Schema(reflect.TypeFor[runRequest](), false, "")
	doc.api = doc.frame(s.title(), s.version())
	doc.mayBeNull("Attempt", "usage")
	s.doc = doc
	for _, route := range s.routes() {
		op := route.op
		doc.api.AddOperation(&op)
	}
	doc.openEnded()
	doc.rendered = sync.OnceValues(func() (renderings, error) { return doc.render(s.seats) })
}

// openEnded leaves out what goes without saying in JSON Schema: that an answer
// may have more members. The page would show them.
func (d *document) openEnded() {
	for _, schema := range d.registry.Map() {
		if schema.AdditionalProperties == true {
			schema.AdditionalProperties = nil
		}
	}
}

func (s *surface) title() string {
	if s.box == nil || s.box.Brand() == "" {
		return "aicodebox"
	}
	return s.box.Brand()
}

func (s *surface) version() string {
	if s.box == nil || s.box.Version() == "" {
		return "0"
	}
	return s.box.Version()
}

// schemaName is how a Go type is called in the document.
func schemaName(t reflect.Type, hint string) string {
	name := t.Name()
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
		name = t.Name()
	}
	if better, ok := schemaNames[name]; ok {
		return better
	}
	if name == "" {
		name = hint
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

var schemaNames = map[string]string{
	"Record":       "EventRecord",
	"entry":        "FileEntry",
	"listing":      "DirectoryListing",
	"fileDone":     "FileChanged",
	"leftBehind":   "BackgroundProcess",
	"cancelled":    "RunCancelled",
	"statusAnswer": "BoxStatus",
	"HealthAnswer": "Health",
}

// frame is the document without its routes.
func (d *document) frame(title, version string) huma.OpenAPI {
	return huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: title, Version: version, Description: introduction,
			License: &huma.License{Name: "WTFPL", URL: "http://www.wtfpl.net/"},
		},
		Servers:  []*huma.Server{{URL: ".", Description: "This box."}},
		Security: []map[string][]string{{"bearer": {}}},
		Tags: []*huma.Tag{
			{Name: tagRuns, Description: "Ask the agent, in the foreground or in the background."},
			{Name: tagFiles, Description: "The files of all workspaces."},
			{Name: tagBox, Description: "The box itself."},
		},
		Components: &huma.Components{
			Schemas:         d.registry,
			Responses:       d.problems(),
			SecuritySchemes: map[string]*huma.SecurityScheme{"bearer": bearerScheme},
		},
	}
}

var bearerScheme = &huma.SecurityScheme{
	Type: "http", Scheme: "bearer",
	Description: "The token of the box (API_MODE_TOKEN). A box without a token takes any, or none.",
}

// ref registers the type of v and refers to it.
func (d *document) ref(v any) *huma.Schema {
	return d.registry.Schema(reflect.TypeOf(v), true, "")
}

// mayBeNull documents that the member of a schema, which refers to another, can
// be null.
func (d *document) mayBeNull(schema, member string) {
	d.ref(runAnswer{})
	properties := d.registry.Map()[schema].Properties
	was := properties[member]
	properties[member] = &huma.Schema{
		AnyOf: []*huma.Schema{{Ref: was.Ref}, {Type: "null"}}, Description: was.Description,
	}
}

// ok is a response with a JSON body like v.
func (d *document) ok(description string, v any, examples map[string]*huma.Example) *huma.Response {
	return &huma.Response{Description: description, Content: jsonContent(d.ref(v), examples)}
}

func jsonContent(schema *huma.Schema, examples map[string]*huma.Example) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: schema, Examples: examples}}
}

// responses adds the problems with these statuses to good.
func (d *document) responses(good map[string]*huma.Response, problems ...int) map[string]*huma.Response {
	for _, status := range problems {
		good[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + problemName(status)}
	}
	return good
}

func problemName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// problems are the errors that routes refer to.
func (d *document) problems() map[string]*huma.Response {
	schema := d.ref(httpd.Problem{})
	all := make(map[string]*huma.Response, len(problemWords))
	for status, words := range problemWords {
		response := &huma.Response{Description: words.meaning, Content: map[string]*huma.MediaType{
			"application/problem+json": {Schema: schema, Example: map[string]any{
				"title": http.StatusText(status), "status": status, "detail": words.detail,
			}},
		}}
		if header := words.header; header != "" {
			response.Headers = map[string]*huma.Param{header: {
				Description: words.headerMeaning, Schema: &huma.Schema{Type: huma.TypeString},
			}}
		}
		all[problemName(status)] = response
	}
	return all
}

func (d *document) fileResponses() map[string]*huma.Response {
	tag := map[string]*huma.Param{"ETag": {Description: "Identifies this content, for If-None-Match and If-Range.", Schema: &huma.Schema{Type: huma.TypeString}}}
	content := map[string]*huma.MediaType{
		"application/octet-stream": {Schema: binary()},
		"application/json":         {Schema: d.ref(listing{})},
	}
	return map[string]*huma.Response{
		"200": {Description: "The file's bytes, with its own content type; or, for a directory, its entries as JSON.", Headers: tag, Content: content},
		"206": {Description: "The part of the file that Range asked for.", Headers: tag, Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: binary()}}},
		"304": {Description: "The client has this content already."},
		"416": {Description: "The file has nothing in the range that was asked for."},
	}
}

func (d *document) events() *huma.Response {
	return &huma.Response{
		Description: "A stream of events. The data of an event named record is an EventRecord; that of the event named end is an object with runId, status and, for a run that failed, error.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}, Example: eventExample}},
	}
}

func binary() *huma.Schema { return &huma.Schema{Type: huma.TypeString, Format: "binary"} }

// render writes the document, with what seats brought, in both forms.
func (d *document) render(seats []seat) (renderings, error) {
	data, err := json.Marshal(&d.api)
	if err != nil {
		return renderings{}, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	if data, err = mergeSeats(data, seats); err != nil {
		return renderings{}, err
	}
	var pretty, asYAML bytes.Buffer
	if err := json.Indent(&pretty, data, "", "  "); err != nil {
		return renderings{}, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	if err := yaml.Convert(&asYAML, bytes.NewReader(data)); err != nil {
		return renderings{}, fmt.Errorf("write the OpenAPI document as YAML: %w", err)
	}
	return renderings{
		jsonDocument: newRendering("application/json", append(pretty.Bytes(), '\n')),
		yamlDocument: newRendering("application/yaml", asYAML.Bytes()),
	}, nil
}

func newRendering(kind string, body []byte) rendering {
	sum := sha256.Sum256(body)
	return rendering{kind, body, `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// getDocument serves the document in one of its forms.
func (s *surface) getDocument(form int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		forms, err := s.doc.rendered()
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		forms[form].ServeHTTP(w, r)
	}
}

// ServeHTTP sends what the client does not have yet.
func (d rendering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", d.kind)
	h.Set("ETag", d.etag)
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", noTime, bytes.NewReader(d.body))
}

// Commands adds `box openapi`, which prints the document for code generators
// and linters, without a box that runs.
func (s *surface) Commands() []aicodebox.Command {
	return []aicodebox.Command{{
		Name: "openapi", Summary: "prints the OpenAPI document of the API as JSON, or with --yaml as YAML",
		Run: func(_ context.Context, box *aicodebox.Box, args []string, out io.Writer) error {
			form := jsonDocument
			switch {
			case len(args) == 1 && args[0] == "--yaml":
				form = yamlDocument
			case len(args) > 0:
				return fmt.Errorf("unknown argument %q; the only one is --yaml", args[0])
			}
			s.box = box
			s.describe()
			forms, err := s.doc.rendered()
			if err == nil {
				_, err = out.Write(forms[form].body)
			}
			return err
		},
	}}
}
