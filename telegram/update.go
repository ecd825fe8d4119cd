package telegram

import (
	"encoding/json"

	"github.com/go-telegram/bot/models"
)

// update is what the bot reads of an update. The library's own type refuses a
// whole update over one field of a kind that it does not know, so that a
// message could be lost because of what it forwards; this one names only what
// the bot needs.
type update struct {
	ID       int64     `json:"update_id"`
	Message  *message  `json:"message"`
	Callback *callback `json:"callback_query"`
}

// message is an incoming message.
type message struct {
	ID         int         `json:"message_id"`
	Thread     int         `json:"message_thread_id"`
	InTopic    bool        `json:"is_topic_message"`
	From       *user       `json:"from"`
	SenderChat *chat       `json:"sender_chat"`
	Chat       chat        `json:"chat"`
	Album      string      `json:"media_group_id"`
	Text       string      `json:"text"`
	Entities   []entity    `json:"entities"`
	Caption    string      `json:"caption"`
	CaptionEnt []entity    `json:"caption_entities"`
	ReplyTo    *message    `json:"reply_to_message"`
	Quote      *quote      `json:"quote"`
	External   *struct{}   `json:"external_reply"`
	Topic      *struct{}   `json:"forum_topic_created"`
	MovedTo    int64       `json:"migrate_to_chat_id"`
	Document   *attachment `json:"document"`
	Photo      []photoSize `json:"photo"`
	Video      *attachment `json:"video"`
	VideoNote  *attachment `json:"video_note"`
	Voice      *attachment `json:"voice"`
	Audio      *attachment `json:"audio"`
	Animation  *attachment `json:"animation"`
	Sticker    *struct{}   `json:"sticker"`
	Location   *struct{}   `json:"location"`
	Contact    *struct{}   `json:"contact"`
	Poll       *struct{}   `json:"poll"`
}

type user struct {
	ID       int64  `json:"id"`
	Bot      bool   `json:"is_bot"`
	Name     string `json:"first_name"`
	Username string `json:"username"`
}

type chat struct {
	ID   int64           `json:"id"`
	Type models.ChatType `json:"type"`
}

func (c chat) private() bool { return c.Type == models.ChatTypePrivate }

type entity struct {
	Type   models.MessageEntityType `json:"type"`
	Offset int                      `json:"offset"`
	Length int                      `json:"length"`
	User   *user                    `json:"user"`
}

type quote struct {
	Text string `json:"text"`
}

// attachment is a file of any kind but a photo.
type attachment struct {
	ID   string `json:"file_id"`
	Name string `json:"file_name"`
	Type string `json:"mime_type"`
	Size int64  `json:"file_size"`
}

type photoSize struct {
	ID     string `json:"file_id"`
	Size   int64  `json:"file_size"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// callback is a button that was pressed.
type callback struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

// readUpdate decodes an update. Of one that it cannot decode, or that is of no
// kind the bot knows, both pointers are nil.
func readUpdate(raw json.RawMessage) (update, error) {
	var u update
	err := json.Unmarshal(raw, &u)
	return u, err
}

// body is the text of a message, or the caption of its file.
func (m *message) body() (string, []entity) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	return m.Caption, m.CaptionEnt
}

// place is where a conversation is: a chat, or a topic of one.
type place struct {
	chat  int64
	topic int
}

// place returns where m was written. Replies in groups without topics have a
// thread too, which is no place.
func (m *message) place() place {
	if m.InTopic {
		return place{m.Chat.ID, m.Thread}
	}
	return place{chat: m.Chat.ID}
}

// generalTopic is the first topic of every forum.
const generalTopic = 1

// thread is the topic for sends. Telegram refuses them for the first topic
// unless it is left out.
func (p place) thread() int {
	if p.topic == generalTopic {
		return 0
	}
	return p.topic
}
