package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/psyb0t/aicodebox/internal/atomicfile"
)

// override is what a place set for itself with commands; empty values leave
// the operator's.
type override struct {
	Model        string `json:"model,omitempty"`
	Effort       string `json:"effort,omitempty"`
	System       string `json:"system_prompt,omitempty"`
	AppendSystem string `json:"append_system_prompt,omitempty"`
	Fresh        bool   `json:"fresh,omitempty"` // the next prompt begins a new conversation
}

// overrides are those of all places, kept in a file that is replaced whole.
type overrides struct {
	path string

	mu   sync.Mutex
	list map[string]override
}

// openOverrides reads the file. One that cannot be read is put aside, so that
// neither it nor what is set from now on is lost.
func openOverrides(path string, log *slog.Logger) *overrides {
	o := &overrides{path: path, list: map[string]override{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o
	}
	if err == nil {
		err = json.Unmarshal(data, &o.list)
	}
	if err != nil {
		log.Error("the settings that Telegram chats made cannot be read; they are put aside", "error", err, "aside", path+".bad")
		_ = os.Rename(path, path+".bad")
	}
	if o.list == nil {
		o.list = map[string]override{}
	}
	return o
}

// key is the name of a place in the file: the chat, and its topic if it has one.
func (p place) key() string {
	key := strconv.FormatInt(p.chat, 10)
	if p.topic != 0 {
		key += ":" + strconv.Itoa(p.topic)
	}
	return key
}

func (o *overrides) of(p place) override {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.list[p.key()]
}

// change changes what p has set and stores it. When it cannot be stored,
// nothing is changed.
func (o *overrides) change(p place, f func(*override)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, had := o.list[p.key()]
	after := before
	f(&after)
	if after == before {
		return nil
	}
	if o.list[p.key()] = after; after == (override{}) {
		delete(o.list, p.key())
	}
	if err := o.store(); err != nil {
		delete(o.list, p.key())
		if had {
			o.list[p.key()] = before
		}
		return err
	}
	return nil
}

func (o *overrides) store() error {
	data, err := json.MarshalIndent(o.list, "", "  ")
	if err != nil {
		return fmt.Errorf("store chat settings: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(o.path), 0o700); err != nil {
		return fmt.Errorf("store chat settings: %w", err)
	}
	if err := atomicfile.Write(o.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("store chat settings: %w", err)
	}
	return nil
}

// take changes s by what the place has set.
func (s *settings) override(o override) {
	if o.Model != "" {
		s.model = o.Model
	}
	if o.Effort != "" {
		s.effort = o.Effort
	}
	if o.System != "" {
		s.system = o.System
	}
	if o.AppendSystem != "" {
		s.appendSystem = o.AppendSystem
	}
}
