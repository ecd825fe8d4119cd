package openai

import (
	"net/http"
	"sync"
	"time"
)

// stream is an answer in the form of server-sent events. Frames are written to
// a buffer and sent by a goroutine of their own as fast as the client takes
// them: the first at once, and what comes meanwhile together. A client that
// does not read fills the buffer, and then holds its agent back. While there
// is nothing to send, a comment now and then keeps the connection open.
//
// Its methods are safe for concurrent use.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	beat    time.Duration
	broken  func(error) // called once when the client cannot be written to

	wake chan struct{}
	done chan struct{}

	mu      sync.Mutex
	room    sync.Cond // signalled when the buffer was emptied
	pending []byte
	spare   []byte
	closing bool
	err     error
}

// maxPending is how many bytes may wait for a client.
const maxPending = 1 << 20

// ping is the comment that keeps a connection open. One newline ends it: with
// an empty line after it, some clients take it for an event without data.
const ping = ": ping\n"

// openStream sends the headers of a stream.
func openStream(w http.ResponseWriter, beat time.Duration, broken func(error)) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // for nginx and those that follow it
	w.WriteHeader(http.StatusOK)
	s := &stream{
		w: w, control: http.NewResponseController(w), beat: beat, broken: broken,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	s.room.L = &s.mu
	go s.pump()
	return s
}

// send appends a frame, which write adds to a buffer. It waits while too much
// is pending. Frames for a client that has left are dropped.
func (s *stream) send(write func([]byte) []byte) {
	s.mu.Lock()
	for len(s.pending) > maxPending && s.err == nil {
		s.room.Wait()
	}
	if s.err == nil {
		s.pending = write(s.pending)
	}
	s.mu.Unlock()
	s.nudge()
}

// event sends data, which must be of one line, under a name that may be empty.
func (s *stream) event(name string, data []byte) {
	s.send(func(b []byte) []byte {
		if name != "" {
			b = append(append(append(b, "event: "...), name...), '\n')
		}
		return append(append(append(b, "data: "...), data...), "\n\n"...)
	})
}

// close sends what is pending and ends the stream.
func (s *stream) close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.nudge()
	<-s.done
}

func (s *stream) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pump sends until the stream is closed or its client gone.
func (s *stream) pump() {
	defer close(s.done)
	timer := time.NewTimer(s.beat)
	defer timer.Stop()
	for {
		idle := false
		select {
		case <-s.wake:
		case <-timer.C:
			idle = true
		}
		data, last := s.take(idle)
		if len(data) > 0 {
			if err := s.flush(data); err != nil {
				s.fail(err)
				return
			}
			timer.Reset(s.beat)
		}
		if last {
			return
		}
	}
}

// take takes the pending frames, or a ping if there are none in a long while.
func (s *stream) take(idle bool) (data []byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data = s.pending
	if len(data) == 0 && idle && !s.closing {
		return []byte(ping), false
	}
	s.pending, s.spare = s.spare[:0], data
	s.room.Broadcast()
	return data, s.closing
}

func (s *stream) flush(data []byte) error {
	if _, err := s.w.Write(data); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	s.err, s.pending = err, nil
	s.room.Broadcast()
	s.mu.Unlock()
	s.broken(err)
}
