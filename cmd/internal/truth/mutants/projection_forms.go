package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

const enterpriseURN = scim.EnterpriseUserSchema

// replaceParameter returns a wrapper that replaces the value of a query parameter if the value is old. An empty replacement removes the
// parameter.
func replaceParameter(m match, parameter, old, replacement string) wrap {
	return query(m, func(q url.Values) {
		if q.Get(parameter) == old {
			q.Set(parameter, replacement)
			if replacement == "" {
				q.Del(parameter)
			}
		}
	})
}

func attributesAs(old, replacement string) wrap {
	return replaceParameter(readUser, "attributes", old, replacement)
}

func excludedAs(old, replacement string) wrap {
	return replaceParameter(readUser, "excludedAttributes", old, replacement)
}

// untrimmed returns a wrapper that removes names with a leading space from a query parameter.
func untrimmed(parameter string) wrap {
	return query(with(readUser, parameter), func(q url.Values) {
		names := slices.DeleteFunc(strings.Split(q.Get(parameter), ","), func(name string) bool { return strings.HasPrefix(name, " ") })
		q.Set(parameter, strings.Join(names, ","))
	})
}

// asking matches the requests of m whose query parameter has exactly the given value.
func asking(m match, parameter, value string) match {
	return func(r *http.Request) bool { return m(r) && r.URL.Query().Get(parameter) == value }
}

// ignoring returns a wrapper that removes a query parameter from matching requests.
func ignoring(m match, parameter string) wrap {
	return query(m, func(q url.Values) { q.Del(parameter) })
}

// plain matches reads of a user without a query.
var plain match = func(r *http.Request) bool { return readUser(r) && r.URL.RawQuery == "" }

// firstOnly returns a function that removes all elements of a multi-valued attribute except the first.
func firstOnly(attribute string) func(o *scim.Object) {
	return func(o *scim.Object) {
		if list := o.Array(attribute); len(list) > 1 {
			o.Set(attribute, list[:1])
		}
	}
}

// showsPassword returns a wrapper that adds a password to matching responses if the attributes parameter contains "password".
func showsPassword(m match) wrap {
	return afterEach(func(r *http.Request) bool {
		return m(r) && strings.Contains(strings.ToLower(r.URL.Query().Get("attributes")), "password")
	}, func(o *scim.Object) { o.Set("password", "$2a$10$hash") })
}

// projectsStored returns a wrapper that removes emails and name from the body of matching requests with the attributes parameter.
func projectsStored(m match) wrap {
	return before(with(m, "attributes"), func(o *scim.Object) {
		o.Delete("emails")
		o.Delete("name")
	})
}

