package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/boxtest"
)

// emulator is telegram-test-api, a Bot API that others wrote.
type emulator struct {
	t     testing.TB
	url   string
	token string
}

// startEmulator starts it on a free port.
func startEmulator(t testing.TB) *emulator {
	t.Helper()
	dir := os.Getenv("TELEGRAM_TOOLS")
	if dir == "" {
		dir = filepath.Join("..", ".cache", "telegram-tools")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "telegram-test-api")); err != nil {
		t.Fatalf("%v: run scripts/telegram-tools/install first", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`const T = require("telegram-test-api"); new (T.TelegramServer || T.default || T)({port: %d, host: "127.0.0.1"}).start().then(() => console.log("up"))`, port)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", "-e", script)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, len("up"))); err != nil {
		t.Fatalf("the emulator does not start: %v", err)
	}
	return &emulator{t: t, url: fmt.Sprintf("http://127.0.0.1:%d", port), token: "1:emulated-token"}
}

// post asks the emulator as a person's client.
func (e *emulator) post(path string, body any, into any) {
	e.t.Helper()
	req, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.url+path, strings.NewReader(jsonOf(body)))
	if err != nil {
		e.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		e.t.Fatal(err)
	}
}

func (e *emulator) write(text string) {
	e.t.Helper()
	e.post("/sendMessage", map[string]any{
		"botToken": e.token, "date": 1, "text": text,
		"from": map[string]any{"id": ann, "first_name": "Ann"}, "chat": map[string]any{"id": ann, "type": "private"},
	}, new(any))
}

// history is all that the bot and the person wrote.
func (e *emulator) history() string {
	e.t.Helper()
	var all struct{ Result []any }
	e.post("/getUpdatesHistory", map[string]any{"token": e.token}, &all)
	return jsonOf(all.Result)
}

// asJSON is the way from the bot to the emulator, which reads no multipart
// bodies.
func (e *emulator) asJSON() *httptest.Server {
	target, err := url.Parse(e.url)
	if err != nil {
		e.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ParseMultipartForm(1<<20) == nil {
			fields := map[string]any{}
			for name, values := range r.MultipartForm.Value {
				fields[name] = values[0]
			}
			body := []byte(jsonOf(fields))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Type", "application/json")
		}
		proxy.ServeHTTP(w, r)
	}))
	e.t.Cleanup(s.Close)
	return s
}

// The bot serves another's Bot API too, one that knows few methods, never waits
// in a poll, and answers edits and deletions with null.
func TestEmulator(t *testing.T) {
	t.Parallel()
	e := startEmulator(t)
	b := prepare(t, "", boxtest.Env{
		"AICODEBOX_TELEGRAM_MODE_API_URL": e.asJSON().URL, "AICODEBOX_TELEGRAM_MODE_TOKEN": e.token,
	})
	b.pace.progress = 50 * time.Millisecond
	b.run()
	seen := func(text string) {
		t.Helper()
		b.until(text+" in the emulator", func() bool { return strings.Contains(e.history(), text) })
	}
	e.write("SAY:**hello** & goodbye")
	seen(`\u003cb\u003ehello\u003c/b\u003e \u0026amp; goodbye`)
	e.write("/status")
	seen("Workspace: chat_7")
	e.write("TOUCH:on\nAWAIT:go\nSAY:first")
	b.await("on")
	e.write("SAY:second")
	seen("1 before this one")
	seen("Working")
	b.put("go", "")
	seen("first")
	seen(`"text":"second"`)
	if h := e.history(); strings.Contains(h, "Working") || strings.Contains(h, "before this one") {
		t.Errorf("receipts stayed: %s", h)
	}
}
