package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// The words of the OpenAPI document.

const introduction = `A coding agent as a service.

Ask it with **POST /run**; read and write the files it works on under **/files**.
Runs and files share directories, the workspaces. One run at a time works in a
workspace; different workspaces work side by side.

Send the token, if the box has one, as ` + "`Authorization: Bearer <token>`" + `.

Errors are ` + "`application/problem+json`" + ` (RFC 9457) with status, title and detail,
and errors for each field at fault. Every answer carries ` + "`X-Request-Id`" + `, under which
the box logged the request; send your own to choose it.

New members may be added to answers at any time; clients must ignore what they do
not know.`

const runProse = `Runs the agent and answers when it has ended, or, with async or fireAndForget, at once.

**What the answer holds.** Always runId, workspace, exitCode and text. With a jsonSchema also
attempts, and sessionId and usage where the agent tells them; then json, or parseError in its place when
no attempt satisfied the schema; jsonRetries when an answer was asked again. events as eventMode says.
stdout and stderr with includeRaw, and stderr whenever exitCode is not 0. providerError when the model
provider refused. A background run is answered with runId, workspace, status and fireAndForget alone;
its result is at GET /run/result.

**Failures.** An agent that exits with another code than 0 is a 200: the run itself worked. So is a timeout,
with exitCode 124, error "timeout" and the text there was. A run that was cancelled is a 409. A request that
cannot be run at all is a 4xx and no agent is started.

**Workspaces.** A workspace in which a run is in flight is a 409 at once, or after waitSeconds.
A run with a jsonSchema and no workspace works in a throw-away directory.

**Leaving.** When the caller closes its connection, its run is cancelled. Background runs go on.

**Repeating.** With an Idempotency-Key, the same request within 24 hours is answered with the first run.`

var (
	idempotencyParam = &huma.Param{
		Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(maxKey)},
		Description: "A key of your making. The same key and body within 24 hours is answered with the first run (and Idempotent-Replayed: true); with another body it is a 422.",
		Example:     "nightly-report-2026-01-31",
	}
	runIDQuery = &huma.Param{
		Name: "runId", In: "query", Required: true, Schema: &huma.Schema{Type: huma.TypeString},
		Description: "Id of the run, as POST /run answered it.", Example: exampleID,
	}
	runIDPath = &huma.Param{
		Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString},
		Description: "Id of the run.", Example: exampleID,
	}
	lastEventParam = &huma.Param{
		Name: "Last-Event-ID", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "Id of the last event that was received; the stream goes on after it.", Example: "41",
	}
	filePathParam = &huma.Param{
		Name: "path", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString},
		Description: "Path relative to the root of all workspaces. It may hold slashes.", Example: "project-a/README.md",
	}
	rangeParam = &huma.Param{
		Name: "Range", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "The part of the file that is wanted.", Example: "bytes=0-1023",
	}
	ifNoneMatchParam = &huma.Param{
		Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "ETag of the content that the client has.", Example: `"1a2b-17f3c-4b4"`,
	}
)

const exampleID = "0198c1f27a647cc09c1e1f0b7c1d2e3f"

// problemWord is what the document says of an error.
type problemWord struct {
	meaning, detail       string
	header, headerMeaning string
}

