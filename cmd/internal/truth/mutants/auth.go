package mutants

import (
	"net/http"
	"sync"
)

// withEarlierCredentials returns a wrapper that sends rejected matching requests again with the credentials of an earlier accepted request.
func withEarlierCredentials(m match) wrap {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		var known string
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := readBody(r)
			rep := serve(next, r)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case rep.status != http.StatusUnauthorized:
				known = r.Header.Get("Authorization")
			case m(r) && known != "":
				again := r.Clone(r.Context())
				again.Header.Set("Authorization", known)
				setBody(again, body)
				rep = serve(next, again)
			}
			rep.send(w)
		})
	}
}

func unauthenticated(r *http.Request) bool { return r.Header.Get("Authorization") == "" }

var auth = []Mutant{
	{"auth.reading-open", "users can be read without credentials",
		withEarlierCredentials(func(r *http.Request) bool { return unauthenticated(r) && r.Method == http.MethodGet })},
	{"auth.creating-open", "users can be created without credentials",
		withEarlierCredentials(func(r *http.Request) bool { return unauthenticated(r) && r.Method == http.MethodPost })},
	{"auth.deleting-open", "users can be deleted without credentials",
		withEarlierCredentials(func(r *http.Request) bool { return unauthenticated(r) && r.Method == http.MethodDelete })},
	{"auth.any-token", "any token is accepted", withEarlierCredentials(func(r *http.Request) bool { return !unauthenticated(r) })},
	{"auth.forbidden", "a request without credentials is rejected with 403",
		after(unauthenticated, func(_ *http.Request, rep *reply) { rep.status = 403 })},
	{"auth.no-challenge", "a 401 response has no WWW-Authenticate header",
		after(everything, func(_ *http.Request, rep *reply) { rep.header.Del("WWW-Authenticate") })},
	{"auth.plain-body", "the body of a 401 response is plain text", after(everything, func(_ *http.Request, rep *reply) {
		if rep.status == http.StatusUnauthorized {
			rep.header.Set("Content-Type", "text/plain")
			rep.body = []byte("unauthorized")
		}
	})},
	{"auth.id-oracle", "without credentials, unknown ids return 404 and known ids 401", func(next http.Handler) http.Handler {
		open := withEarlierCredentials(unauthenticated)(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rep := serve(open, r)
			if unauthenticated(r) && rep.status != http.StatusNotFound {
				rep = serve(next, r)
			}
			rep.send(w)
		})
	}},
}
