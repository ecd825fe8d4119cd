package mcp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/psyb0t/aicodebox/internal/httpd"
)

// guard keeps web pages out that make a browser call the box: by the name it is
// called (a name that an attacker's DNS turned to this machine), and by the
// origin of the page.
//
// Loopback names always pass. Without a list of hosts, every host passes if
// callers need a token, and no other if not.
type guard struct {
	token                  bool // callers need a token
	hosts, origins         []string
	hostsName, originsName string // of the settings
}

// wrap lets h answer what passes.
func (g guard) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.passesHost(r.Host) {
			g.refuse(w, r, http.StatusMisdirectedRequest,
				"this box does not answer to the name of the Host header; add it to "+g.hostsName)
			return
		}
		origin := r.Header.Get("Origin")
		if len(r.Header.Values("Origin")) == 0 {
			h.ServeHTTP(w, r)
			return
		}
		if !g.passesOrigin(origin) {
			g.refuse(w, r, http.StatusForbidden,
				"pages of this origin may not use the box; add the origin to "+g.originsName)
			return
		}
		httpd.CORS([]string{origin})(h).ServeHTTP(w, r)
	})
}

func (g guard) refuse(w http.ResponseWriter, r *http.Request, status int, detail string) {
	httpd.Early(w, r, func() { httpd.WriteProblem(w, r, status, detail) })
}

// passesHost tells whether clients may call the box by this name. Ports do not
// count, names are compared in whole.
func (g guard) passesHost(host string) bool {
	if g.token && len(g.hosts) == 0 {
		return true
	}
	name := hostname(host)
	if isLoopback(name) {
		return true
	}
	for _, known := range g.hosts {
		if name != "" && name == hostname(known) {
			return true
		}
	}
	return false
}

// passesOrigin tells whether pages of this origin may call the box. Ports do
// not count, scheme and name do.
func (g guard) passesOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return false // also for "null", the origin of what hides its own
	}
	name := hostname(u.Host)
	if isLoopback(name) {
		return u.Scheme == "http" || u.Scheme == "https"
	}
	for _, known := range g.origins {
		k, err := url.Parse(known)
		if err == nil && strings.EqualFold(k.Scheme, u.Scheme) && hostname(k.Host) == name {
			return true
		}
	}
	return false
}

// hostname returns the name of host[:port], in lower case and without the
// brackets of an address.
func hostname(host string) string {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return strings.ToLower(name)
}

// isLoopback tells whether name is a name of the machine itself.
func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback() && addr.Zone() == ""
}
