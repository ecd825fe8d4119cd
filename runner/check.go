package runner

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psyb0t/aicodebox"
)

// check refuses what cannot be run, and resolves what can.
func (f *flight) check() error {
	req, box := &f.req, f.box
	if strings.TrimSpace(req.Prompt) == "" {
		return &RefusedError{Field: "prompt", Reason: "the prompt is empty"}
	}
	if err := listed("model", req.Model, box.Models()); err != nil {
		return err
	}
	if err := listed("thinking", req.Effort, box.Efforts()); err != nil {
		return err
	}
	if req.Timeout < 0 {
		return &RefusedError{Field: "timeoutSeconds", Reason: "the time limit must not be negative"}
	}
	if req.Timeout == 0 {
		req.Timeout = box.Limits().Timeout
	}
	if err := f.resolve(); err != nil {
		return err
	}
	asks, err := f.question(req.Schema)
	if err != nil {
		return err
	}
	f.asks = asks
	if err := f.guard("Validate", func() error { return aicodebox.Validate(box.Adapter(), *req) }); err != nil {
		return &RefusedError{Reason: err.Error(), cause: err}
	}
	return nil
}

// listed refuses a value outside a list that is not empty.
func listed(field, value string, list []string) error {
	if value == "" || len(list) == 0 || slices.Contains(list, value) {
		return nil
	}
	return &RefusedError{Field: field, Missing: true, Reason: fmt.Sprintf(
		"unknown %s %q; this box offers %s", field, value, strings.Join(list, ", "))}
}

// resolve makes the workspace an absolute directory that exists. A throw-away
// one is made later, when the run begins.
func (f *flight) resolve() error {
	if f.ephemeral {
		f.req.Workspace = ""
		return nil
	}
	name := f.req.Workspace
	root := f.box.Workspaces()
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(root.Dir(), name)
		if err != nil || !filepath.IsLocal(rel) {
			return &RefusedError{Field: "workspace", Reason: fmt.Sprintf(
				"the workspace %q is not under the workspace root; give a relative path below it", name)}
		}
		name = rel
	}
	dir, err := root.Resolve(name)
	if err != nil {
		return &RefusedError{Field: "workspace", Reason: "workspace: " + err.Error(), cause: err}
	}
	f.req.Workspace = dir
	return nil
}
