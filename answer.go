package aicodebox

import "strings"

// paragraph stands between two answers that one stream tells.
const paragraph = "\n\n"

// Answer puts an agent's answer together from the messages it tells piece by
// piece, for adapters whose agents try a broken answer again. Of a new try,
// Say and End return only what the tries before it have not told, so that a
// stream repeats nothing; Text holds the last try alone.
//
// An agent's text before it uses a tool is told as it comes, but the answer is
// what comes after the last tool. The zero Answer is ready; it must not be
// copied, and serves one goroutine.
type Answer struct {
	told    strings.Builder // the answer so far, as told
	message strings.Builder // the message in hand
	again   bool            // it repeats what was told so far,
	matched int             // up to here
	spoken  bool            // text was told before this answer began
}

// Begin begins a message. With again it is a new try at the answer before it,
// otherwise an answer of its own.
func (a *Answer) Begin(again bool) {
	a.again = again && a.told.Len() > 0
	if !a.again {
		a.spoken = a.spoken || a.told.Len() > 0
		a.told.Reset()
	}
	a.message.Reset()
	a.matched = 0
}

// Say takes the next piece of the message and returns the text to tell of it,
// which may be empty.
func (a *Answer) Say(piece string) string {
	if piece == "" {
		return ""
	}
	a.message.WriteString(piece)
	if a.again {
		return a.catchUp(piece)
	}
	first := a.told.Len() == 0
	a.told.WriteString(piece)
	if first && a.spoken {
		return paragraph + piece
	}
	return piece
}

// End takes the whole text of the message and returns the text to tell that
// did not come in pieces. Where the pieces said something else, the whole
// counts; a message that failed is best not ended.
func (a *Answer) End(whole string) string {
	rest, ok := strings.CutPrefix(whole, a.message.String())
	if !ok {
		a.again = false
		a.told.Reset()
		a.told.WriteString(whole)
		return ""
	}
	text := a.Say(rest)
	if a.again {
		// The new try says less than was told.
		a.again = false
		a.told.Reset()
		a.told.WriteString(whole)
	}
	return text
}

// Text returns the answer so far.
func (a *Answer) Text() string { return a.told.String() }

// catchUp compares the next piece of a new try with what was told and returns
// what goes beyond it. A try that says something else is told from its start.
func (a *Answer) catchUp(piece string) string {
	rest := a.told.String()[a.matched:]
	if strings.HasPrefix(rest, piece) {
		a.matched += len(piece)
		return ""
	}
	a.again = false
	if beyond, ok := strings.CutPrefix(piece, rest); ok {
		a.told.WriteString(beyond)
		return beyond
	}
	a.told.Reset()
	a.told.WriteString(a.message.String())
	return paragraph + a.message.String()
}
