package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// The values of eventMode.
const (
	eventsAuto = "auto"
	eventsNone = "none"
	eventsFull = "full"
)

// shape is what of a run its caller asked to see. It is kept with the run's
// record, so that GET /run/result answers as POST /run would have.
type shape struct {
	Schema bool   `json:"schema,omitempty"`
	Events string `json:"events,omitempty"` // eventMode
	Detail bool   `json:"detail,omitempty"` // outputFormat json-verbose
	Raw    bool   `json:"raw,omitempty"`
	Forget bool   `json:"forget,omitempty"`
}

func (q runRequest) shape() shape {
	return shape{
		Schema: q.schema != nil,
		Events: q.EventMode,
		Detail: q.OutputFormat == "json-verbose",
		Raw:    q.IncludeRaw,
		Forget: q.FireAndForget,
	}
}

// events tells whether the answer holds the agent's records.
func (s shape) events() bool {
	switch s.Events {
	case eventsNone:
		return false
	case eventsFull:
		return true
	}
	return s.Schema || s.Detail
}

func (s shape) meta() json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return data
}

// shapeOf reads what meta kept. A run of another surface has none, and is shown
// in the lean way.
func shapeOf(meta json.RawMessage) shape {
	var s shape
	if len(meta) > 0 {
		_ = json.Unmarshal(meta, &s)
	}
	return s
}

// digest identifies values by their JSON.
func digest(values ...any) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, v := range values {
		_ = enc.Encode(v)
	}
	return hex.EncodeToString(h.Sum(nil))
}
