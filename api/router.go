package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/psyb0t/aicodebox/internal/httpd"
)

// seat is the handler of another surface and where it sits.
type seat struct {
	httpd.Seat
	patterns []string
}

func newSeat(pattern string, h http.Handler) seat {
	patterns := httpd.Patterns(pattern)
	switch brought := h.(type) {
	case httpd.Seat:
		return seat{brought, patterns}
	case *httpd.Seat:
		return seat{*brought, patterns}
	}
	return seat{httpd.Seat{Handler: h}, patterns}
}

// covers tells whether the seat answers for path.
func (s seat) covers(path string) bool {
	return slices.ContainsFunc(s.patterns, func(p string) bool {
		return path == strings.TrimSuffix(p, "/") || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p)
	})
}

// router builds the mux from the table of routes and the seats.
func (s *surface) router() http.Handler {
	if s.doc == nil {
		s.describe()
	}
	mux := chi.NewRouter()
	mux.NotFound(notFound)
	mux.MethodNotAllowed(notAllowed(mux))
	guard := s.guard(httpd.WriteProblem)
	for _, route := range s.routes() {
		h := http.Handler(route.serve)
		if !route.open {
			h = guard(h)
		}
		route.seat(mux, h)
	}
	s.seatDocs(mux)
	for _, st := range s.seats {
		st.seat(mux, s.guardSeat(st))
	}
	return mux
}

// seat puts a route on the mux. What can be read can be asked about (HEAD).
func (rt route) seat(mux chi.Router, h http.Handler) {
	pattern := rt.op.Path
	if rest, found := strings.CutSuffix(pattern, "/{path}"); found {
		pattern = rest + "/*"
	}
	mux.Method(rt.op.Method, pattern, h)
	if rt.op.Method == http.MethodGet && !rt.stream {
		mux.Method(http.MethodHead, pattern, h)
	}
}

func (s seat) seat(mux chi.Router, h http.Handler) {
	for _, p := range s.patterns {
		if prefix, all := strings.CutSuffix(p, "/"); all {
			mux.Handle(p+"*", h)
			if prefix != "" && !slices.Contains(s.patterns, prefix) {
				mux.Handle(prefix, h)
			}
			continue
		}
		mux.Handle(p, h)
	}
}

// guard lets through who may use the API. With a token that is who has it. An
// open API still refuses what a page of another origin makes a browser send.
func (s *surface) guard(fail httpd.Fail) func(http.Handler) http.Handler {
	if s.token != "" {
		return httpd.Bearer(s.token, fail)
	}
	protection := http.NewCrossOriginProtection()
	for _, origin := range s.cors {
		if origin == "*" {
			return func(next http.Handler) http.Handler { return next }
		}
		_ = protection.AddTrustedOrigin(strings.TrimSuffix(origin, "/")) // checked at start
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpd.Early(w, r, func() {
			fail(w, r, http.StatusForbidden,
				"a page of another origin may not use this box; add its origin to AICODEBOX_API_MODE_CORS_ORIGINS, or set a token")
		})
	}))
	return protection.Handler
}

func (s *surface) guardSeat(st seat) http.Handler {
	if st.OwnAuth {
		return st.Handler
	}
	fail := st.Fail
	if fail == nil {
		fail = httpd.WriteProblem
	}
	return s.guard(fail)(st.Handler)
}

// fail refuses a request in the shape of whoever answers for its path.
func (s *surface) fail(w http.ResponseWriter, r *http.Request, status int, detail string) {
	for _, st := range s.seats {
		if st.Fail != nil && st.covers(r.URL.Path) {
			st.Fail(w, r, status, detail)
			return
		}
	}
	httpd.WriteProblem(w, r, status, detail)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	httpd.Early(w, r, func() {
		httpd.WriteProblem(w, r, http.StatusNotFound, "this box has nothing at this path; GET /openapi.json lists what it has")
	})
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// notAllowed answers 405 with the methods that the path does have (RFC 9110,
// section 15.5.6).
func notAllowed(mux chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.RawPath
		if path == "" {
			path = r.URL.Path
		}
		var allowed []string
		for _, m := range methods {
			if mux.Match(chi.NewRouteContext(), m, path) {
				allowed = append(allowed, m)
			}
		}
		list := strings.Join(allowed, ", ")
		w.Header().Set("Allow", list)
		httpd.Early(w, r, func() {
			httpd.WriteProblem(w, r, http.StatusMethodNotAllowed, "this path does not take "+clip(r.Method)+"; it takes "+list)
		})
	}
}
