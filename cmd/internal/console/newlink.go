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
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, c.o.Scheme) {
		token = ""
	}
	caller, err := c.enter(r.Context(), token)
	path := ""
	if err == nil && caller.May(engine.AccessFleet) {
		path, err = c.LoginPath(r.Context())
	}
	switch {
	case errors.Is(err, errTooMany):
		w.Header().Set("Retry-After", "60")
		http.Error(w, tooManyLogins, http.StatusTooManyRequests)
	case errors.Is(err, ErrNoCaller):
		http.Error(w, "The request requires the header Authorization with the scheme "+c.o.Scheme+" and a valid token.", http.StatusUnauthorized)
	case err != nil:
		c.log.ErrorContext(r.Context(), "login link", "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	case path == "":
		http.Error(w, "A login link has all permissions, so it requires a token with all permissions.", http.StatusForbidden)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(NewLink{c.address(from) + path})
	}
}
