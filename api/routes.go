package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/psyb0t/aicodebox/internal/httpd"
)

// route is one line of the table that the router and the document come from.
type route struct {
	op     huma.Operation
	serve  http.HandlerFunc
	open   bool // needs no token
	stream bool // does not answer HEAD
}

// The tags of the document.
const (
	tagRuns  = "Runs"
	tagFiles = "Files"
	tagBox   = "Box"
)

// routes is all that the run API answers.
func (s *surface) routes() []route {
	doc := s.doc
	return append(s.runRoutes(doc), append(s.fileRoutes(doc), s.boxRoutes(doc)...)...)
}

func (s *surface) runRoutes(doc *document) []route {
	return []route{
		{serve: s.postRun, op: huma.Operation{
			OperationID: "run", Method: http.MethodPost, Path: "/run", Tags: []string{tagRuns},
			Summary:     "Run a prompt",
			Description: runProse,
			Parameters:  []*huma.Param{idempotencyParam},
			RequestBody: &huma.RequestBody{
				Required: true, Description: "The prompt and how to answer it. Names may also be spelt in snake_case.",
				Content: jsonContent(doc.ref(runRequest{}), runExamples),
			},
			Responses: doc.responses(map[string]*huma.Response{
				"200": doc.ok("The answer, or, with async or fireAndForget, the run's id. Which members are there is told in the description.", runAnswer{}, answerExamples),
			}, 400, 401, 403, 408, 409, 413, 415, 422, 429, 500, 503),
		}},
		{serve: s.getResult, op: huma.Operation{
			OperationID: "getRunResult", Method: http.MethodGet, Path: "/run/result", Tags: []string{tagRuns},
			Summary:     "Get what became of a run",
			Description: "While the run is in flight: runId, workspace and status. Afterwards what POST /run would have answered, with status and, if it failed, error. A result is kept for six hours, also over a restart of the box, and can be read as often as you like.",
			Parameters:  []*huma.Param{runIDQuery},
			Responses: doc.responses(map[string]*huma.Response{
				"200": doc.ok("The run.", runAnswer{}, resultExamples),
			}, 401, 404, 422, 500),
		}},
		{serve: s.getEvents, stream: true, op: huma.Operation{
			OperationID: "getRunEvents", Method: http.MethodGet, Path: "/run/{id}/events", Tags: []string{tagRuns},
			Summary:     "Follow a run",
			Description: "The agent's records as server-sent events: first those there are, then each as it comes. An event named record has a record as data and its sequence as id; the last event is named end and tells how the run ended. A client that comes back with Last-Event-ID goes on after it; 204 says that it has seen everything. While there is nothing to tell, a comment comes every 15 seconds.",
			Parameters:  []*huma.Param{runIDPath, lastEventParam},
			Responses: doc.responses(map[string]*huma.Response{
				"200": doc.events(),
				"204": {Description: "The stream had ended with the event that Last-Event-ID names."},
			}, 400, 401, 404, 500),
		}},
		{serve: s.deleteRun, op: huma.Operation{
			OperationID: "cancelRun", Method: http.MethodDelete, Path: "/run/{id}", Tags: []string{tagRuns},
			Summary:     "Cancel a run",
			Description: "Ends a run of any surface, waiting or in flight, with all its processes, and the processes that a finished run left running. It answers when they are gone and the workspace is free. A run that had finished answers with its own status.",
			Parameters:  []*huma.Param{runIDPath},
			Responses: doc.responses(map[string]*huma.Response{
				"200": doc.ok("The run has ended.", cancelled{}, nil),
			}, 401, 403, 404, 500),
		}},
	}
}

