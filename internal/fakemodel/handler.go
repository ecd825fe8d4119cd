package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// maxBody is what a request may have: more than any agent's context.
const maxBody = 64 << 20

// Models are the ids that the server says it has. It answers any other as well.
var Models = []string{"fake-1", "fake-mini", "fake-model"}

// wire is one provider's interface.
type wire interface {
	// read understands a request's body.
	read(r *http.Request, body []byte) (Request, error)
	// failure is the body of an error.
	failure(e failure) any
	// whole is the body of an answer that is not streamed.
	whole(req Request, res Response) any
	// stream writes an answer piece by piece.
	stream(out *events, req Request) encoder
}

// encoder writes the events of one streamed answer: begin, then for each part
// open, some deltas, and shut, and at last end, which is missing in a cut
// stream.
type encoder interface {
	begin()
	open(index int, p Part)
	delta(piece string)
	shut()
	end(res Response)
}

func (s *Server) route() {
	s.mux.HandleFunc("POST /v1/chat/completions", s.ask(chat{}))
	s.mux.HandleFunc("POST /v1/responses", s.ask(responses{}))
	s.mux.HandleFunc("POST /v1/messages", s.ask(messages{}))
	s.mux.HandleFunc("POST /v1/messages/count_tokens", s.count)
	s.mux.HandleFunc("POST /v1beta/models/{call...}", s.ask(google{}))
	s.mux.HandleFunc("GET /v1/models", listModels)
	s.mux.HandleFunc("GET /v1/models/{id...}", showModel)
	s.mux.HandleFunc("GET /v1beta/models", listGoogleModels)
	s.mux.HandleFunc("GET /_log", s.showLog)
	s.mux.HandleFunc("DELETE /_log", func(http.ResponseWriter, *http.Request) { s.Reset() })
	s.mux.HandleFunc("/", unknownPath)
}

// ask answers a question over one interface.
func (s *Server) ask(api wire) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err == nil && !json.Valid(body) {
			err = fmt.Errorf("the body is not JSON")
		}
		var req Request
		if err == nil {
			req, err = api.read(r, body)
		}
		if err != nil {
			writeJSON(w, http.StatusBadRequest, api.failure(failureOf(req, Response{Status: 400, Code: codeBadRequest, Message: err.Error()})))
			return
		}
		req.complete(r, body)
		req, queued := s.record(req)
		deliver(w, r, api, req, s.respond(req, queued))
	}
}

// complete fills what is the same for all interfaces.
func (r *Request) complete(from *http.Request, body []byte) {
	r.Time = time.Now()
	r.Path = from.URL.Path
	r.Key = key(from)
	r.Size = len(body)
	r.Body = body
	r.Prompt = len(r.User())
}

func deliver(w http.ResponseWriter, r *http.Request, api wire, req Request, res Response) {
	w.Header().Set("x-request-id", fmt.Sprintf("req_fake%06d", req.Number))
	if res.Status != 0 {
		writeJSON(w, res.Status, api.failure(failureOf(req, res)))
		return
	}
	if !req.Stream {
		if waitAll(r.Context(), res) {
			writeJSON(w, http.StatusOK, api.whole(req, res))
		}
		return
	}
	out := &events{w: w}
	play(r.Context(), api.stream(out, req), out, res)
}

// play writes res in its own time.
func play(ctx context.Context, e encoder, out *events, res Response) {
	begun := false
	begin := func() {
		if !begun {
			e.begin()
			begun = true
		}
	}
	for i, p := range res.Parts {
		if !pause(ctx, p.Wait, p.Hang) {
			return
		}
		if p.Text == "" && p.Thinking == "" && p.Call == nil {
			continue
		}
		begin()
		e.open(out.parts, p)
		if !playPieces(ctx, e, p) || (res.Cut && i == len(res.Parts)-1) {
			return
		}
		e.shut()
		out.parts++
	}
	begin()
	if res.Cut {
		return
	}
	e.end(res)
}

func playPieces(ctx context.Context, e encoder, p Part) bool {
	for i, piece := range p.pieces() {
		if i > 0 && !pause(ctx, p.Gap, false) {
			return false
		}
		e.delta(piece)
	}
	return true
}

// pause waits and tells whether the caller is still there.
func pause(ctx context.Context, d time.Duration, forever bool) bool {
	if forever {
		<-ctx.Done()
		return false
	}
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// waitAll waits as long as a stream of res would take.
func waitAll(ctx context.Context, res Response) bool {
	for _, p := range res.Parts {
		if !pause(ctx, p.Wait+p.Gap*time.Duration(max(0, len(p.pieces())-1)), p.Hang) {
			return false
		}
	}
	return true
}

func (s *Server) showLog(w http.ResponseWriter, _ *http.Request) {
	log := s.Requests()
	if log == nil {
		log = []Request{}
	}
	writeJSON(w, http.StatusOK, log)
}

// count answers how many tokens a request has.
func (s *Server) count(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeJSON(w, http.StatusBadRequest, messages{}.failure(failure{400, codeBadRequest, err.Error()}))
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": tokens(len(body))})
}

func listModels(w http.ResponseWriter, _ *http.Request) {
	list := make([]any, 0, len(Models))
	for _, id := range Models {
		list = append(list, modelCard(id))
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list, "has_more": false})
}

func showModel(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !slices.Contains(Models, id) {
		writeJSON(w, http.StatusNotFound, chat{}.failure(failure{404, "model_not_found", "The model `" + id + "` does not exist."}))
		return
	}
	writeJSON(w, http.StatusOK, modelCard(id))
}

func modelCard(id string) map[string]any {
	return map[string]any{
		"id": id, "object": "model", "type": "model", "display_name": id,
		"created": 1700000000, "owned_by": "fakemodel",
	}
}

func listGoogleModels(w http.ResponseWriter, _ *http.Request) {
	list := make([]any, 0, len(Models))
	for _, id := range Models {
		list = append(list, map[string]any{"name": "models/" + id, "supportedGenerationMethods": []string{"generateContent"}})
	}
	writeJSON(w, http.StatusOK, map[string]any{"models": list})
}

func unknownPath(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusNotFound, chat{}.failure(failure{404, "unknown_url", "Unknown request URL: " + r.Method + " " + r.URL.Path}))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(v), '\n')) // a caller that left is no concern of ours
}