var projectionForms = []Mutant{
	{"projection.first-name", "only the first name in the attributes parameter is evaluated",
		query(with(readUser, "attributes"), func(q url.Values) {
			name, _, _ := strings.Cut(q.Get("attributes"), ",")
			q.Set("attributes", name)
		})},
	{"projection.untrimmed", "a name after a space in the attributes parameter is ignored", untrimmed("attributes")},
	{"projection.excluded-untrimmed", "a name after a space in the excludedAttributes parameter is ignored", untrimmed("excludedAttributes")},
	{"projection.schemas-lost", "schemas is omitted if a request has the attributes or excludedAttributes parameter",
		afterEach(either(with(readUser, "attributes"), with(readUser, "excludedAttributes")), func(o *scim.Object) { o.Delete("schemas") })},
	{"projection.id-opens", "attributes=id returns all attributes", attributesAs("id", "")},
	{"projection.meta-opens", "attributes=meta returns all attributes", attributesAs("meta", "")},
	{"projection.meta-lost", "attributes=meta returns no meta", attributesAs("meta", "id")},
	{"projection.meta-whole", "attributes=meta.lastModified returns all sub-attributes of meta", attributesAs("meta.lastModified", "meta")},
	{"projection.complex-cut", "attributes=name returns only the sub-attribute familyName", attributesAs("name", "name.familyName")},
	{"projection.multi-valued-cut", "attributes=emails returns only the sub-attribute value of each element",
		attributesAs("emails", "emails.value")},
	{"projection.last-part", "if the attributes parameter names two sub-attributes of the same attribute, only the last is returned",
		attributesAs("name.familyName,name.givenName", "name.givenName")},
	{"projection.first-element", "attributes=emails.type returns only the first element of emails",
		afterEach(asking(readUser, "attributes", "emails.type"), firstOnly("emails"))},
	{"projection.urn-whole", "a sub-attribute after a URN in the attributes parameter returns the whole attribute",
		attributesAs(scim.UserSchema+":name.familyName", "name")},
	{"projection.urn-case-exact", "URNs are case-sensitive", attributesAs(strings.ToUpper(scim.UserSchema)+":USERNAME", "id")},
	{"projection.part-case-exact", "sub-attribute names in the attributes parameter are case-sensitive",
		attributesAs("Name.FAMILYname", "id")},
	{"projection.unknown-opens", "an attributes parameter with only unknown names returns all attributes",
		attributesAs("scimconfNoSuchAttribute", "")},
	{"projection.excluded-unknown-400", "an unknown name in excludedAttributes is rejected",
		instead(asking(readUser, "excludedAttributes", "scimconfNoSuchAttribute"), func(http.Handler, *http.Request) *reply {
			return failure(400, scim.InvalidValue)
		})},
	{"projection.excluded-whole", "excluding a sub-attribute excludes the whole attribute", excludedAs("name.givenName", "name")},
	{"projection.excluded-part-stays", "sub-attributes cannot be excluded", excludedAs("name.givenName", "")},
	{"projection.excluded-elements-whole", "excluding a sub-attribute of a multi-valued attribute excludes the whole attribute",
		excludedAs("emails.type", "emails")},
	{"projection.excluded-elements-stay", "sub-attributes of multi-valued attributes cannot be excluded", excludedAs("emails.type", "")},
	{"projection.excluded-case-exact", "names in excludedAttributes are case-sensitive", excludedAs("EMAILS", "")},
	{"projection.excluded-urn-unknown", "names with a URN cannot be excluded", excludedAs(scim.UserSchema+":emails", "")},
	{"projection.meta-stays", "meta cannot be excluded", excludedAs("meta", "")},
	{"projection.default-narrow", "without query parameters, only userName and name are returned",
		query(plain, func(q url.Values) { q.Set("attributes", "userName,name") })},
	{"projection.default-password", "without query parameters, the password is returned",
		afterEach(plain, func(o *scim.Object) { o.Set("password", "$2a$10$hash") })},
	{"projection.empty-400", "an empty attributes or excludedAttributes parameter is rejected",
		instead(readUser, func(next http.Handler, r *http.Request) *reply {
			for _, values := range r.URL.Query() {
				if slices.Contains(values, "") {
					return failure(400, scim.InvalidValue)
				}
			}
			return serve(next, r)
		})},
	{"projection.extension-unknown", "an attribute of an extension is not returned when the attributes parameter names it",
		attributesAs(enterpriseURN+":department", "id")},
	{"projection.extension-opens", "one attribute of an extension in the attributes parameter returns the whole extension",
		attributesAs(enterpriseURN+":department", enterpriseURN)},
	{"projection.extension-part-whole", "in the attributes parameter, a sub-attribute after the URN of an extension returns the extension",
		attributesAs(enterpriseURN+":manager.value", enterpriseURN)},
	{"projection.whole-extension-unknown", "an extension is not returned when the attributes parameter contains its URN",
		attributesAs(enterpriseURN, "id")},
	{"projection.extension-always", "the enterprise extension is returned even if the attributes parameter does not name it",
		query(with(readUser, "attributes"), func(q url.Values) { q.Set("attributes", q.Get("attributes")+","+enterpriseURN) })},
	{"projection.excluded-extension-whole", "excluding one attribute of an extension excludes the whole extension",
		excludedAs(enterpriseURN+":department", enterpriseURN)},
	{"projection.excluded-extension-stays", "attributes of extensions cannot be excluded", excludedAs(enterpriseURN+":department", "")},
	{"projection.whole-extension-stays", "an extension cannot be excluded", excludedAs(enterpriseURN, "")},

	{"projection.ignored-on-put", "the attributes parameter is ignored on PUT", ignoring(putUser, "attributes")},
	{"projection.excluded-ignored-on-put", "excludedAttributes is ignored on PUT", ignoring(putUser, "excludedAttributes")},
	{"projection.put-stores-less", "PUT stores only the attributes that its response contains", projectsStored(putUser)},
	{"projection.patch-204", "PATCH returns 204 although the request has the attributes parameter",
		after(patchUser, func(_ *http.Request, rep *reply) {
			if rep.status == 200 {
				*rep = reply{status: 204, header: http.Header{}}
			}
		})},
	{"projection.ignored-on-patch", "the attributes and excludedAttributes parameters are ignored on PATCH",
		func(next http.Handler) http.Handler {
			return instead(patchUser, func(next http.Handler, r *http.Request) *reply {
				rep := serve(next, r)
				if rep.ok() {
					return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil))
				}
				return rep
			})(next)
		}},
	{"projection.excluded-ignored-on-post", "excludedAttributes is ignored on POST", ignoring(createUser, "excludedAttributes")},
	{"projection.post-stores-less", "POST stores only the attributes that its response contains", projectsStored(createUser)},
	{"projection.excluded-ignored-in-lists", "excludedAttributes is ignored in lists", ignoring(listUsers, "excludedAttributes")},
	{"projection.members-stay-in-lists", "members cannot be excluded from lists", ignoring(listGroups, "excludedAttributes")},
	{"projection.members-lost", "members are not returned when the attributes parameter names them",
		replaceParameter(readGroup, "attributes", "members", "id")},
	{"projection.members-with-more", "attributes=members returns the whole group", replaceParameter(readGroup, "attributes", "members", "")},
	{"projection.member-ids-with-more", "attributes=members.value returns all sub-attributes of members",
		replaceParameter(readGroup, "attributes", "members.value", "members")},
	{"projection.password-on-demand", "GET returns the password when the attributes parameter names it", showsPassword(readUser)},
	{"projection.password-on-write", "POST and PUT return the password when the attributes parameter names it",
		showsPassword(either(createUser, putUser))},
	{"projection.both-500", "a request with both the attributes and the excludedAttributes parameter causes 500",
		instead(with(with(readUser, "attributes"), "excludedAttributes"), func(http.Handler, *http.Request) *reply { return failure(500, "") })},
	{"projection.unknown-parameter-400", "an unknown query parameter is rejected",
		instead(with(readUser, "scimconfNoSuchParameter"), func(http.Handler, *http.Request) *reply { return failure(400, scim.InvalidValue) })},
}
