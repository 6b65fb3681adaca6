package mutants

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

func headUser(r *http.Request) bool { return on("HEAD", "Users", true)(r) }

// plainHTTP has the mutants that violate requirements of HTTP.
var plainHTTP = []Mutant{
	{"read.head-500", "HEAD causes 500", refusing(headUser, 500)},
	{"read.head-finds-all", "HEAD returns 200 for every id", instead(headUser, func(http.Handler, *http.Request) *reply {
		return &reply{status: 200, header: http.Header{"Content-Type": {scim.MediaType}}}
	})},
	{"read.options-500", "OPTIONS causes 500", refusing(on("OPTIONS", "Users", false), 500)},
	{"read.accept-html", "a request that does not accept SCIM gets an HTML page",
		instead(withHeader(readUser, "Accept", func(v string) bool { return v == "image/png" }), func(http.Handler, *http.Request) *reply {
			return &reply{status: 200, header: http.Header{"Content-Type": {"text/html"}}, body: []byte("<html></html>")}
		})},
}
