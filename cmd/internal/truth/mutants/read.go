package mutants

import (
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/scim"
)

var read = []Mutant{
	{"read.wrapped", "GET of a user returns a list", after(readUser, func(_ *http.Request, rep *reply) {
		if o := rep.object(); o != nil && rep.status == 200 {
			rep.body = scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.ListResponseMessage}},
				scim.Member{Name: "totalResults", Value: 1}, scim.Member{Name: "Resources", Value: []any{o}}).AppendJSON(nil)
		}
	})},
	{"read.other-id", "the id changes with every read", afterBody(readUser, func(o *scim.Object) { o.Set("id", o.Text("id")+"0") })},
	{"read.unknown-400", "an unknown id returns 400", after(readUser, func(_ *http.Request, rep *reply) {
		if rep.status == 404 {
			*rep = *failure(400, scim.InvalidValue)
		}
	})},
	{"read.unknown-500", "an unknown id causes 500", after(readUser, func(_ *http.Request, rep *reply) {
		if rep.status == 404 {
			*rep = *failure(500, "")
		}
	})},
	{"read.media-type", "responses have the Content-Type text/plain",
		after(everything, func(_ *http.Request, rep *reply) { rep.header.Set("Content-Type", "text/plain") })},
	{"read.all-primary", "every email address is primary", afterEach(readUser, func(o *scim.Object) {
		for _, item := range o.Array("emails") {
			objectOf(item).Set("primary", true)
		}
	})},
	{"read.last-modified-frozen", "lastModified never changes",
		afterEach(users, func(o *scim.Object) { complexOf(o, "meta").Set("lastModified", o.Complex("meta").Text("created")) })},
	{"read.created-moves", "created changes with every modification",
		afterEach(users, func(o *scim.Object) { complexOf(o, "meta").Set("created", o.Complex("meta").Text("lastModified")) })},
	{"read.parameters-closed", "an unknown query parameter is rejected with 400",
		instead(listUsers, func(next http.Handler, r *http.Request) *reply {
			for name := range r.URL.Query() {
				if !slices.Contains([]string{"filter", "startIndex", "count", "attributes", "excludedAttributes", "sortBy", "sortOrder"}, name) {
					return failure(400, scim.InvalidValue)
				}
			}
			return serve(next, r)
		})},
}
