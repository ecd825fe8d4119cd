package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/psyb0t/aicodebox"
)

// message is something the model said, or failed to say.
type message struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Usage struct {
		Input      int64 `json:"input"`
		Output     int64 `json:"output"`
		CacheRead  int64 `json:"cacheRead"`
		CacheWrite int64 `json:"cacheWrite"`
		Reasoning  int64 `json:"reasoning"`
		Cost       struct {
			Total float64 `json:"total"`
		} `json:"cost"`
	} `json:"usage"`
	StopReason    string `json:"stopReason"`    // stop, toolUse, length, error or aborted
	RawStopReason string `json:"rawStopReason"` // the provider's own word
	ErrorMessage  string `json:"errorMessage"`
}

// decode reads a message of the model; others are not ours to read.
func decode(raw json.RawMessage) (message, bool) {
	var head struct {
		Role string `json:"role"`
	}
	if json.Unmarshal(raw, &head) != nil || head.Role != "assistant" {
		return message{}, false
	}
	var m message
	err := json.Unmarshal(raw, &m)
	return m, err == nil
}

// text is the words of a message, each block on lines of its own.
func (m message) text() string {
	var texts []string
	for _, c := range m.Content {
		if c.Type == "text" && c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// usage tells what the message cost, if anything.
func (m message) usage() (aicodebox.Usage, bool) {
	u := m.Usage
	sum := aicodebox.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		Reasoning: u.Reasoning, Cost: u.Cost.Total,
	}
	return sum, u.Input != 0 || u.Output != 0 || u.CacheRead != 0 || u.CacheWrite != 0 || u.Cost.Total != 0
}

func (m message) failed() bool { return m.StopReason == "error" || m.StopReason == "aborted" }

// refused tells whether the provider withheld an answer: pi reports that as an
// error with the provider's word for it.
func (m message) refused() bool {
	switch m.RawStopReason {
	case "content_filter", "incomplete.content_filter", "refusal", "sensitive",
		"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		return true
	}
	return false
}

// verdict fills in how the answer ended.
func (r *reader) verdict(reply *aicodebox.Reply) {
	m := r.last
	switch {
	case !r.ended:
	case m.refused():
		reply.Stop = aicodebox.StopFilter
		if strings.TrimSpace(reply.Text) == "" {
			reply.ProviderError = &aicodebox.ProviderError{Message: m.ErrorMessage}
		}
	case m.failed():
		reply.ProviderError = providerError(m.ErrorMessage)
	case m.StopReason == "length":
		reply.Stop = aicodebox.StopLength
	case m.StopReason == "stop":
		reply.Stop = aicodebox.StopEnd
	}
}

// statusForms are the ways in which pi's clients for the providers report an
// HTTP status: "401: …" and "401 …", "… API error (401): …", and Google's
// {"error":{"code":401,…}}.
var statusForms = []*regexp.Regexp{
	regexp.MustCompile(`^(\d{3})\b`),
	regexp.MustCompile(`(?i)\berror \((\d{3})\)`),
	regexp.MustCompile(`(?i)\bstatus(?: code)?:? (\d{3})\b`),
	regexp.MustCompile(`"code"\s*:\s*(\d{3})\b`),
}

// passing are the words of failures that have no status and may pass.
var passing = regexp.MustCompile(`(?i)stream ended|ended before|ended without|timed? ?out|timeout|terminated|connection|network|fetch failed|socket|econn|overloaded|rate.?limit|temporar|try again`)

// providerError reads what pi says of a failure.
func providerError(text string) *aicodebox.ProviderError {
	e := &aicodebox.ProviderError{Message: providerWords(text)}
	for _, form := range statusForms {
		if m := form.FindStringSubmatch(text); m != nil {
			if status, err := strconv.Atoi(m[1]); err == nil && status >= 400 && status < 600 {
				e.Status = status
				break
			}
		}
	}
	e.Retryable = retryable(e.Status, text)
	return e
}

func retryable(status int, text string) bool {
	switch {
	case strings.Contains(text, "insufficient_quota"):
		return false
	case status == 0:
		return passing.MatchString(text)
	}
	return status == 408 || status == 425 || status == 429 || status >= 500
}

// providerWords takes the message out of the JSON that a provider answered with,
// if there is one in text.
func providerWords(text string) string {
	var body struct {
		Message string `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if i := strings.IndexByte(text, '{'); i >= 0 && json.Unmarshal([]byte(text[i:]), &body) == nil {
		if body.Error.Message != "" {
			return body.Error.Message
		}
		if body.Message != "" {
			return body.Message
		}
	}
	if text = strings.TrimSpace(text); text == "" {
		return "no reason was given"
	}
	return text
}
