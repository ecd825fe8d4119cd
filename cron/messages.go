package cron

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// message is a Telegram message that told of a run.
type message struct {
	ChatID     int64  `json:"chat_id"`
	ThreadID   int64  `json:"thread_id,omitempty"`
	MessageID  int    `json:"message_id"`
	Job        string `json:"job"`
	RunID      string `json:"run_id"`
	HistoryDir string `json:"history_dir"`
	SentAt     string `json:"sent_at"`
}

// mostMessages is how many are remembered, over all jobs.
const mostMessages = 200

// messageFile is what telegram_messages.json holds, oldest first.
type messageFile struct {
	Messages []message `json:"messages"`
}

// rememberMessages adds the parts of one notice to telegram_messages.json.
func (s *store) rememberMessages(parts []message) error {
	free, err := lock(s.stateFile("telegram_messages", ".messages"), true)
	if err != nil {
		return fmt.Errorf("lock the list of messages: %w", err)
	}
	defer free()
	path := filepath.Join(s.dir, "telegram_messages.json")
	var file messageFile
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read the list of messages: %w", err)
	default:
		if err := json.Unmarshal(data, &file); err != nil {
			s.log.Error("the list of messages is damaged and is begun anew", "error", err)
			file.Messages = nil
		}
	}
	file.Messages = append(file.Messages, parts...)
	file.Messages = file.Messages[max(0, len(file.Messages)-mostMessages):]
	return writeJSON(path, file)
}

// notified is telegram.json.
type notified struct {
	ChatID     int64  `json:"chat_id"`
	ThreadID   int64  `json:"thread_id,omitempty"`
	MessageIDs []int  `json:"message_ids"`
	SentAt     string `json:"sent_at"`
}
