package console

import (
	"cmp"
	"net/http"
	"regexp"
)

// links are the paths of the URLs in the messages that the management API sends to users. Each has the API call that a sign-in page at this
// URL would send.
var links = []struct {
	path, what string
	begin      string // path below /api/v1/authn of the call that accepts the token
	member     string // member of the request body that contains the token
	question   bool
}{
	{"/welcome/{token}", "Activate an account", "", "token", false},
	{"/reset_password/{token}", "Choose a new password", "/recovery/token", "recoveryToken", false},
	{"/signin/reset-password/{token}", "Choose a new password", "/recovery/token", "recoveryToken", true},
}

// tokenForm matches a token. Other text is not shown, because users paste the lines of the page into a shell.
var tokenForm = regexp.MustCompile(`^[-\w]{1,64}$`)

// LinkPage describes the use of a one-time link.
type LinkPage struct {
	// What describes the purpose of the link, such as "Activate an account".
	What string
	// Steps are the shell commands.
	Steps []string
}

func (c *console) addLinks(mux *http.ServeMux) {
	for _, l := range links {
		mux.Handle("GET "+l.path, c.admitted(func(w http.ResponseWriter, r *http.Request, from client) {
			token := r.PathValue("token")
			if !tokenForm.MatchString(token) {
				c.fail(w, r, nil, http.StatusNotFound, "No page exists at this address.", "Check that the link is complete.")
				return
			}
			steps := []string{
				"AUTHN=" + from.base() + "/api/v1/authn",
				`post() { curl -sS -H "Content-Type: application/json" "$@"; echo; }`,
				`STATE=$(post -d '{"` + l.member + `":"` + token + `"}' $AUTHN` + l.begin + ` | grep -o '"stateToken":"[^"]*' | cut -d'"' -f4)`,
			}
			if l.question {
				steps = append(steps, `post -d "{\"stateToken\":\"$STATE\",\"answer\":\"the answer to the recovery question\"}" $AUTHN/recovery/answer`)
			}
			steps = append(steps, `post -d "{\"stateToken\":\"$STATE\",\"newPassword\":\"Correct-horse-7\"}" $AUTHN/credentials/reset_password`)
			c.write(w, r, nil, http.StatusOK, "link", l.what, LinkPage{l.what, steps})
		}))
	}
}

// address returns the base URL of the server for a client: the one that the operator has set, or else the one in the browser.
func (c *console) address(from client) string { return cmp.Or(c.o.URL, from.base()) }

// base returns the base URL of the server in the browser, whose host name admit has accepted.
func (c client) base() string {
	if c.secure {
		return "https://" + c.at
	}
	return "http://" + c.at
}
