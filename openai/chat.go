package openai

import (
	"context"
	"net/http"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/runner"
)

// chat answers POST /v1/chat/completions.
func (s *surface) chat(w http.ResponseWriter, r *http.Request) {
	body, err := httpd.ReadBody(w, r, maxBody)
	if err != nil {
		unreadable(err).write(w, r)
		return
	}
	req, err := readChat(body)
	if err != nil {
		s.failure(r, err).send(w)
		return
	}
	opts, err := readOptions(r.Header)
	if err != nil {
		s.failure(r, err).send(w)
		return
	}
	files := &attachments{fetcher: s.fetcher}
	defer func() {
		if err := files.remove(); err != nil {
			s.box.Log().Warn("the attachments of a chat could not be removed", "error", err)
		}
	}()
	p, err := s.plan(r.Context(), req, opts, files)
	if err != nil {
		s.failure(r, err).send(w)
		return
	}
	s.exchange(w, r, p).run()
}

// failure finds the failure for err. What is none of the known kinds goes to
// the log.
func (s *surface) failure(r *http.Request, err error) *failure {
	f := failureOf(err)
	if f == nil {
		s.box.Log().Error("a chat failed", "request", httpd.RequestID(r.Context()), "error", err)
		f = internal(r)
	}
	if f.code == "cancelled" && s.box.Work().Err() != nil {
		f.status, f.kind, f.code = http.StatusServiceUnavailable, kindServer, "shutting_down"
	}
	return f
}

// plan is a chat as the runner is to run it.
type plan struct {
	asked    chatRequest
	request  aicodebox.Request
	options  []runner.Option
	protocol *protocol // nil unless functions are on offer
	live     bool      // the answer can be streamed as it comes
}

// plan makes a chat a run. Attachments are saved among files.
func (s *surface) plan(ctx context.Context, chat chatRequest, o options, files *attachments) (plan, error) {
	if chat.format.schema == nil {
		chat.format = o.format
	}
	model, ok := s.resolveModel(chat.model)
	if !ok {
		return plan{}, unknownModel(chat.model, s.box.Models())
	}
	said, err := chat.said(o)
	if err != nil {
		return plan{}, err
	}
	chore := o.workspace == "" && !o.goesOn() && isChore(chat)
	if err := files.save(ctx, said); err != nil {
		return plan{}, err
	}
	p := plan{asked: chat, live: chat.stream && chat.format.schema == nil && !chat.tools.active()}
	p.request = aicodebox.Request{
		Prompt: transcript(said, s.mark[:]), Model: model, Effort: s.resolveEffort(chat.effort),
		System: systemText(chat.messages), AppendSystem: o.appendSystem,
		Format: aicodebox.FormatJSON, Resume: o.resume, Fresh: !o.continues,
		Tools: o.tools, NoTools: o.withoutTools(chat, files.toOpen(s.box.Agent())), Images: files.images,
		ExtraArgs: o.extraArgs, Timeout: o.timeout,
	}
	p.options = []runner.Option{runner.Surface("openai")}
	s.place(&p, o, chore)
	return p, p.form(said)
}

// said returns the messages that the agent is to be told.
func (r chatRequest) said(o options) ([]message, error) {
	said := turns(r.messages)
	if !o.goesOn() {
		return said, nil
	}
	return sinceAnswer(said)
}

// goesOn tells whether the chat goes on with a session that knows what was
// said before.
func (o options) goesOn() bool { return o.continues || o.resume != "" }

// withoutTools tells whether the agent's own tools are off: where the client
// says so, or offers functions and does not say that they are on. Files keep
// them on: they are how the agent opens one.
func (o options) withoutTools(chat chatRequest, toOpen int) bool {
	if o.noTools != nil {
		return *o.noTools
	}
	return chat.tools.active() && toOpen == 0
}

// place finds the directory of the run. What needs no files of the user's, and
// what a front end asks on its own account, gets a throw-away one; a session
// that goes on needs the place where it began.
func (s *surface) place(p *plan, o options, chore bool) {
	keepsTools := o.noTools != nil && !*o.noTools
	alone := p.asked.format.schema != nil || p.asked.tools.active() && !keepsTools
	switch {
	case o.workspace != "":
		p.request.Workspace = o.workspace
	case chore:
		p.options = append(p.options, runner.Ephemeral())
	case s.namesWorkspace():
		p.request.Workspace = s.workspace
	case o.goesOn():
		p.request.Workspace = "."
	case alone, s.workspace == workspaceEphemeral:
		p.options = append(p.options, runner.Ephemeral())
	}
}

// form says what the answer has to be.
func (p *plan) form(said []message) error {
	if !p.asked.tools.active() {
		p.request.Schema = p.asked.format.schema
		if p.request.Schema != nil {
			p.request.Format = aicodebox.FormatVerbose
		}
		return nil
	}
	var err error
	p.protocol, err = newProtocol(p.asked.tools, p.asked.format, p.request.Prompt, said)
	if err == nil {
		p.options = append(p.options, runner.Judged(runner.Judge{
			Instruction: p.protocol.instruction(), Read: p.protocol.read,
		}))
	}
	return err
}

// exchange readies the answer to a plan.
func (s *surface) exchange(w http.ResponseWriter, r *http.Request, p plan) *exchange {
	model := p.asked.model
	if model == "" {
		model = s.box.Agent().Name
	}
	id := runner.NewID()
	w.Header().Set("X-Aicodebox-Run-Id", id)
	return &exchange{
		plan: p, surface: s, w: w, r: r, runID: id,
		head: head{id: "chatcmpl-" + id, created: time.Now().Unix(), model: model},
		cut:  cutter{stop: p.asked.stop},
	}
}
