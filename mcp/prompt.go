package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"github.com/psyb0t/aicodebox"
)

// runPrompt has the agent answer a prompt. The call lasts as long as the run if
// the client asked for progress, and at most as long as the setting says if
// not.
func (s *surface) runPrompt(c *call, args *arguments) (output, error) {
	req, err := readPrompt(args)
	if err != nil {
		return output{}, err
	}
	key, err := callKey(c.session(), req)
	if err != nil {
		return output{}, err
	}
	f := s.flights.join(key, func(f *flight) { f.fly(c.ctx, s.box, req) })
	began := time.Now()
	switch ended, err := s.wait(c, f); {
	case err != nil:
		f.leave(reason(err))
		return output{}, err
	case !ended:
		f.tell()
		return unfinished(f.id, time.Since(began)), nil
	}
	return s.report(f.id, f.result, f.err)
}

// readPrompt makes a request of the arguments.
func readPrompt(args *arguments) (aicodebox.Request, error) {
	req := aicodebox.Request{
		Prompt:       args.required("prompt"),
		Workspace:    args.text("workspace"),
		Model:        args.text("model"),
		System:       args.text("system_prompt"),
		AppendSystem: args.text("append_system_prompt"),
		Resume:       args.text("resume"),
		Effort:       args.text("thinking"),
		Schema:       args.object("json_schema"),
		Timeout:      time.Duration(args.number("timeout_seconds", 0, 1, 1<<31)) * time.Second,
		// A session to resume is no new one, unless the caller insists.
		Fresh: args.flag("no_continue", args.text("resume") == ""),
	}
	if err := args.check(); err != nil {
		return req, err
	}
	if filepath.IsAbs(req.Workspace) {
		return req, errors.New("the argument workspace must be a path relative to the root of all workspaces, not an absolute one")
	}
	return req, nil
}

// callKey identifies what a session asks. There is one token, so that it need
// not be part of the key.
func callKey(session string, req aicodebox.Request) (string, error) {
	if req.Schema != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, req.Schema); err != nil {
			return "", errors.New("the argument json_schema must be a JSON object")
		}
		req.Schema = compact.Bytes()
	}
	text, err := json.Marshal(req)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(session+"\n"), text...))
	return hex.EncodeToString(sum[:]), nil
}

// wait waits for a flight on behalf of a call. It returns an error if the call
// ends, and false if the run takes longer than a call without progress may.
func (s *surface) wait(c *call, f *flight) (ended bool, err error) {
	p := c.progress()
	var patience <-chan time.Time
	var begun <-chan struct{}
	if p == nil {
		timer := time.NewTimer(s.sync)
		defer timer.Stop()
		patience = timer.C
	}
	tick := time.NewTicker(s.beat)
	defer tick.Stop()
	var due <-chan time.Time
	activity, changed := f.now()
	p.send(c.ctx, activity)
	for {
		if p == nil {
			changed = nil // nobody wants to know
		}
		select {
		case <-f.done:
			return true, nil
		case <-c.ctx.Done():
			return false, context.Cause(c.ctx)
		case <-patience:
			patience, begun = nil, f.begun // so that get_run finds it
		case <-begun:
			return false, nil
		case <-tick.C:
			p.send(c.ctx, activity)
		case <-changed:
			changed, due = nil, p.next()
		case <-due:
			due = nil
			activity, changed = f.now()
			p.send(c.ctx, activity)
		}
	}
}

// reason is why a call ended, in words for the run's record.
func reason(err error) error {
	if errors.Is(err, errHungUp) {
		return err
	}
	return errCancelled
}
