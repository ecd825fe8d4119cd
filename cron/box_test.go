package cron

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/api"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
)

// boxRole, set in the environment, makes the test binary a box with the fake
// agent, the API and the scheduler.
const boxRole = "CRON_TEST_BOX"

func serveBox() {
	if err := os.Unsetenv(boxRole); err != nil { // or its agents would be boxes
		panic(err)
	}
	aicodebox.Run(boxtest.Adapter{}, api.Surface(), Surface())
}

// program is where boxes of a test work: their directories and settings.
type program struct {
	t         *testing.T
	dir       string
	workspace string
	file      string
	env       []string
}

func newProgram(t *testing.T, file string, env ...string) *program {
	t.Helper()
	dir := t.TempDir()
	p := &program{t: t, dir: dir, workspace: filepath.Join(dir, "workspace"), file: filepath.Join(dir, "jobs.yaml")}
	if err := os.Mkdir(p.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	p.write(file)
	p.env = append([]string{
		boxRole + "=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "AICODEBOX_WORKSPACE=" + p.workspace,
		"AICODEBOX_CRON_MODE_FILE=" + p.file, "AICODEBOX_LOG_FORMAT=json",
	}, env...)
	return p
}

func (p *program) write(file string) {
	p.t.Helper()
	if err := os.WriteFile(p.file, []byte(file), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// history is where the boxes keep cron's state.
func (p *program) history() string { return filepath.Join(p.dir, ".aicodebox", "cron") }

// command runs the program to its end.
func (p *program) command(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, fakeagent.Command(), args...)
	cmd.Env = p.env
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	_ = cmd.Run() // its code tells
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// served is a box that serves.
type served struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan struct{}

	mu   sync.Mutex
	text strings.Builder
	more *sync.Cond
}

func (p *program) serve(env ...string) *served {
	p.t.Helper()
	s := &served{t: p.t, ended: make(chan struct{})}
	s.more = sync.NewCond(&s.mu)
	s.cmd = exec.CommandContext(p.t.Context(), fakeagent.Command())
	s.cmd.Env = append(append([]string{"AICODEBOX_CRON_MODE=1"}, p.env...), env...)
	log, err := s.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go s.read(log)
	p.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.ended
	})
	s.await(`"the box serves"`)
	return s
}

func (s *served) read(log io.Reader) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		s.mu.Lock()
		s.text.WriteString(lines.Text() + "\n")
		s.more.Broadcast()
		s.mu.Unlock()
	}
	_ = s.cmd.Wait()
	close(s.ended)
	s.more.Broadcast()
}

// await waits until the log holds text, and returns that line.
func (s *served) await(text string) string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for line := range strings.Lines(s.text.String()) {
			if strings.Contains(line, text) {
				return line
			}
		}
		select {
		case <-s.ended:
			s.t.Fatalf("the box ended without %s:\n%s", text, s.text.String())
		default:
		}
		s.more.Wait()
	}
}

func (s *served) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// end sends a signal and returns the exit status.
func (s *served) end(sig syscall.Signal) int {
	s.t.Helper()
	s.signal(sig)
	<-s.ended
	return s.cmd.ProcessState.ExitCode()
}

// client talks to the API of a box.
type client struct {
	t   *testing.T
	url string
}

func (s *served) client() *client {
	s.t.Helper()
	var line struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal([]byte(s.await(`"the API listens"`)), &line); err != nil {
		s.t.Fatal(err)
	}
	return &client{s.t, "http://" + line.Address}
}

func (c *client) do(method, path, token string) (status int, body string, header http.Header) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

const everySecond = `
jobs:
  - {name: tick, schedule: "*/1 * * * * *", instruction: "SAY:at {system_datetime} job {job_name} ws {workspace}", workspace: c1, timezone: UTC}
`

