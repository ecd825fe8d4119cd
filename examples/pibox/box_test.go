package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/fakemodel"
)

// patience is how long the tests wait for what must happen: generous, since
// the real pi takes seconds to start on a machine that is busy.
const patience = 120 * time.Second

// process is a built pibox that serves, with the real pi behind it and a
// scripted model behind that.
type process struct {
	url       string
	workspace string // root of all workspaces
	model     *fakemodel.Server
	cmd       *exec.Cmd
	log       *lockedBuffer
	done      chan struct{} // closed when it has ended
}

// startBox builds and starts pibox and ends it with the test.
func startBox(t *testing.T) *process {
	t.Helper()
	model, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	p := &process{workspace: t.TempDir(), model: model, log: new(lockedBuffer), done: make(chan struct{})}
	p.cmd = exec.Command(build(t)) //nolint:noctx // ended by the cleanup below
	p.cmd.Dir = t.TempDir()
	p.cmd.Env = append(os.Environ(),
		"PATH="+filepath.Dir(findPi(t))+string(os.PathListSeparator)+os.Getenv("PATH"),
		"PI_CODING_AGENT_DIR="+piDirectory(t, model.URL),
		"PI_OFFLINE=1",
		"FAKE_KEY=fake-key-1",
		"PIBOX_API_MODE=1",
		"PIBOX_API_MODE_HOST=127.0.0.1",
		"PIBOX_API_MODE_PORT=0",
		"PIBOX_AVAILABLE_MODELS=fake/fake-1,nowhere/fake-1",
		"PIBOX_WORKSPACE="+p.workspace,
		"PIBOX_STATE_DIR="+t.TempDir(),
	)
	p.serve(t)
	return p
}

// serve starts the process and waits until its API listens.
func (p *process) serve(t *testing.T) {
	t.Helper()
	output, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(t) })
	address := make(chan string, 1)
	go p.watch(output, address)
	select {
	case p.url = <-address:
	case <-p.done:
		t.Fatalf("pibox ended at once:\n%s", p.log)
	case <-time.After(patience):
		t.Fatalf("pibox does not listen:\n%s", p.log)
	}
}

var listens = regexp.MustCompile(`the API listens.*address=(\S+)`)

// watch keeps the log of the box, finds its address there, and waits for its
// end.
func (p *process) watch(output io.Reader, address chan<- string) {
	defer close(p.done)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		fmt.Fprintln(p.log, lines.Text())
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			address <- "http://" + m[1]
		}
	}
	_ = p.cmd.Wait() // stop looks at the state
}

// stop ends the box as an operator would and expects a clean end.
func (p *process) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.done:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		t.Errorf("pibox does not end on SIGTERM:\n%s", p.log)
		return
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("pibox ended with %d:\n%s", code, p.log)
	}
	if t.Failed() {
		t.Logf("log of pibox:\n%s", p.log)
	}
}

// answer is what POST /run and GET /run/result give.
type answer struct {
	RunID         string
	Workspace     string
	Status        string
	Error         string
	ExitCode      int
	Text          string
	JSON          json.RawMessage
	SessionID     string
	Usage         map[string]float64
	ProviderError *struct {
		Message   string
		Status    int
		Retryable bool
	}
	Stderr string
}

// run asks over POST /run and expects a 200.
func (p *process) run(t *testing.T, fields map[string]any) answer {
	t.Helper()
	if fields["model"] == nil {
		fields["model"] = "fake/fake-1"
	}
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	p.call(t, http.MethodPost, "/run", body, &a)
	return a
}

// call makes one request of the API and expects a 200.
func (p *process) call(t *testing.T, method, path string, body []byte, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s is %d: %s", method, path, res.StatusCode, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, data)
	}
}

// asked are the requests that the model got for prompts that contain part.
func (p *process) asked(part string) (all []fakemodel.Request) {
	for _, r := range p.model.Requests() {
		if strings.Contains(r.User(), part) {
			all = append(all, r)
		}
	}
	return all
}

// build compiles pibox once for all tests.
func build(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pibox-test-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "pibox")
	output, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput() //nolint:noctx // once, for all tests
	if err != nil {
		return "", fmt.Errorf("build pibox: %w\n%s", err, output)
	}
	return path, nil
})

// built is the directory of the binary, for TestMain to remove.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// findPi returns the real pi: of the directory that AICODEBOX_TEST_AGENTS names,
// of the repository's cache, or of the PATH.
func findPi(t *testing.T) string {
	t.Helper()
	var places []string
	if dir := os.Getenv("AICODEBOX_TEST_AGENTS"); dir != "" {
		places = append(places, filepath.Join(dir, "bin", "pi"), filepath.Join(dir, "pi"))
	}
	cache, err := filepath.Abs("../../.cache/agents/bin/pi")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(places, cache) {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	path, err := exec.LookPath("pi")
	if err != nil {
		t.Fatal("these tests need the real pi: run `make agents` once, or name its directory in AICODEBOX_TEST_AGENTS")
	}
	return path
}

// piDirectory makes pi's state directory, with the scripted model as provider
// and no retries, which take 14 s.
func piDirectory(t *testing.T, model string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"models.json": fmt.Sprintf(`{"providers": {"fake": {"baseUrl": "%s/v1", "apiKey": "$FAKE_KEY", "api": "openai-completions",
			"models": [{"id": "fake-1", "reasoning": true, "contextWindow": 4000000, "maxTokens": 8192}]}}}`, model),
		"settings.json": `{"retry": {"enabled": false}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}
