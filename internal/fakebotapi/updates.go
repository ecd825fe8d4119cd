package fakebotapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// getUpdates hands out updates. A second poll at the same time ends the first
// with a conflict.
func (s *Server) getUpdates(w http.ResponseWriter, r *http.Request, c Call) {
	number := func(name string, def int) int {
		if n, err := strconv.Atoi(c.Params[name]); err == nil {
			return n
		}
		return def
	}
	s.mu.Lock()
	if f, failing := s.nextFailure(c.Method, ""); failing {
		s.mu.Unlock()
		if f.Drop {
			panic(http.ErrAbortHandler)
		}
		reply(w, failed(f))
		return
	}
	if offset := int64(number("offset", 0)); offset > s.offset {
		s.offset = offset
	}
	for len(s.updates) > 0 && s.updates[0].id < s.offset {
		s.updates = s.updates[1:]
	}
	if s.poll != nil {
		close(s.poll)
	}
	mine := make(chan struct{})
	s.poll = mine
	s.change()
	s.mu.Unlock()
	s.longPoll(w, r, mine, time.Duration(number("timeout", 0))*time.Second, min(number("limit", 100), 100))
}

func (s *Server) longPoll(w http.ResponseWriter, r *http.Request, mine chan struct{}, timeout time.Duration, limit int) {
	over := time.After(timeout)
	for {
		s.mu.Lock()
		changed, closed := s.changed, s.closed
		var batch []json.RawMessage
		for _, u := range s.updates[:min(len(s.updates), limit)] {
			batch = append(batch, u.raw)
		}
		if len(batch) > 0 || closed {
			s.release(mine)
			s.mu.Unlock()
			if batch == nil {
				batch = []json.RawMessage{}
			}
			reply(w, success(batch))
			return
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-mine:
			reply(w, refuse(http.StatusConflict, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"))
			return
		case <-r.Context().Done():
			s.mu.Lock()
			s.release(mine)
			s.mu.Unlock()
			return
		case <-over:
			s.mu.Lock()
			s.release(mine)
			s.mu.Unlock()
			reply(w, success([]int{}))
			return
		}
	}
}

// release ends a poll. Callers hold s.mu.
func (s *Server) release(mine chan struct{}) {
	if s.poll == mine {
		s.poll = nil
	}
}

// Push gives the bot an update with these fields beside its id, which is
// returned.
func (s *Server) Push(fields map[string]any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(fields)
}

func (s *Server) push(fields map[string]any) int64 {
	s.lastID++
	all := maps.Clone(fields)
	all["update_id"] = s.lastID
	raw, err := json.Marshal(all)
	if err != nil {
		s.t.Errorf("push an update: %v", err)
	}
	s.updates = append(s.updates, update{s.lastID, raw})
	s.change()
	return s.lastID
}

// Written is what a person did: the update that tells the bot, and the message.
type Written struct {
	Update  int64
	Message int
}

// Write lets a person write a message to a chat: fields are those of a message
// ("text", "document", ...). The chat, the sender (user 7 unless "from" says
// otherwise), the id and the date are added.
func (s *Server) Write(chat int64, fields map[string]any) Written {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chat(chat)
	s.nextMsg++
	m := map[string]any{
		"message_id": s.nextMsg, "date": time.Now().Unix(), "chat": c.object(),
		"from": map[string]any{"id": 7, "is_bot": false, "first_name": "Ann"},
	}
	maps.Copy(m, fields)
	text, _ := m["text"].(string)
	topic, _ := m["message_thread_id"].(int)
	c.messages[s.nextMsg] = &Message{ID: s.nextMsg, Topic: topic, Text: text, person: true}
	return Written{s.push(map[string]any{"message": m}), s.nextMsg}
}

// Text lets a person write text to a chat.
func (s *Server) Text(chat int64, text string) Written {
	return s.Write(chat, map[string]any{"text": text})
}

// TopicText lets a person write text to a topic of a forum.
func (s *Server) TopicText(chat int64, topic int, text string) Written {
	return s.Write(chat, map[string]any{"text": text, "message_thread_id": topic, "is_topic_message": true})
}

// Press lets a person press a button with data below a message of the bot.
func (s *Server) Press(chat int64, message int, data string) (query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query = "q" + strconv.FormatInt(s.lastID+1, 10)
	s.queries[query] = true
	c := s.chat(chat)
	m := map[string]any{"message_id": message, "date": time.Now().Unix(), "chat": c.object(), "text": "x"}
	if old := c.messages[message]; old != nil && old.Topic != 0 {
		m["message_thread_id"], m["is_topic_message"] = old.Topic, true
	}
	s.push(map[string]any{"callback_query": map[string]any{
		"id": query, "data": data, "chat_instance": "1", "message": m,
		"from": map[string]any{"id": 7, "is_bot": false, "first_name": "Ann"},
	}})
	return query
}

// File keeps a file that a bot can download by id. size, if not 0, is what the
// server claims.
func (s *Server) File(id, path string, content []byte, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size == 0 {
		size = int64(len(content))
	}
	s.files[id] = file{path, content, size}
}

// Again gives the bot an update once more, as when its acknowledgement got
// lost.
func (s *Server) Again(id int64, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.lastID
	s.lastID = id - 1
	s.push(fields)
	s.lastID = max(last, id)
	s.offset = min(s.offset, id)
}
