package boxtest

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/psyb0t/aicodebox"
)

var errRaised = errors.New("adapter blew up")

// StreamParser reads one line of the fake agent at a time.
func (Adapter) StreamParser(aicodebox.Request) func([]byte) []aicodebox.Event {
	first := true
	return func(line []byte) []aicodebox.Event {
		text := string(line)
		if strings.HasPrefix(text, "@") {
			e := special(text)
			e.Raw = line
			return []aicodebox.Event{e}
		}
		if !first {
			text = "\n" + text
		}
		first = false
		return []aicodebox.Event{{Kind: aicodebox.EventText, Text: text, Raw: line}}
	}
}

func special(line string) aicodebox.Event {
	name, rest, _ := strings.Cut(line[1:], " ")
	switch name {
	case "usage":
		var u aicodebox.Usage
		if json.Unmarshal([]byte(rest), &u) == nil {
			return aicodebox.Event{Kind: aicodebox.EventUsage, Usage: &u}
		}
	case "session":
		return aicodebox.Event{Kind: aicodebox.EventSession, Text: rest}
	case "error":
		return aicodebox.Event{Kind: aicodebox.EventError, Text: rest}
	case "thinking":
		return aicodebox.Event{Kind: aicodebox.EventThinking, Text: rest}
	case "tool":
		return aicodebox.Event{Kind: aicodebox.EventTool, Text: rest}
	case "done":
		return aicodebox.Event{Kind: aicodebox.EventDone}
	}
	return aicodebox.Event{Kind: aicodebox.EventOther}
}

func providerError(text string) *aicodebox.ProviderError {
	first, rest, _ := strings.Cut(text, " ")
	status, err := strconv.Atoi(first)
	if err != nil {
		return &aicodebox.ProviderError{Message: text}
	}
	return &aicodebox.ProviderError{Message: rest, Status: status, Retryable: status == 429 || status >= 500}
}
