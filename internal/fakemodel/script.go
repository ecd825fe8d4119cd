package fakemodel

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// script is a list of commands on one line.
type script struct {
	text  string // as it stands in the prompt: the key of what the server counts
	steps [][]command
}

// command is one word of a script and what follows its colon.
type command struct{ name, rest string }

// separator stands between two commands.
const separator = " ;; "

// newScript reads a line of commands. A step is what one answer holds.
func newScript(line string) script {
	s := script{text: line}
	var step []command
	for part := range strings.SplitSeq(line, separator) {
		name, rest := splitCommand(part)
		step = append(step, command{name, rest})
		if name == "TOOL" || name == "CALL" || name == "JSON" {
			s.steps = append(s.steps, step)
			step = nil
		}
	}
	if step != nil {
		s.steps = append(s.steps, step)
	}
	return s
}

func splitCommand(part string) (name, rest string) {
	part = strings.TrimSpace(part)
	name, rest, _ = strings.Cut(part, ":")
	if !isCommand(name) {
		return "SAY", part
	}
	return name, rest
}

func isCommand(name string) bool {
	switch name {
	case "SAY", "THINK", "TOOL", "CALL", "JSON", "STREAM", "SEQ", "ERR", "SLEEP",
		"HANG", "EMPTY", "CUT", "LEN", "REFUSE":
		return true
	}
	return false
}

// sticks tells whether the last step answers whatever follows it, too.
func (s script) sticks() bool {
	for _, c := range s.steps[len(s.steps)-1] {
		switch c.name {
		case "SEQ", "LEN", "REFUSE", "EMPTY":
			return true
		}
	}
	return false
}

// Answer is what the script in the prompt of req says.
func (s *Server) Answer(req Request) Response {
	found, at, ok := lastScript(req)
	if !ok {
		return unscripted(req)
	}
	done := answers(req.Messages[at+1:])
	if done >= len(found.steps) && found.sticks() {
		done = len(found.steps) - 1
	}
	if done < len(found.steps) {
		return s.step(req, found, done)
	}
	return unscripted(req)
}

// unscripted answers a tool's result or a prompt without commands.
func unscripted(req Request) Response {
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == "tool" {
		return Say("tool said: " + strings.TrimRight(req.Messages[n-1].Text, "\n"))
	}
	return Say(fmt.Sprintf("you said %d bytes", len(req.User())))
}

// lastScript finds the newest user message with a script.
func lastScript(req Request) (found script, at int, ok bool) {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if req.Messages[i].Role != "user" {
			continue
		}
		if line, ok := find(req.Messages[i].Text); ok {
			return newScript(line), i, true
		}
	}
	return script{}, 0, false
}

// answers counts what was answered since a script.
func answers(since []Message) int {
	n := 0
	for _, m := range since {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// step carries out one step of a script.
func (s *Server) step(req Request, from script, n int) Response {
	var res Response
	for _, c := range from.steps[n] {
		s.obey(c, req, fmt.Sprintf("%d:%s", n, from.text), &res)
		if res.Status != 0 {
			break
		}
	}
	return res
}

// obey adds what c says to res. key names the step to the server's counters.
func (s *Server) obey(c command, req Request, key string, res *Response) {
	part := Part{}
	switch c.name {
	case "SAY":
		part.Text = unescape(c.rest)
	case "THINK":
		part.Thinking = unescape(c.rest)
	case "TOOL":
		part = shellPart(req, c.rest)
	case "CALL":
		part.Call = readCall(c.rest)
	case "JSON":
		part = jsonPart(req, c.rest)
	case "STREAM":
		part = streamPart(c.rest)
	case "SLEEP":
		part.Wait = seconds(c.rest)
	case "HANG":
		part.Hang = true
	case "SEQ":
		items := strings.Split(c.rest, "|")
		name, rest := splitCommand(items[min(s.occurrence("SEQ "+key), len(items)-1)])
		s.obey(command{name, rest}, req, key, res)
		return
	case "ERR":
		s.fail(c.rest, key, res)
		return
	default:
		finish(c.name, res)
		return
	}
	res.Parts = append(res.Parts, part)
}

// finish sets how an answer ends.
func finish(name string, res *Response) {
	switch name {
	case "CUT":
		res.Cut = true
	case "LEN":
		res.Stop = StopLength
	case "REFUSE":
		res.Stop = StopRefuse
	}
}

// fail turns res into an error: "401", "429q", or "500x2".
func (s *Server) fail(rest, key string, res *Response) {
	rest, times, limited := strings.Cut(strings.TrimSpace(rest), "x")
	if limited {
		n, err := strconv.Atoi(times)
		if err != nil || s.occurrence("ERR "+key) >= n {
			return
		}
	}
	digits, quota := strings.CutSuffix(rest, "q")
	status, err := strconv.Atoi(digits)
	if err != nil || status < 400 || status > 599 {
		status = 500
	}
	*res = Response{Status: status}
	if quota {
		res.Code = codeQuota
	}
}

func streamPart(rest string) Part {
	count, gap, _ := strings.Cut(rest, "@")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	if err != nil {
		return Part{Text: "STREAM takes a number, not " + count}
	}
	ms, _ := strconv.ParseFloat(strings.TrimSpace(gap), 64)
	p := Part{Gap: time.Duration(ms * float64(time.Millisecond)), Deltas: make([]string, n)}
	for i := range n {
		p.Deltas[i] = "w" + strconv.Itoa(i+1) + " "
	}
	p.Text = strings.Join(p.Deltas, "")
	return p
}

func seconds(rest string) time.Duration {
	f, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
	return time.Duration(f * float64(time.Second))
}

// unescape makes newlines and tabs of \n and \t, but leaves JSON alone, where
// they mean that already.
func unescape(text string) string {
	if t := strings.TrimSpace(text); t != "" && strings.ContainsAny(t[:1], `{["`) && json.Valid([]byte(t)) {
		return text
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text)
}
