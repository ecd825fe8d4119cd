package fakemodel

import (
	"fmt"
	"net/http"
	"strings"
)

// failure is an error as a provider reports it.
type failure struct {
	status  int
	code    string // OpenAI's word for it
	message string
}

// The codes that change more than the text of an error.
const (
	codeQuota      = "insufficient_quota"
	codeBadRequest = "invalid_request"
)

// usual is what providers say for a status.
var usual = map[int]failure{
	400: {400, "content_filter", "The response was filtered due to the prompt triggering the content management policy. Please modify your prompt and retry."},
	401: {401, "invalid_api_key", "Incorrect API key provided: %s."},
	403: {403, "permission_denied", "This key may not use the model."},
	404: {404, "model_not_found", "The model does not exist or you do not have access to it."},
	413: {413, "request_too_large", "The request is too large."},
	429: {429, "rate_limit_exceeded", "Rate limit reached for %s on requests per min (RPM): Limit 3, Used 3, Requested 1."},
	500: {500, "server_error", "The server had an error while processing your request."},
	503: {503, "service_unavailable", "The service is not available at the moment."},
	529: {529, "server_is_overloaded", "The server is currently overloaded. Please try again later."},
}

func failureOf(req Request, res Response) failure {
	f, ok := usual[res.Status]
	if !ok {
		f = failure{res.Status, "error", http.StatusText(res.Status)}
	}
	if res.Code == codeQuota {
		f = failure{res.Status, codeQuota, "You exceeded your current quota, please check your plan and billing details."}
	}
	switch res.Status {
	case http.StatusUnauthorized:
		f.message = fmt.Sprintf(f.message, masked(req.Key))
	case http.StatusTooManyRequests:
		if strings.Contains(f.message, "%s") {
			f.message = fmt.Sprintf(f.message, req.Model)
		}
	}
	if res.Code != "" {
		f.code = res.Code
	}
	if res.Message != "" {
		f.message = res.Message
	}
	return f
}

// masked shows the start of a key, as OpenAI does.
func masked(key string) string { return key[:min(4, len(key))] + "****" }

// key returns the credential of a request, from the header of any provider.
func key(r *http.Request) string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		if v := r.Header.Get(name); v != "" {
			return v
		}
	}
	if v, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return v
	}
	return r.URL.Query().Get("key")
}