// TestBox runs a box by the real clock, with the API beside it.
func TestBox(t *testing.T) {
	t.Parallel()
	p := newProgram(t, everySecond+`  - {name: by_hand, schedule: "@yearly", instruction: "AWAIT:go\nSAY:done", workspace: c2, enabled: false}`+"\n",
		"AICODEBOX_API_MODE=1", "AICODEBOX_API_MODE_HOST=127.0.0.1", "AICODEBOX_API_MODE_PORT=0",
		"AICODEBOX_API_MODE_TOKEN=secret", "AICODEBOX_AVAILABLE_MODELS=m", "AICODEBOX_CRON_MODE_HISTORY_KEEP=1")
	box := p.serve()
	c := box.client()

	if status, _, _ := c.do(http.MethodGet, "/cron/jobs", ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	status, body, _ := c.do(http.MethodPost, "/cron/jobs/by_hand/run", "secret")
	var started struct{ Job, RunID, Status string }
	if err := json.Unmarshal([]byte(body), &started); err != nil || status != http.StatusAccepted || started.RunID == "" || started.Job != "by_hand" {
		t.Fatalf("%d %s", status, body)
	}
	for _, test := range []struct {
		method, path string
		want         int
	}{
		{http.MethodPost, "/cron/jobs/by_hand/run", http.StatusConflict},
		{http.MethodPost, "/cron/jobs/nobody/run", http.StatusNotFound},
		{http.MethodGet, "/cron/jobs/by_hand/run", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/cron/jobs", http.StatusMethodNotAllowed},
		{http.MethodGet, "/cron/other", http.StatusNotFound},
	} {
		status, body, header := c.do(test.method, test.path, "secret")
		if status != test.want || header.Get("Content-Type") != "application/problem+json" || (status == http.StatusMethodNotAllowed) != (header.Get("Allow") != "") {
			t.Errorf("%s %s: %d %v %s", test.method, test.path, status, header, body)
		}
	}
	put(t, filepath.Join(p.workspace, "c2", "go"))
	eventually(t, "the job ends", func() bool { return len(lines(t, p.history(), "by_hand")) == 1 })
	eventually(t, "it ticks", func() bool { return len(only(lines(t, p.history(), "tick"), statusCompleted)) > 1 })
	checkJobs(t, c, started.RunID)
	if status, body, _ := c.do(http.MethodGet, "/run/result?runId="+started.RunID, "secret"); status != http.StatusOK || !strings.Contains(body, "done") {
		t.Errorf("%d %s", status, body)
	}
	if status, body, _ := c.do(http.MethodGet, "/openapi.json", "secret"); status != http.StatusOK || !strings.Contains(body, "/cron/jobs/{name}/run") {
		t.Errorf("the document lacks the routes: %d", status)
	}
	got := lines(t, p.history(), "tick")[0]
	if want := " UTC job tick ws " + filepath.Join(p.workspace, "c1"); !strings.HasSuffix(*got.Text, want) {
		t.Errorf("got %q", *got.Text)
	}

	p.write("jobs:\n  - {name: tick}\n")
	box.signal(syscall.SIGHUP)
	box.await(`line 2: job \"tick\": schedule: is missing`)
	n := len(lines(t, p.history(), "tick"))
	eventually(t, "it goes on after a bad file", func() bool { return len(lines(t, p.history(), "tick")) > n })
	p.write(strings.ReplaceAll(everySecond, "name: tick", "name: tock"))
	box.signal(syscall.SIGHUP)
	eventually(t, "the new job runs", func() bool { return len(lines(t, p.history(), "tock")) > 0 })
	if code := box.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if dirs, _ := (&store{dir: p.history()}).dirsOf("tick"); len(dirs) != 1 {
		t.Errorf("kept %v", dirs)
	}
}

// checkJobs looks at the list of jobs.
func checkJobs(t *testing.T, c *client, runID string) {
	t.Helper()
	status, body, _ := c.do(http.MethodGet, "/cron/jobs", "secret")
	var list struct{ Jobs []jobView }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Jobs) != 2 {
		t.Fatalf("%d %s", status, body)
	}
	tick, hand := list.Jobs[0], list.Jobs[1]
	if tick.NextRun == nil || tick.LastRun == nil || !tick.Enabled || tick.Timezone != "UTC" || tick.Workspace != "c1" {
		t.Errorf("got %s", body)
	}
	if hand.NextRun != nil || hand.Enabled || hand.LastRun == nil || hand.LastRun.RunID != runID || hand.LastRun.Status != statusCompleted {
		t.Errorf("got %s", body)
	}
	if strings.Contains(body, "SAY:") {
		t.Error("the list holds prompts")
	}
}

// TestKilledBox kills a box in the middle of a run, while a second box on the
// same state directory lives: each time of the ticking job runs once.
func TestKilledBox(t *testing.T) {
	t.Parallel()
	p := newProgram(t, everySecond+`  - {name: long, schedule: "*/1 * * * * *", instruction: "SAY:part\nHANG", workspace: c3}`+"\n", "AICODEBOX_SHUTDOWN_GRACE_SECONDS=1")
	long := func() []summary { return lines(t, p.history(), "long") }
	metas := func() []string {
		dirs, _ := (&store{dir: p.history()}).dirsOf("long")
		return dirs
	}
	first := p.serve()
	eventually(t, "the long job runs", func() bool { return len(metas()) == 1 })
	second := p.serve()
	eventually(t, "both boxes have met", func() bool { return len(lines(t, p.history(), "tick")) > 2 })
	if len(metas()) != 1 || len(long()) != 0 {
		t.Errorf("the long job runs twice: %v %v", metas(), long())
	}
	dir := metas()[0]
	if m := readMeta(t, dir); m.Status != statusRunning || m.FinishedAt != nil {
		t.Errorf("while it runs: %+v", m)
	}
	first.end(syscall.SIGKILL)
	eventually(t, "the run is noted as cut short", func() bool { return len(only(long(), statusInterrupted)) == 1 })
	if m := readMeta(t, dir); m.Status != statusInterrupted || *m.Error != interruption || m.FinishedAt == nil {
		t.Errorf("after the death of its box: %+v", m)
	}
	eventually(t, "the job runs again", func() bool { return len(metas()) == 2 })
	if code := second.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit status %d", code)
	}
	slots := map[string]int{}
	for _, line := range only(lines(t, p.history(), "tick"), statusCompleted) {
		if slots[line.ScheduledFor]++; slots[line.ScheduledFor] > 1 {
			t.Errorf("%s ran twice", line.ScheduledFor)
		}
	}
	third := p.serve("AICODEBOX_CRON_MODE=0", "AICODEBOX_API_MODE=1", "AICODEBOX_API_MODE_HOST=127.0.0.1", "AICODEBOX_API_MODE_PORT=0",
		"AICODEBOX_AVAILABLE_MODELS=m") // it ends the agent that the killed box left
	third.end(syscall.SIGTERM)
	cut := only(long(), statusInterrupted)
	if last := readMeta(t, cut[len(cut)-1].HistoryDir); len(cut) != 2 || last.Status != statusInterrupted {
		t.Errorf("the run that the shutdown ended: %+v", cut)
	}
}

