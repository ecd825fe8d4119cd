package httpd

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Seat is a handler that a surface offers for another surface's server,
// together with what that server has to know of it. A plain handler is served
// behind the server's token and not documented.
type Seat struct {
	http.Handler

	// OwnAuth says that the handler checks callers itself.
	OwnAuth bool
	// Fail writes the refusals that the server makes on the handler's behalf
	// (401, 500). Nil means problem+json.
	Fail Fail
	// Document is a part of an OpenAPI 3.1 document, as JSON: its tags, paths
	// and components are merged into the server's own. An operation without a
	// security member is documented as needing the server's token.
	Document json.RawMessage
}

// Patterns splits the pattern of a seated handler: paths separated by spaces.
// A path that ends in a slash covers all below it, and itself without the
// slash.
//
//	"/v1/ /openai/v1/"
func Patterns(pattern string) []string { return strings.Fields(pattern) }