var problemWords = map[int]problemWord{
	http.StatusBadRequest:            {meaning: "The body is not JSON, or a path leaves the workspaces or cannot be used.", detail: `path "../x": it leaves the workspace root; use a relative path without ".."`},
	http.StatusUnauthorized:          {meaning: "The token is missing or wrong.", detail: "this box needs a token: send the header `Authorization: Bearer <token>`", header: "WWW-Authenticate", headerMeaning: "Bearer."},
	http.StatusForbidden:             {meaning: "The box may not use this file, or a page of another origin asked a box without a token.", detail: `path "secret": permission denied`},
	http.StatusNotFound:              {meaning: "There is no such run or file.", detail: "no run has this id; results are kept for six hours"},
	http.StatusRequestTimeout:        {meaning: "The body brought no byte for a minute.", detail: "the request's body made no progress for too long"},
	http.StatusConflict:              {meaning: "The workspace is busy, or the run was cancelled.", detail: "the workspace is busy with another run; send waitSeconds to wait for it, or use another workspace", header: "Retry-After", headerMeaning: "Seconds after which to ask again."},
	http.StatusRequestEntityTooLarge: {meaning: "The body, or a part of the request, is too large.", detail: "the request's body is larger than the limit of 16777216 bytes"},
	http.StatusUnsupportedMediaType:  {meaning: "The body is not declared as JSON.", detail: "send the body with the header `Content-Type: application/json`"},
	http.StatusUnprocessableEntity:   {meaning: "The request is not valid; errors names each field at fault.", detail: "body.timeoutSeconds: expected number >= 1"},
	http.StatusTooManyRequests:       {meaning: "Too many runs are waiting.", detail: "too many runs are waiting; try again later", header: "Retry-After", headerMeaning: "Seconds after which to ask again."},
	http.StatusInternalServerError:   {meaning: "The box made a mistake; its log has the cause.", detail: "the box could not do this; its log has the cause under request id LZ7KQ3XW5V2M4N6P8R9T"},
	http.StatusServiceUnavailable:    {meaning: "The box is shutting down, or cannot keep records of background runs.", detail: "the box is shutting down and takes no new work", header: "Retry-After", headerMeaning: "Seconds after which to ask again."},
	http.StatusInsufficientStorage:   {meaning: "The disk is full.", detail: `path "big.bin": no space left on device`},
}

var runExamples = map[string]*huma.Example{
	"prompt":     {Summary: "A prompt", Value: map[string]any{"prompt": "List the files here and say what each is for.", "workspace": "project-a"}},
	"structured": {Summary: "An answer as JSON", Value: map[string]any{"prompt": "How many Go files are there?", "workspace": "project-a", "jsonSchema": countSchema}},
	"background": {Summary: "In the background", Value: map[string]any{"prompt": "Write tests for every package.", "workspace": "project-a", "async": true, "timeoutSeconds": 3600}},
}

var countSchema = map[string]any{
	"type": "object", "properties": map[string]any{"count": map[string]any{"type": "integer"}}, "required": []string{"count"},
}

var answerExamples = map[string]*huma.Example{
	"lean": {Summary: "Without a jsonSchema", Value: map[string]any{
		"runId": exampleID, "workspace": "/workspace/project-a", "exitCode": 0, "text": "README.md explains the project.",
	}},
	"structured": {Summary: "With a jsonSchema", Value: map[string]any{
		"runId": exampleID, "workspace": "/workspace/project-a", "exitCode": 0, "text": `{"count":42}`,
		"events":    []any{map[string]any{"sequence": 0, "attempt": 0, "backend": "pi", "eventType": "message_end", "event": map[string]any{"type": "message_end"}}},
		"sessionId": "0b3c2f1e", "usage": map[string]any{"input_tokens": 1200, "output_tokens": 85},
		"attempts": []any{map[string]any{"index": 0, "usage": nil, "exitCode": 0, "parseError": nil}},
		"json":     map[string]any{"count": 42},
	}},
	"background": {Summary: "With async", Value: map[string]any{
		"runId": exampleID, "workspace": "/workspace/project-a", "status": "running", "fireAndForget": false,
	}},
	"timeout": {Summary: "A timeout", Value: map[string]any{
		"runId": exampleID, "workspace": "/workspace/project-a", "error": "timeout", "exitCode": 124, "text": "The first part", "stderr": "",
	}},
}

var resultExamples = map[string]*huma.Example{
	"running": {Summary: "In flight", Value: map[string]any{"runId": exampleID, "workspace": "/workspace/project-a", "status": "running"}},
	"completed": {Summary: "Finished", Value: map[string]any{
		"runId": exampleID, "workspace": "/workspace/project-a", "status": "completed", "exitCode": 0, "text": "Done.",
	}},
	"interrupted": {Summary: "Cut by a restart of the box", Value: map[string]any{
		"runId": exampleID, "workspace": "/workspace/project-a", "status": "failed", "error": "interrupted by restart",
	}},
}

const eventExample = "id: 0\nevent: record\ndata: {\"sequence\":0,\"attempt\":0,\"backend\":\"pi\",\"eventType\":\"message_end\",\"event\":{\"type\":\"message_end\"}}\n\n" +
	"id: end\nevent: end\ndata: {\"runId\":\"" + exampleID + "\",\"status\":\"completed\"}\n\n"
