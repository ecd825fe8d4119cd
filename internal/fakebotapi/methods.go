package fakebotapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// The limits of the Bot API.
const (
	maxText     = 4096     // UTF-16 units of a message, after parsing
	maxMarkup   = 12 << 10 // bytes of a message before parsing
	maxCaption  = 1024     // UTF-16 units
	maxPhoto    = 10 << 20 // bytes
	maxUpload   = 50 << 20 // bytes
	maxDownload = 20 << 20 // bytes
	maxButton   = 64       // bytes of a button's data
	maxButtons  = 100
	maxToast    = 200 // units of the answer to a button
)

// do does what a call asks for. Callers hold s.mu.
func (s *Server) do(c Call) answer {
	switch c.Method {
	case "getMe":
		return success(map[string]any{"id": BotID, "is_bot": true, "first_name": "Bot", "username": BotName})
	case "deleteWebhook":
		return success(true)
	case "sendMessage":
		return s.sendMessage(c)
	case "sendDocument", "sendPhoto", "sendVideo", "sendAudio", "sendVoice", "sendAnimation":
		return s.sendFile(c)
	case "editMessageText":
		return s.editMessageText(c)
	case "deleteMessage":
		return s.deleteMessage(c)
	case "sendChatAction":
		return s.sendChatAction(c)
	case "setMyCommands":
		return setMyCommands(c)
	case "answerCallbackQuery":
		return s.answerCallbackQuery(c)
	case "getFile":
		return s.getFile(c)
	}
	return refuse(http.StatusNotFound, "Not Found")
}

// target finds the chat and checks the topic of a send.
func (s *Server) target(c Call, general bool) (*Chat, int, *answer) {
	id, err := strconv.ParseInt(c.Params["chat_id"], 10, 64)
	if err != nil {
		a := bad("chat_id is empty")
		return nil, 0, &a
	}
	chat := s.chats[id]
	if chat == nil {
		a := bad("chat not found")
		return nil, 0, &a
	}
	topic, _ := strconv.Atoi(c.Params["message_thread_id"])
	if topic != 0 && !chat.Topics[topic] || topic == 1 && !general {
		a := bad("message thread not found")
		return nil, 0, &a
	}
	return chat, topic, nil
}

// text reads a text by its parse mode.
func text(c Call, field string, limit int) (string, []Entity, *answer) {
	raw := c.Params[field]
	var entities []Entity
	if len(raw) > maxMarkup {
		a := bad("message is too long")
		return "", nil, &a
	}
	switch c.Params["parse_mode"] {
	case "":
	case "HTML":
		var err error
		if raw, entities, err = ParseHTML(raw); err != nil {
			a := bad(err.Error())
			return "", nil, &a
		}
	default:
		a := bad("unsupported parse_mode")
		return "", nil, &a
	}
	raw = strings.TrimSpace(raw)
	if n := len(utf16.Encode([]rune(raw))); n > limit {
		a := bad(map[string]string{"text": "message is too long", "caption": "message caption is too long"}[field])
		return "", nil, &a
	}
	return raw, entities, nil
}

func (s *Server) sendMessage(c Call) answer {
	chat, topic, wrong := s.target(c, false)
	if wrong != nil {
		return *wrong
	}
	shown, entities, wrong := text(c, "text", maxText)
	if wrong != nil {
		return *wrong
	}
	if shown == "" {
		return bad("message text is empty")
	}
	return s.send(c, chat, &Message{Topic: topic, Text: shown, Entities: entities})
}

// send puts a message into its chat.
func (s *Server) send(c Call, chat *Chat, m *Message) answer {
	if wrong := keyboard(c.Params["reply_markup"]); wrong != nil {
		return *wrong
	}
	if raw := c.Params["reply_parameters"]; raw != "" {
		var p struct {
			ID      int  `json:"message_id"`
			Lenient bool `json:"allow_sending_without_reply"`
		}
		if json.Unmarshal([]byte(raw), &p) != nil {
			return bad("can't parse reply parameters JSON object")
		}
		if old := chat.messages[p.ID]; old == nil || old.Deleted {
			if !p.Lenient {
				return bad("message to be replied not found")
			}
		} else {
			m.ReplyTo = p.ID
		}
	}
	s.nextMsg++
	m.ID, m.Method, m.Keyboard = s.nextMsg, c.Method, c.Params["reply_markup"]
	chat.messages[m.ID] = m
	return success(chat.message(m))
}

func (c *Chat) message(m *Message) map[string]any {
	o := map[string]any{"message_id": m.ID, "date": time.Now().Unix(), "chat": c.object(), "text": m.Text}
	if m.Topic != 0 {
		o["message_thread_id"], o["is_topic_message"] = m.Topic, true
	}
	return o
}

