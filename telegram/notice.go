package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/atomicfile"
	"github.com/psyb0t/aicodebox/telegram/internal/markup"
)

// background is what a notice was about: what a reply to it carries into the
// next prompt.
type background struct {
	Chat        int64  `json:"chat"`
	Messages    []int  `json:"messages"` // the notice's parts
	Job         string `json:"job"`
	Instruction string `json:"instruction"`
	Result      string `json:"result"`
	HistoryDir  string `json:"history_dir"`
}

// notices remembers the newest notices, over restarts too.
type notices struct {
	path string
	log  *slog.Logger

	mu   sync.Mutex
	list []background
}

const (
	maxNotices    = 200       // messages that are remembered
	maxBackground = 256 << 10 // bytes of an instruction or a result that are kept
)

func openNotices(path string, log *slog.Logger) *notices {
	n := &notices{path: path, log: log}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &n.list)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("earlier notices cannot be read; replies to them are ordinary ones", "error", err)
	}
	return n
}

// add remembers a notice and forgets the oldest.
func (n *notices) add(b background) {
	b.Instruction, b.Result = clip(b.Instruction, maxBackground), clip(b.Result, maxBackground)
	b.Messages = b.Messages[max(0, len(b.Messages)-maxNotices):]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, b)
	total := 0
	for i := len(n.list) - 1; i >= 0; i-- {
		if total += len(n.list[i].Messages); total > maxNotices {
			n.list = append([]background(nil), n.list[i+1:]...)
			break
		}
	}
	if err := n.store(); err != nil {
		n.log.Warn("a notice cannot be stored; after a restart replies to it are ordinary ones", "error", err)
	}
}

func (n *notices) store() error {
	data, err := json.Marshal(n.list)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(n.path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(n.path, data, 0o600)
}

// find returns the background of a message, if it is part of a notice.
func (n *notices) find(chat int64, message int) (background, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := len(n.list) - 1; i >= 0; i-- {
		if n.list[i].Chat != chat {
			continue
		}
		for _, id := range n.list[i].Messages {
			if id == message {
				return n.list[i], true
			}
		}
	}
	return background{}, false
}

// notify sends a notice. Messages that were sent are remembered and told even
// if later ones could not be.
func (o *outbox) notify(ctx context.Context, n aicodebox.Notice) error {
	p := place{n.Chat, int(n.Thread)}
	parts := markup.Render(n.Text, markup.Options{}).Parts()
	if len(parts) == 0 {
		return errors.New("send a notice: its text is empty")
	}
	ids, err := o.deliver(ctx, delivery{place: p, parts: parts})
	if len(ids) > 0 {
		o.notices.add(background{
			Chat: n.Chat, Messages: ids, Job: n.Job,
			Instruction: n.Instruction, Result: n.Result, HistoryDir: n.HistoryDir,
		})
		if n.Sent != nil {
			n.Sent(n.Chat, ids)
		}
	}
	if err != nil {
		return fmt.Errorf("send a notice to chat %d: %w", n.Chat, err)
	}
	return nil
}

// clip returns at most limit bytes of s, with its end marked if it was longer.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
