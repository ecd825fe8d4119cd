package fakebotapi

import "sort"

// Chat is one chat. Chats with a positive id are private and exist once a
// person has written there; groups are made by Group and Forum.
type Chat struct {
	ID     int64
	Kind   string // private, group, supergroup
	Topics map[int]bool

	messages map[int]*Message
}

// Message is a message as it is shown.
type Message struct {
	ID       int
	Topic    int
	Text     string // or a file's caption
	Entities []Entity
	Method   string // that sent it
	File     Upload
	ReplyTo  int
	Keyboard string // JSON
	Deleted  bool
	person   bool
}

// Group makes a group chat.
func (s *Server) Group(id int64) { s.make(id, "supergroup") }

// Forum makes a group with topics.
func (s *Server) Forum(id int64, topics ...int) {
	s.make(id, "supergroup")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, topic := range topics {
		s.chats[id].Topics[topic] = true
	}
}

func (s *Server) make(id int64, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[id] = &Chat{ID: id, Kind: kind, Topics: map[int]bool{}, messages: map[int]*Message{}}
}

// chat returns a chat in which a person writes. Callers hold s.mu.
func (s *Server) chat(id int64) *Chat {
	c := s.chats[id]
	if c == nil {
		c = &Chat{ID: id, Kind: "private", Topics: map[int]bool{}, messages: map[int]*Message{}}
		s.chats[id] = c
	}
	return c
}

func (c *Chat) object() map[string]any {
	o := map[string]any{"id": c.ID, "type": c.Kind}
	if len(c.Topics) > 0 {
		o["is_forum"] = true
	}
	return o
}

// Shown returns what the bot has sent to a chat and not deleted, oldest first,
// as it stands now.
func (s *Server) Shown(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Message
	if c := s.chats[chat]; c != nil {
		for _, m := range c.messages {
			if !m.person && !m.Deleted {
				list = append(list, *m)
			}
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}
