package httpd

import (
	"net/http"
	"slices"
	"strings"
)

// CORS lets pages of the given origins call the box ("*" means pages of any
// origin). It stands before the token check: a browser sends no token with a
// preflight, and a refusal without these headers cannot be read by the page.
// Requests of other origins are passed on as they are, so that a seated
// handler with a list of its own can answer them.
func CORS(origins []string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		if len(origins) == 0 {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Vary", "Origin")
			origin := r.Header.Get("Origin")
			if origin == "" || !allows(origins, origin) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Access-Control-Allow-Origin", origin)
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				preflight(w, r)
				return
			}
			w.Header().Set("Access-Control-Expose-Headers", exposed)
			next.ServeHTTP(w, r)
		})
	}
}

// exposed are the response headers that a page may read.
const exposed = "Content-Range, ETag, Idempotent-Replayed, Location, Mcp-Session-Id, Retry-After, " +
	"WWW-Authenticate, X-Aicodebox-Run-Id, X-Request-Id, X-Should-Retry"

func allows(origins []string, origin string) bool {
	return slices.ContainsFunc(origins, func(o string) bool {
		return o == "*" || strings.EqualFold(strings.TrimSuffix(o, "/"), origin)
	})
}

func preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method")
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" && len(asked) <= 4096 {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
