package openai

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "93.184.216.34": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true, "172.32.0.1": true, "100.128.0.1": true,
		"127.0.0.1": false, "127.8.9.10": false, "::1": false, "::ffff:127.0.0.1": false, "::127.0.0.1": false, "0.0.0.0": false, "::": false, "0.1.2.3": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "fd00::1": false, "fc00::1": false,
		"169.254.169.254": false, "::ffff:169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false,
		"100.100.100.200": false, "168.63.129.16": false, "192.0.0.192": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false,
		"198.18.0.1": false, "203.0.113.9": false, "198.51.100.9": false, "192.0.2.9": false, "fec0::1": false, "100::1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

var png, _ = base64.StdEncoding.DecodeString(pixel[len("data:image/png;base64,"):])

// pictures is a server on this machine, which the guard has to keep out of
// reach unless a test lets it through.
func pictures(t *testing.T, hits *atomic.Int32) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/x.png", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(png) })
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html></html>")) })
	mux.HandleFunc("/gone", http.NotFound)
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		for range maxImage/len(png)/1000 + 2 {
			if _, err := w.Write([]byte(strings.Repeat(string(png), 1000))); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/declared", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "999999999")
		w.WriteHeader(200)
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// No way of writing an address leads to this machine, and nothing connects.
func TestGuard(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	srv := pictures(t, &hits)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	s := start(t, nil)
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "2130706433", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001",
		"127.1", "127.0.1", "0", "0.0.0.0", "[::]", "127.0.0.1.", "user@127.0.0.1", "[fe80::1%25lo]", "１２７.0.0.1", "127。0。0。1",
		"169.254.169.254", "10.0.0.1", "[fd00:ec2::254]",
	} {
		e := s.chat(ask("x", m{"messages": []m{{"role": "user", "content": []m{
			{"type": "text", "text": "TOUCH:ran"}, {"type": "image_url", "image_url": m{"url": "http://" + host + ":" + port + "/x.png"}},
		}}}})).error(400)
		if deref(e.Param) != "messages[0].content[1].image_url.url" || deref(e.Code) != "invalid_image_url" {
			t.Errorf("%s: %+v", host, e)
		}
	}
	if n := hits.Load(); n > 0 {
		t.Errorf("%d connections", n)
	}
}

// What the guard lets through is fetched, within its bounds; every redirect is
// checked again.
func TestFetch(t *testing.T) {
	t.Parallel()
	var hits, secrets atomic.Int32
	srv := pictures(t, &hits)
	private := pictures(t, &secrets)
	ours := func(a netip.AddrPort) bool { return a.String() == srv.Listener.Addr().String() }
	f, hasty := fetcherFor(ours), fetcherFor(ours)
	hasty.client.Timeout = time.Second
	to := func(u string) string { return "/to?u=" + url.QueryEscape(u) }
	for path, want := range map[string]string{
		"/x.png":                     "",
		to("/x.png"):                 "",
		to(private.URL + "/x.png"):   "not on the public internet",
		to("http://2130706433/x"):    "not on the public internet",
		to("file:///etc/passwd"):     "only data, http and https",
		to("gopher://127.0.0.1/x"):   "only data, http and https",
		to("http://u:p@127.0.0.1/x"): "user name",
		"/loop":                      "redirects",
		"/page":                      "not an image",
		"/gone":                      "status 404",
		"/huge":                      "larger than",
		"/declared":                  "larger than",
		"/hang":                      "in time",
	} {
		from := f
		if path == "/hang" {
			from = hasty
		}
		data, _, err := from.fetch(t.Context(), srv.URL+path)
		switch {
		case want == "" && (err != nil || string(data) != string(png)):
			t.Errorf("%s: %v, %d bytes", path, err, len(data))
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "127.0.0.1")):
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if n := secrets.Load(); n > 0 {
		t.Errorf("%d connections to an address that is not allowed", n)
	}
	for _, bad := range []string{"ftp://x/y", "http://", "http:///x", "://", "javascript:1", "//x/y", "\x00", "http://a b/"} {
		if _, _, err := f.fetch(t.Context(), bad); err == nil {
			t.Errorf("%q is fetched", bad)
		}
	}
}

// The address is checked when it is connected to: a name that resolves to
// something else the second time gains nothing.
func TestRebinding(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	srv := pictures(t, &hits)
	f := newFetcher()
	transport := f.client.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, network, srv.Listener.Addr().String()) // what the resolver says now
	}
	_, _, err := f.fetch(t.Context(), "http://images.example/x.png")
	if err == nil || !strings.Contains(err.Error(), "not on the public internet") || hits.Load() > 0 {
		t.Errorf("%v, %d connections", err, hits.Load())
	}
}

// An image that was fetched is saved like any other.
func TestFetchedImage(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	srv := pictures(t, &hits)
	s := start(t, nil, func(s *surface) { s.fetcher = fetcherFor(func(netip.AddrPort) bool { return true }) })
	got := echoOf(t, s.chat(ask("x", tools, m{"messages": []m{{"role": "user", "content": []m{
		{"type": "image_url", "image_url": m{"url": srv.URL + "/x.png"}}, {"type": "text", "text": "ECHO"},
	}}}})).content())
	if !strings.Contains(got.Stdin, "/image-1.png]\nECHO") {
		t.Errorf("%s", got.Stdin)
	}
}

func FuzzDataURL(f *testing.F) {
	f.Add(pixel)
	f.Add("data:,x")
	f.Add("data:;base64,====")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 5 || !strings.EqualFold(s[:5], "data:") {
			return
		}
		data, mediaType, err := decodeDataURL(s)
		if err != nil {
			return
		}
		p := part{kind: partImage, name: mediaType}
		for _, kind := range []partKind{partImage, partFile} {
			p.kind = kind
			name := p.fileName(1, data, mediaType)
			if strings.ContainsAny(name, "/\\\x00\n ") || strings.HasPrefix(name, ".") || len(name) > 150 {
				t.Errorf("file name %q", name)
			}
		}
	})
}
