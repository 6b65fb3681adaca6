package mutants

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

var projection = []Mutant{
	{"projection.attributes-ignored", "the attributes parameter is ignored", query(readUser, func(q url.Values) { q.Del("attributes") })},
	{"projection.user-name-always", "userName is returned although attributes does not name it",
		instead(with(readUser, "attributes"), func(next http.Handler, r *http.Request) *reply {
			q := r.URL.Query()
			q.Set("attributes", q.Get("attributes")+",userName")
			return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, q.Encode(), nil))
		})},
	{"projection.attributes-ignored-in-lists", "the attributes parameter is ignored in lists",
		query(listUsers, func(q url.Values) { q.Del("attributes") })},
	{"projection.attributes-ignored-on-post", "the attributes parameter is ignored on POST",
		query(createUser, func(q url.Values) { q.Del("attributes") })},
	{"projection.id-lost", "the id is omitted if the attributes parameter does not name it",
		afterEach(with(either(readUser, listUsers), "attributes"), func(o *scim.Object) { o.Delete("id") })},
	{"projection.whole-attribute", "a sub-attribute in the attributes parameter returns all sub-attributes",
		query(readUser, func(q url.Values) {
			if a := q.Get("attributes"); a == "name.familyName" || a == "emails.value" {
				q.Set("attributes", strings.Split(a, ".")[0])
			}
		})},
	{"projection.excluded-ignored", "excludedAttributes is ignored", query(readUser, func(q url.Values) { q.Del("excludedAttributes") })},
	{"projection.excluded-first", "only the first name in excludedAttributes is evaluated", query(readUser, func(q url.Values) {
		first, _, _ := strings.Cut(q.Get("excludedAttributes"), ",")
		q.Set("excludedAttributes", first)
	})},
	{"projection.excluded-is-attributes", "the excludedAttributes parameter acts as the attributes parameter",
		query(with(readUser, "excludedAttributes"), func(q url.Values) {
			q.Set("attributes", q.Get("excludedAttributes"))
			q.Del("excludedAttributes")
		})},
	{"projection.id-excluded", "the id can be excluded", after(with(readUser, "excludedAttributes"), func(r *http.Request, rep *reply) {
		if o := rep.object(); o != nil && rep.ok() && strings.HasPrefix(r.URL.Query().Get("excludedAttributes"), "id") {
			o.Delete("id")
			rep.body = o.AppendJSON(nil)
		}
	})},
	{"projection.names-case-exact", "names in the attributes parameter are case-sensitive", query(readUser, func(q url.Values) {
		if q.Get("attributes") == "USERNAME" {
			q.Set("attributes", "id")
		}
	})},
	{"projection.urn-unknown", "a name with a URN in the attributes parameter is ignored", query(readUser, func(q url.Values) {
		if strings.HasPrefix(q.Get("attributes"), "urn:") {
			q.Set("attributes", "id")
		}
	})},
	{"projection.unknown-400", "an unknown name in the attributes parameter is rejected with 400",
		instead(with(readUser, "attributes"), func(next http.Handler, r *http.Request) *reply {
			if strings.Contains(r.URL.Query().Get("attributes"), "NoSuchAttribute") {
				return failure(400, scim.InvalidValue)
			}
			return serve(next, r)
		})},
	{"projection.members-stay", "members cannot be excluded", query(readGroup, func(q url.Values) { q.Del("excludedAttributes") })},
}
