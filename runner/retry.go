package runner

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/jsonanswer"
	"github.com/psyb0t/aicodebox/internal/ledger"
)

// maxRetries is how often a failed answer is asked again. It is not a setting.
const maxRetries = 3

// Judge is a caller's own reading of answers, in place of a schema.
type Judge struct {
	// Instruction is added to the prompt and repeated in every correction.
	Instruction string
	// Read returns the value an answer holds, or what is wrong with it in
	// words for the model.
	Read func(reply aicodebox.Reply) (json.RawMessage, error)
}

// Judged has answers read by j instead of a schema. A failed one is asked
// again as with a schema.
func Judged(j Judge) Option { return func(o *options) { o.judge = &j } }

// question is what a run asks for beyond text, and how it asks again.
type question interface {
	first(prompt string) string
	read(reply aicodebox.Reply) (jsonanswer.Answer, error)
	correction(err error) string
	retry(prompt, bad string, err error) string
}

// ask runs attempts until one has an answer that satisfies q, which may be
// nil, or a retry would make no sense.
func (f *flight) ask(ctx context.Context, q question) error {
	req := f.req
	if q != nil {
		req.Prompt = q.first(f.req.Prompt)
	}
	for index := 0; ; index++ {
		o, err := f.attempt(ctx, index, req)
		if err != nil {
			return err
		}
		complaint := f.conclude(index, o, q)
		if complaint == nil || index == maxRetries || ctx.Err() != nil {
			return nil
		}
		req = f.next(req, o, q, complaint)
	}
}

// next is the request that asks again. Where the workspace is this request's
// alone, the failed attempt's session goes on and knows the task; elsewhere
// that session may be somebody's conversation, so a fresh one is told all.
func (f *flight) next(req aicodebox.Request, o outcome, q question, complaint error) aicodebox.Request {
	if f.private && o.reply.SessionID != "" {
		req.Resume, req.Fresh = o.reply.SessionID, false
		req.Prompt, req.Images = q.correction(complaint), nil
		return req
	}
	req.Resume, req.Fresh = "", true
	req.Prompt = q.retry(f.req.Prompt, o.reply.Text, complaint)
	return req
}

// conclude takes an attempt's outcome into the result. It returns what is
// wrong with the answer if that is worth a retry.
func (f *flight) conclude(index int, o outcome, q question) error {
	r := &f.result
	r.ExitCode, r.Text, r.Stop = o.code, o.reply.Text, o.reply.Stop
	r.Stdout, r.Stderr = o.stdout, o.stderr
	r.Provider = o.reply.ProviderError
	r.ParseError, r.JSON, r.Repaired = "", nil, false
	if o.reply.SessionID != "" {
		r.SessionID = o.reply.SessionID
	}
	f.addUsage(o.reply.Usage)
	r.Attempts = append(r.Attempts, Attempt{Index: index, Usage: o.reply.Usage, ExitCode: o.code})
	r.Status, r.Error = o.status()
	if r.Status != ledger.Completed || o.code != 0 || r.Provider != nil || q == nil {
		return nil
	}
	return f.judge(o.reply, q)
}

// judge reads the answer and takes it, or notes what is wrong with it.
func (f *flight) judge(reply aicodebox.Reply, q question) error {
	if f.accept != nil && f.accept(reply.Text) {
		return nil
	}
	r := &f.result
	answer, err := q.read(reply)
	if err != nil {
		complaint := err.Error()
		r.ParseError = complaint
		r.Attempts[len(r.Attempts)-1].ParseError = &complaint
		return err
	}
	r.JSON, r.Repaired = answer.JSON, answer.Repaired
	return nil
}

func (f *flight) addUsage(u *aicodebox.Usage) {
	if u == nil {
		return
	}
	sum := *u
	if f.result.Usage != nil {
		sum = f.result.Usage.Add(sum)
	}
	f.result.Usage = &sum
}

// status is what an attempt's end means for the run.
func (o outcome) status() (ledger.Status, string) {
	switch {
	case o.cancelled:
		return ledger.Cancelled, ""
	case o.timedOut:
		return ledger.Failed, ErrorTimeout
	case o.startErr != nil:
		return ledger.Failed, startError(o.startErr)
	case o.parseErr != nil && o.code == 0:
		return ledger.Failed, o.parseErr.Error()
	}
	return ledger.Completed, ""
}

// startError tells why a process did not start, without the box's paths.
func startError(err error) string {
	if startCode(err) == exitMissing {
		return "the agent's program was not found"
	}
	return "the agent's program could not be started: " + rootCause(err)
}

// schemaQuestion asks for JSON that satisfies a schema.
type schemaQuestion struct {
	schema *jsonanswer.Schema
	raw    []byte
	sent   []string // what the model was sent, which is not its answer
}

func (s *schemaQuestion) first(prompt string) string {
	return s.send(prompt + "\n\n" + jsonanswer.Prompt(s.raw))
}

// read prefers the agent's own structured value to JSON found in its text.
func (s *schemaQuestion) read(reply aicodebox.Reply) (jsonanswer.Answer, error) {
	text := reply.Text
	if len(reply.JSON) > 0 {
		text = string(reply.JSON)
	}
	return jsonanswer.Read(text, s.schema, s.sent...)
}

func (s *schemaQuestion) correction(err error) string {
	return s.send(jsonanswer.Correction(err, s.raw))
}

func (s *schemaQuestion) retry(prompt, bad string, err error) string {
	return s.send(jsonanswer.Retry(prompt, bad, err, s.raw))
}

func (s *schemaQuestion) send(text string) string {
	s.sent = append(s.sent, text)
	return text
}

// judgeQuestion asks what a Judge wants.
type judgeQuestion struct{ Judge }

func (j judgeQuestion) first(prompt string) string { return prompt + "\n\n" + j.Instruction }

func (j judgeQuestion) read(reply aicodebox.Reply) (jsonanswer.Answer, error) {
	value, err := j.Read(reply)
	return jsonanswer.Answer{JSON: value}, err
}

func (j judgeQuestion) correction(err error) string {
	return "Your last answer cannot be used: " + err.Error() + "\n\nAnswer again.\n\n" + j.Instruction
}

func (j judgeQuestion) retry(prompt, bad string, err error) string {
	var b strings.Builder
	b.WriteString(prompt)
	b.WriteString("\n\n" + j.Instruction)
	b.WriteString("\n\nAn earlier answer to this was:\n\n" + clip(bad, maxBadAnswer))
	b.WriteString("\n\nIt cannot be used: " + err.Error() + "\nAnswer again, and mend that.")
	return b.String()
}

// maxBadAnswer bounds how much of a bad answer a fresh session is shown.
const maxBadAnswer = 16 << 10

// clip shortens text to about n bytes, at the end of a rune.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "\n[shortened]"
}

// question readies the request's question. A schema that cannot be used is a
// RefusedError.
func (o *options) question(schema json.RawMessage) (question, error) {
	if o.judge != nil {
		return judgeQuestion{*o.judge}, nil
	}
	if schema == nil {
		return nil, nil
	}
	compiled, err := jsonanswer.Compile(schema)
	if err != nil {
		return nil, &RefusedError{Field: "jsonSchema", Reason: err.Error(), cause: err}
	}
	return &schemaQuestion{schema: compiled, raw: schema}, nil
}
