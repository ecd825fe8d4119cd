package httpd_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox/internal/httpd"
)

// server starts a Server and returns its address, what stops it, what makes it
// give up, and what Serve returned.
func server(t *testing.T, h http.Handler) (url string, stop, giveUp func(), ended <-chan error) {
	t.Helper()
	ln, err := httpd.Listen(t.Context(), "127.0.0.1", 0, "X_PORT")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	work, giveUp := context.WithCancel(t.Context())
	out := make(chan error, 1)
	go func() {
		out <- (&httpd.Server{Handler: h, Log: quiet(), Brief: httpd.IsHealth}).Serve(ctx, work, ln)
	}()
	t.Cleanup(func() { stop(); giveUp() })
	return "http://" + ln.Addr().String(), stop, giveUp, out
}

func TestServerDrains(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}), make(chan struct{})
	draining := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		fmt.Fprint(w, "done")
	})
	mux.Handle("/healthz", httpd.Health{Adapter: "fake", Version: "1", Draining: draining})
	url, stop, _, ended := server(t, mux)
	answer := make(chan string, 1)
	go func() {
		res, err := http.Get(url + "/slow")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		answer <- string(body)
	}()
	<-began
	close(draining)
	stop()
	res, err := http.Get(url + "/healthz")
	if err != nil {
		t.Fatalf("a health check during the drain: %v", err)
	}
	defer res.Body.Close()
	if res.StatusCode != 503 {
		t.Errorf("health %d during the drain, want 503", res.StatusCode)
	}
	close(finish)
	if got := <-answer; got != "done" {
		t.Errorf("the request in hand got %q", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServerGivesUp(t *testing.T) {
	t.Parallel()
	began, cause := make(chan struct{}), make(chan error, 1)
	url, stop, giveUp, ended := server(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		cause <- context.Cause(r.Context())
	}))
	go func() {
		if res, err := http.Get(url); err == nil {
			res.Body.Close()
		}
	}()
	<-began
	stop()
	giveUp()
	if err := <-cause; err == nil || err.Error() != "the box is shutting down" {
		t.Errorf("cause %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestListenInUse(t *testing.T) {
	t.Parallel()
	ln, err := httpd.Listen(t.Context(), "127.0.0.1", 0, "X_PORT")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	port := int64(ln.Addr().(*net.TCPAddr).Port)
	_, err = httpd.Listen(t.Context(), "127.0.0.1", port, "X_PORT")
	if err == nil || !strings.Contains(err.Error(), "set X_PORT to a free one") {
		t.Errorf("error %v", err)
	}
}
