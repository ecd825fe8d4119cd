package api

import (
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The page renders without the network and under its policy, and a call that
// is tried there works with a token: directly, and behind a path prefix.
func TestDocsInBrowser(t *testing.T) {
	t.Parallel()
	s := start(t, tokenEnv)
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/some/box", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}))
	t.Cleanup(proxy.Close)
	dir := os.Getenv("API_SCREENSHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	pages := []string{s.url + "/docs", proxy.URL + "/some/box/docs/"}
	for i, seen := range visitDocs(t, s.token, dir, pages) {
		if len(seen.Failed) > 0 || len(seen.Console) > 0 {
			t.Errorf("%s: failed requests %q, console %q", pages[i], seen.Failed, seen.Console)
		}
		if seen.Operations < 12 || seen.Status != "200" || !strings.Contains(seen.Body, "busyWorkspaces") {
			t.Errorf("%s: seen %+v", pages[i], seen)
		}
		if n := colours(t, filepath.Join(dir, fmt.Sprint(i)+".png")); n < 20 {
			t.Errorf("%s: the screenshot has %d colours", pages[i], n)
		}
	}
}

// seen is what a visitor saw of the page.
type seen struct {
	Failed, Console []string
	Operations      int
	Status, Body    string
}

func visitDocs(t *testing.T, token, dir string, pages []string) []seen {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: run scripts/api-tools/install first", err)
	}
	args := append([]string{"testdata/docs.mjs", tool(t, "playwright-core", "index.js"), chromium, token, dir}, pages...)
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var visits []seen
	if err := json.Unmarshal(out, &visits); err != nil || len(visits) != len(pages) {
		t.Fatalf("%v: %s", err, out)
	}
	return visits
}

// colours counts the colours of a picture, up to a few hundred.
func colours(t *testing.T, file string) int {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	found := map[[3]uint32]bool{}
	bounds := picture.Bounds().Intersect(image.Rect(0, 0, 4000, 4000))
	for y := bounds.Min.Y; y < bounds.Max.Y && len(found) < 500; y += 3 {
		for x := bounds.Min.X; x < bounds.Max.X; x += 3 {
			r, g, b, _ := picture.At(x, y).RGBA()
			found[[3]uint32{r, g, b}] = true
		}
	}
	return len(found)
}
