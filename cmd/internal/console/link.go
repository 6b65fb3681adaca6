package console

import (
	"net/http"
	"regexp"
)

// links are the addresses that the messages of the management API send people to, with the calls that a sign-in page would make.
var links = []struct {
	path, what string
	begin      string // the call below /api/v1/authn that takes the token, and the member that does
	member     string
	question   bool
}{
	{"/welcome/{token}", "Activate an account", "", "token", false},
	{"/reset_password/{token}", "Choose a new password", "/recovery/token", "recoveryToken", false},
	{"/signin/reset-password/{token}", "Choose a new password", "/recovery/token", "recoveryToken", true},
}

// tokenForm is what a token looks like. Nothing else is shown, since the lines of the page are there to be pasted into a shell.
var tokenForm = regexp.MustCompile(`^[-\w]{1,64}$`)

// LinkPage tells what to do with a one-time link.
type LinkPage struct {
	// What the link is for.
	What string
	// Steps are the lines for a shell.
	Steps []string
}

func (c *console) addLinks(mux *http.ServeMux) {
	for _, l := range links {
		mux.HandleFunc("GET "+l.path, func(w http.ResponseWriter, r *http.Request) {
			token := r.PathValue("token")
			if !tokenForm.MatchString(token) {
				c.fail(w, r, http.StatusNotFound, "There is no page at this address.")
				return
			}
			steps := []string{
				"AUTHN=" + base(r) + "/api/v1/authn",
				`post() { curl -sS -H "Content-Type: application/json" "$@"; echo; }`,
				`STATE=$(post -d '{"` + l.member + `":"` + token + `"}' $AUTHN` + l.begin + ` | grep -o '"stateToken":"[^"]*' | cut -d'"' -f4)`,
			}
			if l.question {
				steps = append(steps, `post -d "{\"stateToken\":\"$STATE\",\"answer\":\"the answer to the recovery question\"}" $AUTHN/recovery/answer`)
			}
			steps = append(steps, `post -d "{\"stateToken\":\"$STATE\",\"newPassword\":\"Correct-horse-7\"}" $AUTHN/credentials/reset_password`)
			c.write(w, r, http.StatusOK, "link", LinkPage{l.what, steps})
		})
	}
}

// base is how the browser has reached this server. localOnly has seen to it that the name is a harmless one.
func base(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
