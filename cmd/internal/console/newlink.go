package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/engine"
)

// LinkPath is the path, below Options.Base, of the request for a new login link. The response is a NewLink in JSON.
const LinkPath = "/login-link"

// NewLink is the response to a request for a login link.
type NewLink struct {
	ConsoleURL string `json:"consoleUrl"` // logs in the first browser that opens it within an hour
}

// newLink creates a login link for a program with a token that has all permissions, because the link has them. The token is in the header
// Authorization, which no page of another site can send, so neither a cookie nor the origin matters.
func (c *console) newLink(w http.ResponseWriter, r *http.Request) {
	header(w.Header())
	from, problem := c.admit(r)
	if problem != nil {
		http.Error(w, problem.text, http.StatusForbidden)
		return
	}
	if !c.failures.allow(c.o.Now()) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "There were too many failed logins. Wait a minute.", http.StatusTooManyRequests)
		return
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	caller, err := c.o.Host.Caller(r.Context(), strings.TrimSpace(token))
	switch {
	case token == "" || !strings.EqualFold(scheme, c.o.Scheme) || errors.Is(err, ErrNoCaller):
		c.failures.add(c.o.Now())
		http.Error(w, "The request requires the header Authorization with the scheme "+c.o.Scheme+" and a valid token.", http.StatusUnauthorized)
		return
	case err != nil:
		c.log.ErrorContext(r.Context(), "login link", "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	case !caller.May(engine.AccessFleet):
		http.Error(w, "A login link has all permissions, so it requires a token with all permissions.", http.StatusForbidden)
		return
	}
	path, err := c.loginPath(r.Context())
	if err != nil {
		c.log.ErrorContext(r.Context(), "login link", "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	base := c.o.URL
	if base == "" {
		base = from.base()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(NewLink{base + path})
}
