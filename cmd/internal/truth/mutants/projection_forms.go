package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

const enterpriseURN = scim.EnterpriseUserSchema

// replaceParameter returns a wrapper that replaces the value old of a query parameter by now. An empty now removes the parameter.
func replaceParameter(m match, parameter, old, now string) wrap {
	return query(m, func(q url.Values) {
		if q.Get(parameter) == old {
			q.Set(parameter, now)
			if now == "" {
				q.Del(parameter)
			}
		}
	})
}

func attributesAs(old, now string) wrap { return replaceParameter(readUser, "attributes", old, now) }
func excludedAs(old, now string) wrap {
	return replaceParameter(readUser, "excludedAttributes", old, now)
}

// untrimmed returns a wrapper that removes names with a leading space from a query parameter.
func untrimmed(parameter string) wrap {
	return query(with(readUser, parameter), func(q url.Values) {
		names := slices.DeleteFunc(strings.Split(q.Get(parameter), ","), func(name string) bool { return strings.HasPrefix(name, " ") })
		q.Set(parameter, strings.Join(names, ","))
	})
}

// asking matches the requests of m with exactly this value of a query parameter.
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

// showsPassword returns a wrapper that adds a password to matching responses if attributes names it.
func showsPassword(m match) wrap {
	return afterEach(func(r *http.Request) bool {
		return m(r) && strings.Contains(strings.ToLower(r.URL.Query().Get("attributes")), "password")
	}, func(o *scim.Object) { o.Set("password", "$2a$10$hash") })
}

// projectsStored returns a wrapper that removes emails and name from the body of matching requests with the parameter attributes.
func projectsStored(m match) wrap {
	return before(with(m, "attributes"), func(o *scim.Object) {
		o.Delete("emails")
		o.Delete("name")
	})
}

var projectionForms = []Mutant{
	{"projection.first-name", "only the first name in attributes is evaluated", query(with(readUser, "attributes"), func(q url.Values) {
		name, _, _ := strings.Cut(q.Get("attributes"), ",")
		q.Set("attributes", name)
	})},
	{"projection.untrimmed", "a name after a space is not recognized in attributes", untrimmed("attributes")},
	{"projection.excluded-untrimmed", "a name after a space is not recognized in excludedAttributes", untrimmed("excludedAttributes")},
	{"projection.schemas-lost", "schemas is omitted from projected resources",
		afterEach(either(with(readUser, "attributes"), with(readUser, "excludedAttributes")), func(o *scim.Object) { o.Delete("schemas") })},
	{"projection.id-opens", "attributes=id returns all attributes", attributesAs("id", "")},
	{"projection.meta-opens", "attributes=meta returns all attributes", attributesAs("meta", "")},
	{"projection.meta-lost", "attributes=meta returns no meta", attributesAs("meta", "id")},
	{"projection.meta-whole", "naming a sub-attribute of meta returns the whole of meta", attributesAs("meta.lastModified", "meta")},
	{"projection.complex-cut", "naming a complex attribute returns only its first sub-attribute", attributesAs("name", "name.familyName")},
	{"projection.multi-valued-cut", "naming a multi-valued attribute returns only the sub-attribute value",
		attributesAs("emails", "emails.value")},
	{"projection.last-part", "only the last of two sub-attributes of the same attribute is returned",
		attributesAs("name.familyName,name.givenName", "name.givenName")},
	{"projection.first-element", "a sub-attribute of a multi-valued attribute is returned only from the first element",
		afterEach(asking(readUser, "attributes", "emails.type"), firstOnly("emails"))},
	{"projection.urn-whole", "a sub-attribute after a URN is not recognized", attributesAs(scim.UserSchema+":name.familyName", "name")},
	{"projection.urn-case-exact", "URNs are case-sensitive", attributesAs(strings.ToUpper(scim.UserSchema)+":USERNAME", "id")},
	{"projection.part-case-exact", "sub-attribute names are case-sensitive", attributesAs("Name.FAMILYname", "id")},
	{"projection.unknown-opens", "attributes with only unknown names returns all attributes", attributesAs("scimconfNoSuchAttribute", "")},
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
	{"projection.default-narrow", "without parameters, only the names are returned",
		query(plain, func(q url.Values) { q.Set("attributes", "userName,name") })},
	{"projection.default-password", "without parameters, the password is returned",
		afterEach(plain, func(o *scim.Object) { o.Set("password", "$2a$10$hash") })},
	{"projection.empty-400", "an empty parameter is rejected", instead(readUser, func(next http.Handler, r *http.Request) *reply {
		for _, values := range r.URL.Query() {
			if slices.Contains(values, "") {
				return failure(400, scim.InvalidValue)
			}
		}
		return serve(next, r)
	})},
	{"projection.extension-unknown", "attributes of extensions are not returned on request", attributesAs(enterpriseURN+":department", "id")},
	{"projection.extension-opens", "naming one attribute of an extension returns the whole extension",
		attributesAs(enterpriseURN+":department", enterpriseURN)},
	{"projection.extension-part-whole", "a sub-attribute after the URN of an extension is not recognized",
		attributesAs(enterpriseURN+":manager.value", enterpriseURN)},
	{"projection.whole-extension-unknown", "an extension is not returned when attributes names its URN", attributesAs(enterpriseURN, "id")},
	{"projection.extension-always", "the extension is always returned",
		query(with(readUser, "attributes"), func(q url.Values) { q.Set("attributes", q.Get("attributes")+","+enterpriseURN) })},
	{"projection.excluded-extension-whole", "excluding one attribute of an extension excludes the whole extension",
		excludedAs(enterpriseURN+":department", enterpriseURN)},
	{"projection.excluded-extension-stays", "attributes of extensions cannot be excluded", excludedAs(enterpriseURN+":department", "")},
	{"projection.whole-extension-stays", "an extension cannot be excluded", excludedAs(enterpriseURN, "")},

	{"projection.ignored-on-put", "attributes is ignored on PUT", ignoring(putUser, "attributes")},
	{"projection.excluded-ignored-on-put", "excludedAttributes is ignored on PUT", ignoring(putUser, "excludedAttributes")},
	{"projection.put-stores-less", "PUT stores only the attributes that its response contains", projectsStored(putUser)},
	{"projection.patch-204", "PATCH returns 204 although the request has attributes", after(patchUser, func(_ *http.Request, rep *reply) {
		if rep.status == 200 {
			*rep = reply{status: 204, header: http.Header{}}
		}
	})},
	{"projection.ignored-on-patch", "attributes and excludedAttributes are ignored on PATCH", func(next http.Handler) http.Handler {
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
	{"projection.members-lost", "members are not returned when attributes names them",
		replaceParameter(readGroup, "attributes", "members", "id")},
	{"projection.members-with-more", "attributes=members returns the whole group", replaceParameter(readGroup, "attributes", "members", "")},
	{"projection.member-ids-with-more", "attributes=members.value returns all sub-attributes of members",
		replaceParameter(readGroup, "attributes", "members.value", "members")},
	{"projection.password-on-demand", "GET returns a password when attributes names it", showsPassword(readUser)},
	{"projection.password-on-write", "POST and PUT return a password when attributes names it", showsPassword(either(createUser, putUser))},
	{"projection.both-500", "attributes together with excludedAttributes causes 500",
		instead(with(with(readUser, "attributes"), "excludedAttributes"), func(http.Handler, *http.Request) *reply { return failure(500, "") })},
	{"projection.unknown-parameter-400", "an unknown parameter is rejected",
		instead(with(readUser, "scimconfNoSuchParameter"), func(http.Handler, *http.Request) *reply { return failure(400, scim.InvalidValue) })},
}
