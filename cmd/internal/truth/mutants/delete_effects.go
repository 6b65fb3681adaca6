package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

var deleteEffects = []Mutant{
	{"delete.takes-alike", "DELETE also deletes users with the same externalId",
		instead(deleteUser, func(next http.Handler, r *http.Request) *reply {
			was := stored(next, r)
			base, _, _ := place(r)
			if id := was.Text("externalId"); id != "" {
				list := serve(next,
					derivedRequest(r, http.MethodGet, base+"/Users", url.Values{"filter": {`externalId eq "` + id + `"`}}.Encode(), nil)).object()
				for _, v := range list.Array("Resources") {
					serve(next, derivedRequest(r, http.MethodDelete, base+"/Users/"+objectOf(v).Text("id"), "", nil))
				}
				return &reply{status: http.StatusNoContent, header: http.Header{}}
			}
			return serve(next, r)
		})},
	{"delete.takes-reports", "DELETE of a manager also deletes the direct reports",
		instead(deleteUser, func(next http.Handler, r *http.Request) *reply {
			base, _, id := place(r)
			filter := url.Values{"filter": {scim.EnterpriseUserSchema + `:manager.value eq "` + id + `"`}}
			list := serve(next, derivedRequest(r, http.MethodGet, base+"/Users", filter.Encode(), nil)).object()
			for _, v := range list.Array("Resources") {
				serve(next, derivedRequest(r, http.MethodDelete, base+"/Users/"+objectOf(v).Text("id"), "", nil))
			}
			return serve(next, r)
		})},
	{"delete.still-searched", "a deleted user is still found by a search",
		trackDeleted(func(next http.Handler, r *http.Request, g *deletedUsers) *reply {
			_, _, id := place(r)
			var sent *scim.Object
			if id == ".search" {
				sent, _ = scim.Decode(readBody(r))
			}
			rep := serve(next, r)
			if m := userNameOperand.FindStringSubmatch(sent.Text("filter")); m != nil && rep.ok() && g.byUserName(m[1]) != nil {
				list := rep.object()
				list.Set("Resources", append(slices.Clone(list.Array("Resources")), g.byUserName(m[1])))
				rep.body = list.AppendJSON(nil)
			}
			return rep
		})},
	{"delete.external-id-found", "a deleted user is still found by its externalId",
		trackDeleted(func(next http.Handler, r *http.Request, g *deletedUsers) *reply {
			rep := serve(next, r)
			if f := r.URL.Query().Get("filter"); listUsers(r) && rep.ok() && strings.HasPrefix(f, "externalId eq") {
				if o := g.with("externalId", strings.Trim(strings.TrimPrefix(f, "externalId eq "), `"`)); o != nil {
					list := rep.object()
					list.Set("Resources", append(slices.Clone(list.Array("Resources")), o))
					rep.body = list.AppendJSON(nil)
				}
			}
			return rep
		})},
}
