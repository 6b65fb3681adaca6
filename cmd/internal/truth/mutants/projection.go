package mutants

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

var projection = []Mutant{
	{"projection.attributes-ignored", "attributes is ignored", query(readUser, func(q url.Values) { q.Del("attributes") })},
	{"projection.attributes-ignored-in-lists", "attributes is ignored in lists", query(listUsers, func(q url.Values) { q.Del("attributes") })},
	{"projection.attributes-ignored-on-post", "attributes is ignored on POST", query(createUser, func(q url.Values) { q.Del("attributes") })},
	{"projection.id-lost", "the id is omitted if attributes does not name it",
		afterEach(with(either(readUser, listUsers), "attributes"), func(o *scim.Object) { o.Delete("id") })},
	{"projection.whole-attribute", "naming a sub-attribute returns all sub-attributes", query(readUser, func(q url.Values) {
		if a := q.Get("attributes"); a == "name.familyName" || a == "emails.value" {
			q.Set("attributes", strings.Split(a, ".")[0])
		}
	})},
	{"projection.excluded-ignored", "excludedAttributes is ignored", query(readUser, func(q url.Values) { q.Del("excludedAttributes") })},
	{"projection.excluded-first", "only the first name in excludedAttributes is evaluated", query(readUser, func(q url.Values) {
		first, _, _ := strings.Cut(q.Get("excludedAttributes"), ",")
		q.Set("excludedAttributes", first)
	})},
	{"projection.excluded-is-attributes", "excludedAttributes acts as attributes",
		query(with(readUser, "excludedAttributes"), func(q url.Values) {
			q.Set("attributes", q.Get("excludedAttributes"))
			q.Del("excludedAttributes")
		})},
	{"projection.id-excluded", "the id can be excluded", after(with(readUser, "excludedAttributes"), func(r *http.Request, rep *reply) {
		if o := rep.object(); rep.ok() && strings.HasPrefix(r.URL.Query().Get("excludedAttributes"), "id") {
			o.Delete("id")
			rep.body = o.AppendJSON(nil)
		}
	})},
	{"projection.names-case-exact", "names in attributes are case-sensitive", query(readUser, func(q url.Values) {
		if q.Get("attributes") == "USERNAME" {
			q.Set("attributes", "id")
		}
	})},
	{"projection.urn-unknown", "a name with a URN is not recognized", query(readUser, func(q url.Values) {
		if strings.HasPrefix(q.Get("attributes"), "urn:") {
			q.Set("attributes", "id")
		}
	})},
	{"projection.unknown-400", "an unknown name is rejected with 400",
		instead(with(readUser, "attributes"), func(next http.Handler, r *http.Request) *reply {
			if strings.Contains(r.URL.Query().Get("attributes"), "NoSuchAttribute") {
				return failure(400, scim.InvalidValue)
			}
			return serve(next, r)
		})},
	{"projection.members-stay", "members cannot be excluded", query(readGroup, func(q url.Values) { q.Del("excludedAttributes") })},
}
