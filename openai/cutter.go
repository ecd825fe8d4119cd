package openai

import (
	"strings"
	"unicode"
)

// cutter is what stands between an agent's text and a client: it drops white
// space at either end, and everything from the first of the stop texts on. In
// pieces or as a whole, a text comes out the same.
type cutter struct {
	stop    []string
	held    string // may still have to be dropped
	begun   bool
	stopped bool
}

// add takes the next piece and returns what can go out.
func (c *cutter) add(text string) string {
	if c.stopped {
		return ""
	}
	if !c.begun {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		c.begun = text != ""
	}
	if c.held != "" {
		text = c.held + text
		c.held = ""
	}
	if at := c.find(text); at >= 0 {
		c.stopped = true
		return strings.TrimRightFunc(text[:at], unicode.IsSpace)
	}
	out := text[:len(text)-c.open(text)]
	out = strings.TrimRightFunc(out, unicode.IsSpace)
	c.held = text[len(out):]
	return out
}

// rest returns what was held back, once the text has ended.
func (c *cutter) rest() string {
	out := strings.TrimRightFunc(c.held, unicode.IsSpace)
	c.held = ""
	return out
}

// find returns where the first stop text begins, or -1.
func (c *cutter) find(text string) int {
	first := -1
	for _, s := range c.stop {
		if at := strings.Index(text, s); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// open returns the length of the longest end of text that begins a stop text.
func (c *cutter) open(text string) int {
	longest := 0
	for _, s := range c.stop {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, s[:n]) {
				longest = n
				break
			}
		}
	}
	return longest
}

// cut applies the stop texts to a whole text.
func cut(text string, stop []string) string {
	c := cutter{stop: stop}
	out := c.add(text)
	return out + c.rest()
}