func (s *surface) fileRoutes(doc *document) []route {
	return []route{
		{serve: s.getFiles, op: huma.Operation{
			OperationID: "listFiles", Method: http.MethodGet, Path: "/files", Tags: []string{tagFiles},
			Summary:     "List the root of all workspaces",
			Description: "The same as a GET of a directory.",
			Responses:   doc.responses(map[string]*huma.Response{"200": doc.ok("What is in it.", listing{}, nil)}, 401, 500),
		}},
		{serve: s.getFile, op: huma.Operation{
			OperationID: "getFile", Method: http.MethodGet, Path: "/files/{path}", Tags: []string{tagFiles},
			Summary:     "Read a file or list a directory",
			Description: "A file is answered with its bytes, its content type and an ETag, and honours Range and If-None-Match. A directory is answered with its entries. The path may hold slashes. Paths with `..`, absolute ones, and links that are absolute or lead out of the workspaces are refused.",
			Parameters:  []*huma.Param{filePathParam, rangeParam, ifNoneMatchParam},
			Responses:   doc.responses(doc.fileResponses(), 400, 401, 403, 404, 500),
		}},
		{serve: s.putFile, op: huma.Operation{
			OperationID: "putFile", Method: http.MethodPut, Path: "/files/{path}", Tags: []string{tagFiles},
			Summary:     "Write a file",
			Description: "The body is the file, as it is. Directories above it are made. Readers see the old file or the new one, never a part: an upload that breaks off changes nothing.",
			Parameters:  []*huma.Param{filePathParam},
			RequestBody: &huma.RequestBody{Required: true, Description: "The bytes of the file.", Content: map[string]*huma.MediaType{
				"application/octet-stream": {Schema: binary()},
			}},
			Responses: doc.responses(map[string]*huma.Response{
				"200": doc.ok("An existing file was replaced.", fileDone{}, nil),
				"201": doc.ok("A new file was made.", fileDone{}, nil),
			}, 400, 401, 403, 408, 413, 500, 507),
		}},
		{serve: s.deleteFile, op: huma.Operation{
			OperationID: "deleteFile", Method: http.MethodDelete, Path: "/files/{path}", Tags: []string{tagFiles},
			Summary:     "Delete a file",
			Description: "Of a link, the link itself. Directories are refused.",
			Parameters:  []*huma.Param{filePathParam},
			Responses:   doc.responses(map[string]*huma.Response{"200": doc.ok("The file is gone.", fileDone{}, nil)}, 400, 401, 403, 404, 500),
		}},
	}
}

func (s *surface) boxRoutes(doc *document) []route {
	return []route{
		{serve: s.getStatus, op: huma.Operation{
			OperationID: "getStatus", Method: http.MethodGet, Path: "/status", Tags: []string{tagBox},
			Summary:     "See what the box is doing",
			Description: "Runs of all surfaces: those in flight and those that wait, oldest first.",
			Responses:   doc.responses(map[string]*huma.Response{"200": doc.ok("The box and its runs.", statusAnswer{}, nil)}, 401, 500),
		}},
		{serve: s.health, open: true, op: huma.Operation{
			OperationID: "getHealth", Method: http.MethodGet, Path: "/healthz", Tags: []string{tagBox},
			Summary:     "Check that the box takes work",
			Description: "Needs no token and never waits for a run.",
			Security:    []map[string][]string{},
			Responses: map[string]*huma.Response{
				"200": doc.ok("The box takes work.", httpd.HealthAnswer{}, nil),
				"503": doc.ok("The box is shutting down.", httpd.HealthAnswer{}, nil),
			},
		}},
		{serve: s.getDocument(jsonDocument), open: true, op: huma.Operation{
			OperationID: "getOpenAPI", Method: http.MethodGet, Path: "/openapi.json", Tags: []string{tagBox},
			Summary:     "Get this description as JSON",
			Description: "OpenAPI 3.1. Needs no token.",
			Security:    []map[string][]string{},
			Responses:   map[string]*huma.Response{"200": {Description: "The document.", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}}}}},
		}},
		{serve: s.getDocument(yamlDocument), open: true, op: huma.Operation{
			OperationID: "getOpenAPIYAML", Method: http.MethodGet, Path: "/openapi.yaml", Tags: []string{tagBox},
			Summary:     "Get this description as YAML",
			Description: "OpenAPI 3.1. Needs no token.",
			Security:    []map[string][]string{},
			Responses:   map[string]*huma.Response{"200": {Description: "The document.", Content: map[string]*huma.MediaType{"application/yaml": {Schema: &huma.Schema{Type: huma.TypeString}}}}},
		}},
	}
}

// health answers health checks.
func (s *surface) health(w http.ResponseWriter, r *http.Request) {
	httpd.Health{Adapter: s.box.Agent().Name, Version: s.box.Version(), Draining: s.box.Draining()}.ServeHTTP(w, r)
}