func keyboard(raw string) *answer {
	if raw == "" {
		return nil
	}
	var k struct {
		Rows [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
		} `json:"inline_keyboard"`
	}
	if json.Unmarshal([]byte(raw), &k) != nil {
		a := bad("can't parse reply keyboard markup JSON object")
		return &a
	}
	n := 0
	for _, row := range k.Rows {
		for _, b := range row {
			n++
			if b.Text == "" || b.Data == "" || len(b.Data) > maxButton {
				a := bad("BUTTON_DATA_INVALID")
				return &a
			}
		}
	}
	if n > maxButtons {
		a := bad("reply markup is too long")
		return &a
	}
	return nil
}

func (s *Server) sendFile(c Call) answer {
	chat, topic, wrong := s.target(c, false)
	if wrong != nil {
		return *wrong
	}
	field := strings.ToLower(strings.TrimPrefix(c.Method, "send"))
	f, ok := c.Files[field]
	switch {
	case !ok:
		return bad("there is no " + field + " in the request")
	case len(f.Content) == 0:
		return bad("file must be non-empty")
	case len(f.Content) > maxUpload:
		return refuse(http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	case c.Method == "sendPhoto" && len(f.Content) > maxPhoto:
		return bad("file is too big")
	case c.Method == "sendPhoto" && !strings.HasPrefix(http.DetectContentType(f.Content), "image/"):
		return bad("IMAGE_PROCESS_FAILED")
	}
	shown, entities, wrong := text(c, "caption", maxCaption)
	if wrong != nil {
		return *wrong
	}
	return s.send(c, chat, &Message{Topic: topic, Text: shown, Entities: entities, File: f})
}

// own finds a message of the bot.
func (s *Server) own(c Call, doing string) (*Chat, *Message, *answer) {
	id, _ := strconv.ParseInt(c.Params["chat_id"], 10, 64)
	number, _ := strconv.Atoi(c.Params["message_id"])
	chat := s.chats[id]
	if chat == nil {
		a := bad("chat not found")
		return nil, nil, &a
	}
	m := chat.messages[number]
	if m == nil || m.Deleted {
		a := bad("message to " + doing + " not found")
		return nil, nil, &a
	}
	if m.person {
		a := bad("message can't be " + strings.TrimSuffix(doing, "e") + "ed")
		return nil, nil, &a
	}
	return chat, m, nil
}

func (s *Server) editMessageText(c Call) answer {
	chat, m, wrong := s.own(c, "edit")
	if wrong != nil {
		return *wrong
	}
	shown, entities, wrong := text(c, "text", maxText)
	if wrong != nil {
		return *wrong
	}
	if shown == "" {
		return bad("message text is empty")
	}
	if wrong := keyboard(c.Params["reply_markup"]); wrong != nil {
		return *wrong
	}
	before, _ := json.Marshal(m.Entities)
	after, _ := json.Marshal(entities)
	if shown == m.Text && string(before) == string(after) && m.Keyboard == c.Params["reply_markup"] {
		return bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.Text, m.Entities, m.Keyboard = shown, entities, c.Params["reply_markup"]
	return success(chat.message(m))
}

func (s *Server) deleteMessage(c Call) answer {
	_, m, wrong := s.own(c, "delete")
	if wrong != nil {
		return *wrong
	}
	m.Deleted = true
	return success(true)
}

func (s *Server) sendChatAction(c Call) answer {
	if _, _, wrong := s.target(c, true); wrong != nil {
		return *wrong
	}
	switch c.Params["action"] {
	case "typing", "upload_photo", "upload_video", "upload_document":
		return success(true)
	}
	return bad("wrong parameter action in request")
}

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

func setMyCommands(c Call) answer {
	var list []struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	if json.Unmarshal([]byte(c.Params["commands"]), &list) != nil || len(list) > 100 {
		return bad("can't parse list of bot commands")
	}
	for _, b := range list {
		if !commandName.MatchString(b.Command) || b.Description == "" || len(b.Description) > 256 {
			return bad("BOT_COMMAND_INVALID")
		}
	}
	return success(true)
}

func (s *Server) answerCallbackQuery(c Call) answer {
	id := c.Params["callback_query_id"]
	if !s.queries[id] {
		return bad("query is too old and response timeout expired or query ID is invalid")
	}
	if len(utf16.Encode([]rune(c.Params["text"]))) > maxToast {
		return bad("MESSAGE_TOO_LONG")
	}
	delete(s.queries, id)
	return success(true)
}

func (s *Server) getFile(c Call) answer {
	f, ok := s.files[c.Params["file_id"]]
	if !ok {
		return bad("wrong file_id or the file is temporarily unavailable")
	}
	if f.size > maxDownload {
		return bad("file is too big")
	}
	return success(map[string]any{"file_id": c.Params["file_id"], "file_unique_id": "u", "file_size": f.size, "file_path": f.path})
}
