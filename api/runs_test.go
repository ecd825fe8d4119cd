package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/runner"
)

func TestAsync(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	a := s.run(object{"prompt": "AWAIT:go\nSAY:done", "workspace": "w", "async": true}).want(200).object()
	id := member(t, a, "runId")
	ws := filepath.Join(s.root, "w")
	if diff := cmp.Diff(object{"runId": id, "workspace": ws, "status": "running", "fireAndForget": false}, a); diff != "" {
		t.Error(diff)
	}
	running := object{"runId": id, "workspace": ws, "status": "running"}
	if diff := cmp.Diff(running, s.get("/run/result?runId="+id).want(200).object()); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(filepath.Join(ws, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := object{"runId": id, "workspace": ws, "status": "completed", "exitCode": json.Number("0"), "text": "done"}
	for range 2 { // a result can be read again
		if diff := cmp.Diff(want, s.finished(id)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAsyncAnswersLikeSync(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, body := range map[string]object{
		"exit":    {"prompt": "ERR:bad\nEXIT:5"},
		"raw":     {"prompt": "ERR:warn\nSAY:out", "includeRaw": true},
		"events":  {"prompt": "SAY:out", "eventMode": "full"},
		"schema":  {"prompt": `SAY:{"a":1}`, "jsonSchema": object{"type": "object"}},
		"timeout": {"prompt": "SAY:part\nHANG", "timeoutSeconds": 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body["workspace"] = name
			sync := s.run(body).want(200).object()
			body["fireAndForget"] = true
			begun := s.run(body).want(200).object()
			if begun["fireAndForget"] != true || begun["status"] != "running" {
				t.Errorf("begun %v", begun)
			}
			got := s.finished(member(t, begun, "runId"))
			status := "completed"
			if name == "timeout" {
				status = "failed"
			}
			if got["status"] != status {
				t.Errorf("status %v, want %s", got["status"], status)
			}
			delete(got, "status")
			delete(got, "runId")
			delete(sync, "runId")
			if diff := cmp.Diff(sync, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResultUnknown(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for path, status := range map[string]int{
		"/run/result?runId=nope":  404,
		"/run/result?runId=":      404,
		"/run/result?runId=../..": 404,
		"/run/result":             422,
	} {
		s.get(path).problem(status)
	}
	s.do(http.MethodDelete, "/run/nope", nil).problem(404)
	s.get("/run/nope/events").problem(404)
}

// Results and their shape outlive the box; what was in flight is told as cut.
func TestResultsOutliveTheBox(t *testing.T) {
	t.Parallel()
	env := boxtest.Env{"AICODEBOX_STATE_DIR": t.TempDir(), "AICODEBOX_WORKSPACE": t.TempDir()}
	var id string
	var before object
	t.Run("before", func(t *testing.T) {
		s := start(t, env)
		id = member(t, s.run(object{"prompt": `SAY:{"a":null}`, "workspace": "w", "jsonSchema": object{}, "includeRaw": true, "async": true}).want(200).object(), "runId")
		before = s.finished(id)
	})
	s := start(t, env)
	after := s.finished(id)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if after["stdout"] != "{\"a\":null}\n" || len(after["events"].([]any)) != 1 {
		t.Errorf("result %v", after)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	del := func(id string) object {
		return s.do(http.MethodDelete, "/run/"+id, nil).want(200).object()
	}
	t.Run("async", func(t *testing.T) {
		t.Parallel()
		id := member(t, s.run(object{"prompt": "SAY:part\nTOUCH:on\nSLEEP:60", "workspace": "async", "async": true}).want(200).object(), "runId")
		s.appears("async/on")
		for range 2 {
			if diff := cmp.Diff(object{"runId": id, "status": "cancelled"}, del(id)); diff != "" {
				t.Error(diff)
			}
		}
		if o := s.finished(id); o["status"] != "cancelled" || o["text"] != "part" {
			t.Errorf("result %v", o)
		}
		s.run(object{"prompt": "SAY:free", "workspace": "async"}).want(200)
	})
	t.Run("sync", func(t *testing.T) {
		t.Parallel()
		answer := make(chan answered, 1)
		go func() {
			a, _ := s.try(context.Background(), http.MethodPost, "/run", bodyOf(object{"prompt": "TOUCH:on\nSLEEP:60", "workspace": "sync"}), "Content-Type", "application/json")
			answer <- a
		}()
		s.appears("sync/on")
		id := s.runIn("sync")
		del(id)
		p := (<-answer).problem(409)
		if p.RunID != id || !strings.Contains(p.Detail, "cancelled") {
			t.Errorf("problem %+v", p)
		}
	})
	t.Run("waiting", func(t *testing.T) {
		t.Parallel()
		first := member(t, s.run(object{"prompt": "TOUCH:on\nSLEEP:60", "workspace": "queue", "async": true}).want(200).object(), "runId")
		s.appears("queue/on")
		second := member(t, s.run(object{"prompt": "SAY:x", "workspace": "queue", "async": true, "waitSeconds": 60}).want(200).object(), "runId")
		if o := s.get("/run/result?runId=" + second).object(); o["status"] != "running" || o["waiting"] != true {
			t.Errorf("waiting run %v", o)
		}
		del(second)
		if diff := cmp.Diff(object{"runId": second, "workspace": filepath.Join(s.root, "queue"), "status": "cancelled"}, dropError(s.finished(second))); diff != "" {
			t.Error(diff)
		}
		del(first)
	})
	t.Run("finished", func(t *testing.T) {
		t.Parallel()
		id := member(t, s.run(object{"prompt": "SAY:x", "workspace": "fin"}).want(200).object(), "runId")
		if o := del(id); o["status"] != "completed" {
			t.Errorf("answer %v", o)
		}
	})
	t.Run("of another surface", func(t *testing.T) {
		t.Parallel()
		ended := make(chan error, 1)
		go func() {
			req := runRequest{Prompt: "TOUCH:on\nSLEEP:60", Workspace: "other"}.request()
			_, err := runner.Run(context.Background(), s.box, req, runner.Surface("telegram"))
			ended <- err
		}()
		s.appears("other/on")
		del(s.runIn("other"))
		if err := <-ended; err == nil {
			t.Error("the other surface's run was not cancelled")
		}
	})
}

func dropError(o object) object { delete(o, "error"); return o }

func TestStatus(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	if o := s.get("/status").want(200).object(); len(o["runs"].([]any)) != 0 || len(o["busyWorkspaces"].([]any)) != 0 {
		t.Errorf("idle %v", o)
	}
	id := member(t, s.run(object{"prompt": "TOUCH:on\nSLEEP:60", "workspace": "w", "async": true}).want(200).object(), "runId")
	s.appears("w/on")
	o := s.get("/status").want(200).object()
	ws := filepath.Join(s.root, "w")
	if diff := cmp.Diff([]any{ws}, o["busyWorkspaces"]); diff != "" {
		t.Error(diff)
	}
	run := o["runs"].([]any)[0].(object)
	if run["runId"] != id || run["surface"] != "api" || run["workspace"] != ws || run["status"] != "running" || run["age"] == nil {
		t.Errorf("run %v", run)
	}
	s.do(http.MethodDelete, "/run/"+id, nil).want(200)
	if o := s.get("/status").want(200).object(); len(o["runs"].([]any)) != 0 {
		t.Errorf("a run that ended is still listed: %v", o)
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const key = "Idempotency-Key"
	t.Run("same body", func(t *testing.T) {
		t.Parallel()
		body := object{"prompt": "SEQ:first|second", "workspace": "same"}
		one := s.run(body, key, "k1").want(200)
		two := s.run(`{"workspace":"same", "prompt":"SEQ:first|second"}`, key, "k1").want(200)
		if diff := cmp.Diff(one.object(), two.object()); diff != "" {
			t.Error(diff)
		}
		if two.header.Get("Idempotent-Replayed") != "true" || one.header.Get("Idempotent-Replayed") != "" {
			t.Error("Idempotent-Replayed does not tell the second answer from the first")
		}
		body["prompt"] = "SAY:other"
		p := s.run(body, key, "k1").problem(422)
		if len(p.Errors) != 1 || p.Errors[0].Location != "header.Idempotency-Key" {
			t.Errorf("problem %+v", p)
		}
	})
	t.Run("at the same time", func(t *testing.T) {
		t.Parallel()
		body := object{"prompt": "SEQ:first|second\nSLEEP:0.2", "workspace": "race"}
		var mu sync.Mutex
		ids := map[any]int{}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				a, err := s.try(context.Background(), http.MethodPost, "/run", bodyOf(body), "Content-Type", "application/json", key, "k2")
				if err != nil || a.status != 200 {
					t.Errorf("%d %s %v", a.status, a.body, err)
					return
				}
				o := a.object()
				mu.Lock()
				defer mu.Unlock()
				ids[o["runId"]]++
				if o["text"] != "first" {
					t.Errorf("answer %v", o)
				}
			})
		}
		all.Wait()
		if len(ids) != 1 {
			t.Errorf("runs %v, want one", ids)
		}
	})
	t.Run("async", func(t *testing.T) {
		t.Parallel()
		body := object{"prompt": "AWAIT:go", "workspace": "async", "async": true}
		one := s.run(body, key, "k3").want(200).object()
		if diff := cmp.Diff(one, s.run(body, key, "k3").want(200).object()); diff != "" {
			t.Error(diff)
		}
		s.do(http.MethodDelete, "/run/"+one["runId"].(string), nil).want(200)
	})
	t.Run("a refused request does not use up its key", func(t *testing.T) {
		t.Parallel()
		s.run(object{"prompt": "SAY:x", "workspace": "../x"}, key, "k4").problem(400)
		s.run(object{"prompt": "SAY:x", "workspace": "x"}, key, "k4").want(200)
	})
	t.Run("bad keys", func(t *testing.T) {
		t.Parallel()
		s.run(object{"prompt": "SAY:x"}, key, strings.Repeat("k", 256)).problem(400)
	})
}

// sse is one server-sent event.
type sse struct{ id, name, data string }

// readEvents reads a stream to its end and returns its events.
func readEvents(t testing.TB, body *bufio.Scanner) (events []sse) {
	t.Helper()
	var e sse
	for body.Scan() {
		field, value, _ := strings.Cut(body.Text(), ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e != (sse{}) {
				events = append(events, e)
			}
			e = sse{}
		}
	}
	return events
}

func (s *server) events(id, after string) []sse {
	s.t.Helper()
	req := s.request(s.t.Context(), http.MethodGet, "/run/"+id+"/events", nil)
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		s.t.Errorf("content type %q, status %d", got, res.StatusCode)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 64<<20)
	return readEvents(s.t, lines)
}

func TestEventsReplay(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	id := member(t, s.run(object{"prompt": "SAY:one\nRAW:{\"type\":\"x\"}", "workspace": "w"}).want(200).object(), "runId")
	record := func(seq int, kind, event string) sse {
		return sse{fmt.Sprint(seq), "record", fmt.Sprintf(`{"sequence":%d,"attempt":0,"backend":"fake","eventType":%q,"event":%s}`, seq, kind, event)}
	}
	end := sse{"end", "end", fmt.Sprintf(`{"runId":%q,"status":"completed"}`, id)}
	want := []sse{record(0, "text", `"one"`), record(1, "x", `{"type":"x"}`), end}
	opt := cmp.AllowUnexported(sse{})
	if diff := cmp.Diff(want, s.events(id, ""), opt); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[1:], s.events(id, "0"), opt); diff != "" {
		t.Errorf("after 0: %s", diff)
	}
	if diff := cmp.Diff(want[2:], s.events(id, "1"), opt); diff != "" {
		t.Errorf("after 1: %s", diff)
	}
	s.get("/run/"+id+"/events", "Last-Event-ID", "end").want(204)
	s.get("/run/"+id+"/events", "Last-Event-ID", "nonsense").problem(400)
}

// A live stream tells each record as it comes, and that it lives in between.
func TestEventsLive(t *testing.T) {
	t.Parallel()
	s := start(t, nil, func(s *surface) { s.beat = 20 * time.Millisecond })
	id := member(t, s.run(object{"prompt": "SAY:one\nAWAIT:go\nSAY:two", "workspace": "w", "async": true}).want(200).object(), "runId")
	res, err := http.DefaultClient.Do(s.request(t.Context(), http.MethodGet, "/run/"+id+"/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
		if !lines.Scan() {
			t.Fatal("the stream ended:", lines.Err())
		}
		return lines.Text()
	}
	for !strings.Contains(next(), `"one"`) {
	}
	if next() != "" {
		t.Error("the event is not ended")
	}
	if got := next(); got != ": ping" {
		t.Errorf("in the silence came %q", got)
	}
	if got := next(); got != ": ping" {
		t.Errorf("after a ping came %q, want the next without an empty line", got)
	}
	if err := os.WriteFile(filepath.Join(s.root, "w/go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rest := readEvents(t, lines)
	if len(rest) != 2 || !strings.Contains(rest[0].data, `"two"`) || rest[1].name != "end" {
		t.Errorf("the rest is %+v", rest)
	}
}
