package openai

import (
	"regexp"
	"strings"
)

// isChore tells of a request that a chat front end makes by itself, to give a
// conversation a title, tags, or questions to follow up with. Such a request
// quotes a conversation and is none: it must not run where the conversation
// runs, wait for it, or become a part of its session.
//
// It is a single message of a user that asks for one of these things, or
// begins as the tasks of one widely used front end do, and quotes a
// conversation between tags or in a delimited block.
func isChore(r chatRequest) bool {
	text := r.onlyText()
	if text == "" || len(text) > maxChore || r.tools.active() {
		return false
	}
	return (strings.HasPrefix(text, "### Task:") || choreWish.MatchString(instructions(text))) && quotesHistory(text)
}

// maxChore is the longest text that is looked at for a chore.
const maxChore = 1 << 20

// choreWish matches what front ends ask for.
var choreWish = regexp.MustCompile(`(?is)\b(generate|create|write|give|provide|suggest|propose|summari[sz]e|produce|make|come up|return|respond|reply|answer|name|categori[sz]e)\b[^.!?]{0,160}?\b(title|tags?|follow[ -]?ups?)\b`)

// instructions is the text without what it quotes.
func instructions(text string) string {
	text = tagged.ReplaceAllString(text, " ")
	for _, block := range blocks {
		text = block.ReplaceAllString(text, " ")
	}
	return text
}

// quotesHistory tells whether text quotes a conversation.
func quotesHistory(text string) bool {
	for _, m := range tagged.FindAllStringSubmatch(text, -1) {
		if m[1] == m[3] && (historyTag.MatchString(m[1]) || speakers.MatchString(m[2])) {
			return true
		}
	}
	for _, block := range blocks {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			if speakers.MatchString(m[1]) {
				return true
			}
		}
	}
	return false
}

var (
	tagged     = regexp.MustCompile(`(?is)<([a-z][a-z0-9_-]*)>(.*?)</([a-z][a-z0-9_-]*)>`)
	historyTag = regexp.MustCompile(`(?i)(history|conversation|messages?|chat|transcript|dialog(ue)?)`)
	// speakers matches a line of a quoted conversation.
	speakers = regexp.MustCompile(`(?im)^\s*[*_"{\[]*(?:role"?\s*:\s*"?(?:user|human|assistant|ai)\b|(?:user|human|assistant|ai|bot|system|model)\b[*_"]*\s*[:\]])`)
	// blocks matches the ways to delimit a block, and a heading after which
	// all is quoted.
	blocks = []*regexp.Regexp{
		regexp.MustCompile("(?s)```[a-z]*\\n(.*?)\\n```"),
		regexp.MustCompile(`(?s)"""\n?(.*?)\n?"""`),
		regexp.MustCompile(`(?s)\n-{3,}\n(.*?)\n-{3,}`),
		regexp.MustCompile(`(?s)\n={3,}\n(.*?)\n={3,}`),
		regexp.MustCompile(`(?is)\n#*\s*(?:chat history|conversation|chat|history|messages|transcript)\s*:?\s*\n(.*)$`),
	}
)