// TestStartErrors starts boxes with files that are not good.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "jobs:\n  - {name: a b, shedule: x}\n", "AICODEBOX_CRON_MODE=1")
	_, log, code := p.command()
	if code != 2 {
		t.Errorf("exit status %d", code)
	}
	for _, want := range []string{
		p.file + `: line 2: job "a b": name: must be made of`, `line 2: job "a b": shedule: no such key; did you mean schedule?`,
		`line 2: job "a b": instruction: is missing`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
	p.env = append(p.env, "AICODEBOX_CRON_MODE_FILE=")
	if _, log, code := p.command(); code != 2 || !strings.Contains(log, "CRON_MODE_FILE") {
		t.Errorf("%d %s", code, log)
	}
	p.env = append(p.env, "AICODEBOX_CRON_MODE_FILE=/nowhere/jobs.yaml")
	if _, log, code := p.command(); code != 2 || !strings.Contains(log, "/nowhere/jobs.yaml") {
		t.Errorf("%d %s", code, log)
	}
}

// TestCommands checks a file and runs a job from the command line.
func TestCommands(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `timezone: Europe/Berlin
jobs:
  - {name: night, schedule: "0 30 2 * * *", instruction: "SAY:good night"}
  - {name: both, schedule: "0 0 9 13 * 5", instruction: "EXIT:3", enabled: off}
`)
	out, log, code := p.command("box", "cron", "check", p.file)
	if code != 0 || strings.Count(out, " 02:30:00 +0") < 4 || !strings.Contains(out, `night: "0 30 2 * * *" (Europe/Berlin)`) ||
		!strings.Contains(out, "(Europe/Berlin, not enabled)") || !strings.Contains(out, "warning: day of month and day of week") ||
		!strings.Contains(out, "note: the clocks skip") {
		t.Errorf("%d\n%s%s", code, out, log)
	}
	if again, _, _ := p.command("box", "cron", "check"); again != out {
		t.Errorf("without a file:\n%s", again)
	}
	if out, log, code = p.command("box", "cron", "run", "night"); code != 0 || out != "good night\n" {
		t.Errorf("%d\n%s%s", code, out, log)
	}
	if got := lines(t, p.history(), "night"); len(got) != 1 || got[0].Trigger != byHand {
		t.Errorf("got %+v", got)
	}
	if _, log, code = p.command("box", "cron", "run", "both"); code != 1 || !strings.Contains(log, "job both: the agent ended with exit code 3 (failed)") {
		t.Errorf("%d %s", code, log)
	}
	if _, log, code = p.command("box", "cron", "run", "nobody"); code != 1 || !strings.Contains(log, "it has both, night") {
		t.Errorf("%d %s", code, log)
	}
	for _, args := range [][]string{{"box", "cron"}, {"box", "cron", "run"}, {"box", "cron", "check", "a", "b"}, {"box", "cron", "x"}} {
		if _, log, code = p.command(args...); code != 1 || !strings.Contains(log, "say check FILE") {
			t.Errorf("%v: %d %s", args, code, log)
		}
	}
	elsewhere := filepath.Join(p.dir, "elsewhere")
	p.env = append(p.env, "AICODEBOX_CRON_MODE_HISTORY_DIR="+elsewhere)
	if _, log, code = p.command("box", "cron", "run", "night"); code != 0 || len(lines(t, elsewhere, "night")) != 1 {
		t.Errorf("the history is not where it was told to be: %d %s", code, log)
	}
	p.write("jobs:\n  - {name: a, schedule: @daily, instruction: x}\n")
	if _, log, code = p.command("box", "cron", "check", p.file); code != 1 || !strings.Contains(log, `job "a": schedule: quote the schedule`) {
		t.Errorf("%d %s", code, log)
	}
}
