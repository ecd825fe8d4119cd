package telegram

import (
	"fmt"
	"sync"
	"time"
)

// strangers remembers who was told that the bot is not for him.
type strangers struct {
	every time.Duration

	mu   sync.Mutex
	told map[[2]int64]time.Time
}

// maxStrangers is how many are remembered. Beyond, nobody new is told.
const maxStrangers = 10000

func newStrangers(every time.Duration) *strangers {
	return &strangers{every: every, told: map[[2]int64]time.Time{}}
}

// tell tells whether it is time to tell somebody, and takes it as done.
func (s *strangers) tell(who [2]int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, ok := s.told[who]; ok && now.Sub(at) < s.every {
		return false
	}
	if len(s.told) >= maxStrangers {
		for k, at := range s.told {
			if now.Sub(at) >= s.every {
				delete(s.told, k)
			}
		}
		if len(s.told) >= maxStrangers {
			return false
		}
	}
	s.told[who] = now
	return true
}

// stranger answers somebody who may not use the bot: with the ids that the
// operator needs to let him in, and with nothing else.
func (d *desk) stranger(it item) {
	m := it.message
	who, line := [2]int64{m.Chat.ID, 0}, fmt.Sprintf("This bot is private. The id of this chat is %d.", m.Chat.ID)
	if d.config.Load().knows(m.Chat.ID) {
		who[1] = m.sender()
		line = fmt.Sprintf("This bot is private. The id of this chat is %d, yours is %d.", m.Chat.ID, m.sender())
	}
	if !d.strangers.tell(who) {
		d.in.done(it.id)
		return
	}
	d.log.Info("a stranger wrote to the bot", "chat", m.Chat.ID, "user", m.sender())
	d.spawn("a stranger", func() {
		if _, err := d.out.say(d.taking, m.place(), line, envelopeOf{}); err != nil {
			d.log.Warn("a stranger could not be answered", "error", err)
		}
		d.in.done(it.id)
	})
}

// knows tells whether the chat is allowed, whoever writes there.
func (c *config) knows(chat int64) bool { return c.open || c.chats[chat] }
