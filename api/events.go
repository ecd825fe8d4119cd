package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/runner"
)

// lastEvent is the id of the event that ends a stream. A client that comes back
// with it has seen everything.
const lastEvent = "end"

// getEvents streams the records of a run as server-sent events (WHATWG HTML,
// section 9.2): those there are, and then each as it comes. The id of an event
// is the record's sequence, so that a client that comes back goes on where it
// was. The last event tells how the run ended.
func (s *surface) getEvents(w http.ResponseWriter, r *http.Request) {
	id := eventsRun(r)
	if _, err := runner.Lookup(r.Context(), s.box, id); err != nil {
		s.refuse(w, r, err)
		return
	}
	after, done, err := resumeAt(r.Header.Get("Last-Event-ID"))
	switch {
	case err != nil:
		s.refuse(w, r, err)
	case done:
		w.WriteHeader(http.StatusNoContent) // tells an EventSource not to come back
	default:
		s.stream(w, r, id, after)
	}
}

// resumeAt reads a Last-Event-ID: the sequence after which to go on, -1 for all.
func resumeAt(header string) (after int64, done bool, err error) {
	switch header {
	case "":
		return -1, false, nil
	case lastEvent:
		return 0, true, nil
	}
	after, err = strconv.ParseInt(header, 10, 64)
	if err != nil || after < 0 {
		const message = "expected the id of an event of this stream"
		return 0, false, &badBody{
			http.StatusBadRequest, "header Last-Event-ID: " + message,
			[]httpd.FieldError{{Location: "header.Last-Event-ID", Message: message}},
		}
	}
	return after, false, nil
}

func (s *surface) stream(w http.ResponseWriter, r *http.Request, id string, after int64) {
	out := newEventWriter(w, s.beat)
	defer out.stop()
	for record, err := range runner.Records(r.Context(), s.box, id, after) {
		if err != nil {
			s.streamEnd(r.Context(), out, id, err)
			return
		}
		if out.send(strconv.FormatInt(record.Sequence, 10), "record", record) != nil {
			return
		}
	}
	s.streamEnd(r.Context(), out, id, nil)
}

// streamEnd tells how the run ended. Without an end a client comes back.
func (s *surface) streamEnd(ctx context.Context, out *eventWriter, id string, err error) {
	if err == nil {
		_, err = runner.Await(ctx, s.box, id)
	}
	var info runner.Info
	if err == nil {
		info, err = runner.Lookup(ctx, s.box, id)
	}
	if err != nil {
		return
	}
	_ = out.send(lastEvent, "end", ended{RunID: id, Status: string(info.Status), Error: info.Error})
}

// ended is the data of the last event of a stream.
type ended struct {
	RunID  string `json:"runId"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// eventWriter writes server-sent events, and a comment when there has been
// nothing to write for a while: proxies cut what is silent.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	every   time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	last    time.Time
	stopped bool
}

// patience is how long a client may take no byte of a stream.
const patience = 5 * time.Minute

func newEventWriter(w http.ResponseWriter, every time.Duration) *eventWriter {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	e := &eventWriter{w: w, control: http.NewResponseController(w), every: every, last: time.Now()}
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.control.Flush()
	e.timer = time.AfterFunc(every, e.ping)
	return e
}

// send writes one event.
func (e *eventWriter) send(id, name string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	text := make([]byte, 0, len(body)+64)
	text = append(text, "id: "...)
	text = append(text, id...)
	text = append(text, "\nevent: "...)
	text = append(text, name...)
	text = append(text, "\ndata: "...)
	text = append(text, body...)
	text = append(text, "\n\n"...)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.write(text)
}

// write sends text at once. Callers hold e.mu.
func (e *eventWriter) write(text []byte) error {
	e.last = time.Now()
	_ = e.control.SetWriteDeadline(e.last.Add(patience))
	if _, err := e.w.Write(text); err != nil {
		return err
	}
	return e.control.Flush()
}

// ping writes a comment where nothing was written since the last one.
func (e *eventWriter) ping() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return
	}
	next := e.every - time.Since(e.last)
	if next <= 0 {
		if e.write([]byte(": ping\n")) != nil {
			return
		}
		next = e.every
	}
	e.timer.Reset(next)
}

// stop ends the signs of life and leaves the connection as it was.
func (e *eventWriter) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	e.timer.Stop()
	_ = e.control.SetWriteDeadline(time.Time{})
}
