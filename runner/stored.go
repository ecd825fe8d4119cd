package runner

import (
	"encoding/json"
	"fmt"
)

// stored is a result as the ledger keeps it.
type stored struct {
	Result
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
}

// encode is the result for the ledger: the agent's output is kept as far as
// somebody can ask for it.
func (f *flight) encode() ([]byte, error) {
	s := stored{Result: f.result}
	if f.raw {
		s.Stdout, s.Stderr = f.result.Stdout, f.result.Stderr
	} else if f.result.ExitCode != 0 {
		s.Stderr = f.result.Stderr
	}
	return json.Marshal(s)
}

// decode reads what encode wrote.
func decode(data []byte) (Result, error) {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return Result{}, fmt.Errorf("read a kept result: %w", err)
	}
	r := s.Result
	r.Stdout, r.Stderr = s.Stdout, s.Stderr
	return r, nil
}
