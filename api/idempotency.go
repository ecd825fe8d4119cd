package api

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/internal/ledger"
	"github.com/psyb0t/aicodebox/runner"
)

// maxKey bounds an Idempotency-Key.
const maxKey = 255

// keyOf returns the request's Idempotency-Key, or "".
func keyOf(r *http.Request) (string, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	if len(values) > 1 || key == "" || len(key) > maxKey {
		const message = "expected one value of 1 to 255 characters"
		return "", &badBody{
			http.StatusBadRequest, "header Idempotency-Key: " + message,
			[]httpd.FieldError{{Location: "header.Idempotency-Key", Message: message}},
		}
	}
	return key, nil
}

// runOnce runs q unless a run with this key exists; then that one answers.
func (s *surface) runOnce(w http.ResponseWriter, r *http.Request, q runRequest, key string) {
	key = surfaceName + ":" + key
	for {
		info, err := runner.ByKey(r.Context(), s.box, key)
		if err == nil {
			s.replay(w, r, q, info)
			return
		}
		if !errors.Is(err, runner.ErrNotFound) {
			s.refuse(w, r, err)
			return
		}
		begun, other := s.claims.take(key)
		if begun == nil { // somebody else begins it right now
			if !wait(r.Context(), other) {
				return
			}
			continue
		}
		err = s.tryRun(w, r, q, runner.Idempotent(key, q.hash()),
			runner.OnStart(func(string) { begun() }), runner.OnQueued(func(int) { begun() }))
		begun()
		if errors.Is(err, runner.ErrKeyUsed) { // by another box on the same state directory
			continue
		}
		if err != nil {
			s.refuse(w, r, err)
		}
		return
	}
}

func wait(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// replay answers with a run that was begun before under the same key.
func (s *surface) replay(w http.ResponseWriter, r *http.Request, q runRequest, info runner.Info) {
	if info.KeyHash != q.hash() {
		const message = "this key was used with another body less than 24 hours ago; use a new key"
		s.refuse(w, r, &badBody{
			http.StatusUnprocessableEntity, "header Idempotency-Key: " + message,
			[]httpd.FieldError{{Location: "header.Idempotency-Key", Message: message}},
		})
		return
	}
	w.Header().Set("Idempotent-Replayed", "true")
	if q.detached() {
		answer := progress(info)
		answer.FireAndForget = &q.FireAndForget
		writeJSON(w, http.StatusOK, answer)
		return
	}
	result, err := runner.Await(r.Context(), s.box, info.ID)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if result.Status == ledger.Cancelled {
		s.refuse(w, r, &runner.CancelledError{Reason: "the first run with this Idempotency-Key was cancelled; use a new key to run again", Result: result})
		return
	}
	s.answerOf(r.Context(), result, q.shape()).send(w)
}

// claims keeps two requests with one key from beginning a run each: between
// the look for an earlier run and the moment when the new one is on record,
// the key belongs to one request.
type claims struct {
	mu    sync.Mutex
	taken map[string]chan struct{}
}

// take claims key. It returns what gives it back, or, if it is taken, a channel
// that is closed when it is given back.
func (c *claims) take(key string) (release func(), taken <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, ok := c.taken[key]; ok {
		return nil, held
	}
	if c.taken == nil {
		c.taken = make(map[string]chan struct{})
	}
	held := make(chan struct{})
	c.taken[key] = held
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.taken, key)
		close(held)
	}), nil
}
