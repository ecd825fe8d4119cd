package api

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
)

// The documentation page is Swagger UI, compressed as it is sent. Its files
// are those of the npm package swagger-ui-dist at the version that
// scripts/api-tools/package.json names; scripts/api-docs takes them from there.
var (
	//go:embed docs/index.html
	docsPage string
	//go:embed docs/start.js
	docsStart []byte
	//go:embed docs/swagger-ui.css.gz
	docsStyle []byte
	//go:embed docs/swagger-ui-bundle.js.gz
	docsBundle []byte
)

// docsPolicy lets the page load its own files, call its own origin, and
// nothing else.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// seatDocs puts the documentation page on the mux. All its links are relative,
// so that it works behind a proxy that adds a prefix.
func (s *surface) seatDocs(mux chi.Router) {
	page := strings.ReplaceAll(docsPage, "{{title}}", html.EscapeString(s.title()))
	files := map[string]http.Handler{
		"/docs":                      newRendering("text/html; charset=utf-8", []byte(page)),
		"/docs/start.js":             newRendering("text/javascript; charset=utf-8", docsStart),
		"/docs/swagger-ui.css":       packed{newRendering("text/css; charset=utf-8", docsStyle)},
		"/docs/swagger-ui-bundle.js": packed{newRendering("text/javascript; charset=utf-8", docsBundle)},
		"/docs/":                     http.HandlerFunc(toDocs),
	}
	for path, h := range files {
		mux.Method(http.MethodGet, path, guardPage(h))
		mux.Method(http.MethodHead, path, guardPage(h))
	}
}

func guardPage(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		h.ServeHTTP(w, r)
	})
}

// toDocs sends a reader of /docs/ to where the page's links fit. The target is
// relative (RFC 9110, section 10.2.2), since a proxy may have cut a prefix.
func toDocs(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "../docs")
	w.WriteHeader(http.StatusPermanentRedirect)
}

// packed is a file that is kept compressed.
type packed struct{ rendering }

// ServeHTTP sends the file as it is kept, or unpacks it for a client that does
// not take it so.
func (p packed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept-Encoding")
	if takesGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		p.rendering.ServeHTTP(w, r)
		return
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(p.body))
	if err != nil {
		panic(err) // it is part of the program
	}
	w.Header().Set("Content-Type", p.kind)
	if r.Method == http.MethodGet {
		_, _ = io.Copy(w, unpacked)
	}
}

// takesGzip reads Accept-Encoding (RFC 9110, section 12.5.3).
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), ";")
		if name = strings.TrimSpace(name); name != "gzip" && name != "*" {
			continue
		}
		weight = strings.ReplaceAll(weight, " ", "")
		return weight != "q=0" && !strings.HasPrefix(weight, "q=0.000")
	}
	return false
}
