package httpd

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Bearer lets through what carries token in its Authorization header and
// answers the rest with 401, a challenge and fail's words. The body of a
// refused request is not looked at. An empty token lets everything through.
func Bearer(token string, fail Fail) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		if token == "" {
			return next
		}
		want := sha256.Sum256([]byte(token))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			given, ok := BearerToken(r)
			if ok && equal(given, want) {
				next.ServeHTTP(w, r)
				return
			}
			Unauthorized(w, r, ok, fail)
		})
	}
}

// Unauthorized answers 401 with the challenge. given tells whether the request
// had a token at all.
func Unauthorized(w http.ResponseWriter, r *http.Request, given bool, fail Fail) {
	detail := "this box needs a token: send the header `Authorization: Bearer <token>`"
	if given {
		detail = "the bearer token is not the one this box expects"
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	Early(w, r, func() { fail(w, r, http.StatusUnauthorized, detail) })
}

// BearerToken returns the token of the Authorization header. The scheme is
// recognised in any case (RFC 9110, section 11.1).
func BearerToken(r *http.Request) (token string, ok bool) {
	scheme, rest, found := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token = strings.TrimSpace(rest)
	return token, token != ""
}

// TokensEqual compares two tokens in a time that tells nothing of either.
func TokensEqual(given, want string) bool {
	return equal(given, sha256.Sum256([]byte(want)))
}

func equal(given string, want [sha256.Size]byte) bool {
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], want[:]) == 1
}
