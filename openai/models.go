package openai

import (
	"net/http"
	"slices"
	"strings"
)

// modelEntry is a model on the wire.
type modelEntry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
}

type modelList struct {
	Object string       `json:"object"`
	Data   []modelEntry `json:"data"`
}

func (s *surface) entry(id string) modelEntry {
	return modelEntry{ID: id, Object: "model", Created: s.since, Owner: s.box.Brand()}
}

func (s *surface) listModels(w http.ResponseWriter, _ *http.Request) {
	list := modelList{Object: "list", Data: []modelEntry{}}
	for _, id := range s.box.Models() {
		list.Data = append(list.Data, s.entry(id))
	}
	writeJSON(w, http.StatusOK, encode(list))
}

// showModel shows one model, whose id may hold slashes.
func (s *surface) showModel(w http.ResponseWriter, r *http.Request, id string) {
	model, ok := s.resolveModel(id)
	if !ok || model == "" {
		unknownModel(id, s.box.Models()).write(w, r)
		return
	}
	writeJSON(w, http.StatusOK, encode(s.entry(model)))
}

// resolveModel finds the model that a client means: one by its id, with or
// without a provider before it. No name and the agent's own name mean the
// agent's default, which is "".
func (s *surface) resolveModel(name string) (model string, ok bool) {
	offered := s.box.Models()
	agent := s.box.Agent().Name
	if name == "" || slices.Contains(offered, name) {
		return name, true
	}
	_, bare, cut := strings.Cut(name, "/")
	switch {
	case name == agent:
		return "", true
	case cut && slices.Contains(offered, bare):
		return bare, true
	case cut && bare == agent:
		return "", true
	}
	return name, len(offered) == 0
}

// resolveEffort finds the thinking level that a client means. The word for no
// thinking differs between agents and OpenAI.
func (s *surface) resolveEffort(name string) string {
	offered := s.box.Efforts()
	if slices.Contains(offered, name) {
		return name
	}
	for word, other := range map[string]string{"none": "off", "off": "none"} {
		if name == word && slices.Contains(offered, other) {
			return other
		}
	}
	return name
}
