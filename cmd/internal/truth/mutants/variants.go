package mutants

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// operandText matches a string in a filter.
var operandText = regexp.MustCompile(`"(?:\\.|[^"\\])*"`)

// Variants returns every variant. The caller may change the slice.
func Variants() []Variant {
	return append([]Variant{
		{"patch-204", "PATCH returns 204 without a body unless the request has the attributes parameter",
			after(either(patchUser, patchGroup), func(r *http.Request, rep *reply) {
				if rep.status == 200 && !r.URL.Query().Has("attributes") {
					*rep = reply{status: 204, header: http.Header{}}
				}
			})},
		{"patch-200", "PATCH returns 200 with the resource",
			instead(either(patchUser, patchGroup), func(next http.Handler, r *http.Request) *reply {
				rep := serve(next, r)
				if rep.ok() {
					return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, r.URL.RawQuery, nil))
				}
				return rep
			})},
		{"bulk-without-versions", "the results of a bulk request do not have the member version",
			bulkResults(func(op *scim.Object) { op.Delete("version") })},
		{"bulk-limit-reached-412", "a bulk request in which the number of errors reaches failOnErrors returns 412 with its results",
			atLimit(func(_ []any, rep *reply, _ *scim.Object) { rep.status = http.StatusPreconditionFailed })},
		{"group-name-unique", "a second group with the same displayName is rejected with 409", func(next http.Handler) http.Handler {
			posted := &names{}
			return refuse(createGroup, func(o *scim.Object) bool { return o.Text("displayName") != "" && posted.add(o.Text("displayName")) },
				func() *reply { return failure(409, scim.Uniqueness) })(next)
		}},
		{"unknown-members-refused", "a group with a member that refers to no existing user is rejected with 400",
			refuse(either(createGroup, putGroup, patchGroup), namesAbsent, func() *reply { return failure(400, scim.InvalidValue) })},
		{"unknown-members-dropped", "a member that refers to no existing user is ignored, the other members of the group are stored",
			before(either(createGroup, putGroup, patchGroup), func(o *scim.Object) {
				dropAbsent(o, "members")
				for _, item := range o.Array("Operations") {
					if op, ok := item.(*scim.Object); ok {
						dropAbsent(op, "value")
					}
				}
			})},
		{"open-discovery", "discovery endpoints need no credentials", func(next http.Handler) http.Handler {
			known := &memory{}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				const once = "credentials"
				credentials := r.Header.Get("Authorization")
				if discovers := either(config, listSchemas, listTypes, readDiscovery("Schemas"), readDiscovery("ResourceTypes")); discovers(r) &&
					credentials == "" {
					if good, _ := known.at(once).(string); good != "" {
						r = r.Clone(r.Context())
						r.Header.Set("Authorization", good)
					}
				}
				rep := serve(next, r)
				if rep.ok() && credentials != "" {
					known.put(once, credentials)
				}
				rep.send(w)
			})
		}},
		{"no-content-location", "Content-Location is absent",
			after(everything, func(_ *http.Request, rep *reply) { rep.header.Del("Content-Location") })},
		{"content-location", "Content-Location is the URL of the resource",
			after(either(createUser, readUser), func(_ *http.Request, rep *reply) {
				if l := rep.object().Complex("meta").Text("location"); rep.ok() && l != "" {
					rep.header.Set("Content-Location", l)
				}
			})},
		{"me-not-implemented", "/Me returns 501", refusing(ofMe, 501)},
		{"me-redirects", "/Me redirects to the user that the token belongs to",
			instead(reads(ofMe), func(next http.Handler, r *http.Request) *reply {
				rep := serve(next, r)
				if location := rep.object().Complex("meta").Text("location"); rep.ok() && location != "" {
					return &reply{status: http.StatusPermanentRedirect, header: http.Header{"Location": {location}}}
				}
				return rep
			})},
		{"strong-tags", "entity tags are strong", after(everything, func(_ *http.Request, rep *reply) {
			if tag := rep.header.Get("ETag"); tag != "" {
				rep.header.Set("ETag", strings.TrimPrefix(tag, "W/"))
			}
			rep.body = bytes.ReplaceAll(rep.body, []byte(`"W/\"`), []byte(`"\"`))
		})},
		{"me-is-there", "/Me returns 404 instead of 501",
			instead(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/Me") }, func(http.Handler, *http.Request) *reply {
				return failure(404, "")
			})},
		{"no-scim-type", "a missing or mistyped value is rejected with 400 without scimType",
			after(either(createUser, createGroup, putUser), func(_ *http.Request, rep *reply) {
				if rep.status == 400 {
					*rep = *failure(400, "")
				}
			})},
		{"invalid-syntax", "a missing value is rejected with 400 invalidSyntax",
			after(either(createUser, createGroup, putUser), func(_ *http.Request, rep *reply) {
				if rep.status == 400 {
					*rep = *failure(400, scim.InvalidSyntax)
				}
			})},
		{"no-etag", "ETag and meta.version are absent and not advertised", func(next http.Handler) http.Handler {
			bare := afterEach(everything, func(o *scim.Object) {
				o.Complex("meta").Delete("version")
				if etag := o.Complex("etag"); etag != nil {
					etag.Set("supported", false)
				}
			})
			return after(everything, func(_ *http.Request, rep *reply) { rep.header.Del("ETag") })(bare(next))
		}},
		{"etag-of-framework", "ETag and 304 come from a framework: versions are not advertised, and If-Match is ignored",
			chain(denied("etag"), withoutPrecondition(everything, "If-Match"))},
		{"index-only", "lists are paged only by startIndex: pagination is not advertised, and cursor is ignored",
			chain(afterBody(config, func(o *scim.Object) { o.Delete("pagination") }), query(anyList, func(q url.Values) { q.Del("cursor") }))},
		{"no-enterprise-extension", "users have no enterprise extension: it is not listed, and ignored in bodies",
			chain(inType("User", func(o *scim.Object) { o.Set("schemaExtensions", []any{}) }),
				afterBody(listSchemas, func(o *scim.Object) { withoutItem(o, "id", scim.EnterpriseUserSchema) }),
				before(either(createUser, putUser), func(o *scim.Object) {
					o.Delete(scim.EnterpriseUserSchema)
					if schemas := o.Array("schemas"); slices.Contains(schemas, any(scim.EnterpriseUserSchema)) {
						o.Set("schemas", slices.DeleteFunc(slices.Clone(schemas), func(v any) bool { return v == scim.EnterpriseUserSchema }))
					}
				}))},
		{"discovery-without-meta", "discovery documents have no meta", chain(afterBody(config, func(o *scim.Object) { o.Delete("meta") }),
			afterEach(either(readTypes, readSchemas), func(o *scim.Object) { o.Delete("meta") }))},
		{"no-timestamps", "meta has neither created nor lastModified", afterEach(either(users, createGroup, readGroup), func(o *scim.Object) {
			o.Complex("meta").Delete("created")
			o.Complex("meta").Delete("lastModified")
		})},
		{"schemas-reversed", "the values of schemas are in reverse order", afterEach(users, func(o *scim.Object) {
			schemas := slices.Clone(o.Array("schemas"))
			slices.Reverse(schemas)
			o.Set("schemas", schemas)
		})},
		{"members-on-request", "members are returned only when the attributes parameter names them",
			after(either(readGroup, createGroup, listGroups, putGroup, patchGroup), func(r *http.Request, rep *reply) {
				if o := rep.object(); rep.ok() && o != nil && !strings.Contains(r.URL.Query().Get("attributes"), "members") {
					o.Delete("members")
					rep.body = o.AppendJSON(nil)
				}
			})},
		{"groups-on-request", "groups of a user are returned only when the attributes parameter names them, as the schema declares",
			func(next http.Handler) http.Handler {
				omitted := after(users, func(r *http.Request, rep *reply) {
					if o := rep.object(); rep.ok() && o != nil && !strings.Contains(r.URL.Query().Get("attributes"), "groups") {
						o.Delete("groups")
						rep.body = o.AppendJSON(nil)
					}
				})
				return omitted(afterEach(either(listSchemas, on("GET", "Schemas", true)), groupsOnRequest)(next))
			}},
		{"config-schemas-listed", "/Schemas lists the schema of the ServiceProviderConfig", afterBody(listSchemas, func(o *scim.Object) {
			if find(o, "Resources", "id", scim.ServiceProviderConfigSchema) != nil {
				return
			}
			extra := scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.SchemaSchema}},
				scim.Member{Name: "id", Value: scim.ServiceProviderConfigSchema}, scim.Member{Name: "name", Value: "Service Provider Configuration"},
				scim.Member{Name: "attributes",
					Value: []any{
						scim.NewObject(scim.Member{Name: "documentationUri", Value: nil}, scim.Member{Name: "name", Value: "documentationUri"},
							scim.Member{Name: "type", Value: "reference"}, scim.Member{Name: "multiValued", Value: false})}})
			o.Set("Resources", append(o.Array("Resources"), extra))
			o.Set("totalResults", len(o.Array("Resources")))
		})},
		{"resources-absent", "an empty list has no Resources", afterBody(either(listUsers, listGroups), func(o *scim.Object) {
			if len(o.Array("Resources")) == 0 {
				o.Delete("Resources")
			}
		})},
		{"one-of-a-type", "two elements with the same type in an attribute of a user are rejected with 400",
			func(next http.Handler) http.Handler {
				twice := func(o *scim.Object) bool { return typedTwice(o) || anyOp(typedTwice)(o) }
				return refuse(either(createUser, putUser, patchUser), twice, func() *reply { return failure(400, scim.InvalidValue) })(next)
			}},
		{"roles-without-types",
			"the schema has an empty list of types for roles, as in RFC 7643 section 8.7.1, and a role with a type is rejected with 400",
			func(next http.Handler) http.Handler {
				typed := func(o *scim.Object) bool { return typedRole(o) || anyOp(typedRole)(o) }
				return refuse(either(createUser, putUser, patchUser), typed, func() *reply { return failure(400, scim.InvalidValue) })(
					afterEach(either(listSchemas, on("GET", "Schemas", true)), untypedRoles)(next))
			}},
		{"times-without-zone", "meta.created and meta.lastModified have no time zone, and stand for UTC",
			after(everything, func(_ *http.Request, rep *reply) { rep.body = zoneOfMeta.ReplaceAll(rep.body, []byte("$1")) })},
		{"plain-json", "responses have the Content-Type application/json", after(everything, func(_ *http.Request, rep *reply) {
			if len(rep.body) > 0 {
				rep.header.Set("Content-Type", "application/json")
			}
		})},
		{"charset", "the Content-Type of responses has a charset parameter", after(everything, func(_ *http.Request, rep *reply) {
			if len(rep.body) > 0 {
				rep.header.Set("Content-Type", "application/scim+json; charset=utf-8")
			}
		})},
		{"put-defaults", "PUT sets an absent attribute to a default", before(putUser, func(o *scim.Object) {
			if _, ok := o.Get("locale"); !ok {
				o.Set("locale", "en-GB")
			}
		})},
		{"few-operators", "filters support only eq, sw, pr and the operator \"and\"",
			instead(with(listUsers, "filter"), func(next http.Handler, r *http.Request) *reply {
				f := operandText.ReplaceAllString(r.URL.Query().Get("filter"), `""`)
				for _, operator := range []string{" co ", " ew ", " ne ", " gt ", " ge ", " lt ", " le ", " or ", "not ", "[", "("} {
					if strings.Contains(f, operator) {
						return invalidFilter()
					}
				}
				return serve(next, r)
			})},
		{"page-of-three", "pages have at most three items", query(either(listUsers, listGroups), func(q url.Values) {
			if c := q.Get("count"); len(c) > 1 && c[0] != '-' || c > "3" || c == "" {
				q.Set("count", "3")
			}
		})},
		{"unknown-attribute-400", "a filter on an unknown attribute is rejected with 400",
			filterAnswer(contains("NoSuchAttribute"), invalidFilter)},
		{"nulls", "unassigned attributes are returned as null and as empty arrays", afterEach(users, func(o *scim.Object) {
			for name, value := range map[string]any{"nickName": nil, "title": nil, "photos": []any{}} {
				if _, there := o.Get(name); !there {
					o.Set(name, value)
				}
			}
		})},
		{"errors-say-more", "errors have additional members and headers", after(everything, func(_ *http.Request, rep *reply) {
			if o := rep.object(); rep.status >= 400 && o != nil {
				o.Set("id", "request-4711")
				rep.header.Set("X-Request-Id", "request-4711")
				rep.body = o.AppendJSON(nil)
			}
		})},
		{"private-cache", "responses may be stored only in private caches",
			after(everything, func(_ *http.Request, rep *reply) { rep.header.Set("Cache-Control", "private, no-cache") })},
		{"search-location", "the search response has a Location header, which the RFCs do not forbid",
			after(searchUsers, func(_ *http.Request, rep *reply) { rep.header.Set("Location", "/Users/.search") })},
		{"schemas-of-what-is-shown", "with the attributes parameter, schemas contains an extension only if the response contains its data",
			after(with(readUser, "attributes"), func(_ *http.Request, rep *reply) {
				o := rep.object()
				if _, extended := o.Get(scim.EnterpriseUserSchema); rep.ok() && !extended {
					o.Set("schemas", []any{scim.UserSchema})
					rep.body = o.AppendJSON(nil)
				}
			})},
		{"few-attributes", "filters support only userName, externalId and id",
			instead(with(listUsers, "filter"), func(next http.Handler, r *http.Request) *reply {
				bare := strings.ToLower(quoted.ReplaceAllString(r.URL.Query().Get("filter"), ""))
				if strings.Contains(bare, "username") || strings.Contains(bare, "externalid") || strings.HasPrefix(bare, "id ") {
					if !slices.ContainsFunc(
						[]string{"title", "usertype", "displayname", "nickname", "active", "name.", "meta.", "emails", "schemas", "urn:"},
						func(a string) bool { return strings.Contains(bare, a) }) {
						return serve(next, r)
					}
				}
				return invalidFilter()
			})},
		{"attributes-undeclared",
			"nickName and profileUrl are not supported: not in the schema, ignored in bodies, rejected in paths and filters",
			undeclared("nickName", "profileUrl")},
		{"no-paging-echo", "startIndex and itemsPerPage are absent when the page contains all results",
			afterBody(either(listUsers, listGroups), func(o *scim.Object) {
				if v, _ := o.Get("totalResults"); scim.Equal(v, jsonInteger(len(o.Array("Resources")))) {
					o.Delete("startIndex")
					o.Delete("itemsPerPage")
				}
			})},
	}, slices.Concat(attributeVariants, limitedVariants, repeatedVariants)...)
}

var quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// withoutItem removes the items of a list whose member has the value.
func withoutItem(list *scim.Object, member, value string) {
	rest := slices.DeleteFunc(slices.Clone(list.Array("Resources")), func(v any) bool {
		item, ok := v.(*scim.Object)
		return ok && item.Text(member) == value
	})
	list.Set("Resources", rest)
	list.Set("totalResults", len(rest))
	list.Set("itemsPerPage", len(rest))
}

// undeclared returns a wrapper that removes support for attributes of users: the schema omits them, the server ignores them in bodies and
// rejects them in paths and filters.
func undeclared(names ...string) wrap {
	drop := func(o *scim.Object) {
		for _, name := range names {
			o.Delete(name)
		}
	}
	named := func(text string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(name)) })
	}
	layers := []wrap{
		before(either(createUser, putUser), drop),
		afterEach(users, drop),
		afterEach(either(listSchemas, on("GET", "Schemas", true)), func(o *scim.Object) {
			if !scim.EqualName(o.Text("id"), scim.UserSchema) {
				return
			}
			o.Set("attributes", slices.DeleteFunc(slices.Clone(o.Array("attributes")), func(a any) bool {
				attribute, ok := a.(*scim.Object)
				return ok && named(attribute.Text("name"))
			}))
		}),
		refuse(patchUser, func(o *scim.Object) bool { return named(string(o.AppendJSON(nil))) }, func() *reply {
			return failure(400, scim.InvalidPath)
		}),
		filterAnswer(named, invalidFilter),
	}
	return func(next http.Handler) http.Handler {
		for _, layer := range layers {
			next = layer(next)
		}
		return next
	}
}

// typedTwice reports whether a list in a body, or in the value of an operation, has two elements with the same type.
func typedTwice(o *scim.Object) bool {
	for _, v := range o.All() {
		if inner, ok := v.(*scim.Object); ok && typedTwice(inner) {
			return true
		}
		list, _ := v.([]any)
		seen := map[string]bool{}
		for _, e := range list {
			element, _ := e.(*scim.Object)
			kind := ""
			if element != nil {
				kind = strings.ToLower(element.Text("type"))
			}
			if kind != "" && seen[kind] {
				return true
			}
			seen[kind] = true
		}
	}
	return false
}

// typedRole reports whether a body, or an operation, sets the type of a role.
func typedRole(o *scim.Object) bool {
	roles := slices.Concat(o.Array("roles"), o.Complex("value").Array("roles"))
	if path := strings.ToLower(o.Text("path")); strings.HasPrefix(strings.TrimPrefix(path, strings.ToLower(scim.UserSchema)+":"), "roles") {
		if strings.HasSuffix(path, ".type") {
			return true
		}
		roles = append(roles, o.Array("value")...)
	}
	return slices.ContainsFunc(roles, func(v any) bool {
		role, ok := v.(*scim.Object)
		return ok && role.Text("type") != ""
	})
}

// untypedRoles sets the canonical values of the type of roles to an empty list in the User schema.
func untypedRoles(o *scim.Object) {
	for _, a := range o.Array("attributes") {
		attribute, ok := a.(*scim.Object)
		if !ok || !scim.EqualName(attribute.Text("name"), "roles") {
			continue
		}
		for _, s := range attribute.Array("subAttributes") {
			if sub, ok := s.(*scim.Object); ok && scim.EqualName(sub.Text("name"), "type") {
				sub.Set("canonicalValues", []any{})
			}
		}
	}
}

// groupsOnRequest changes the User schema: groups gets the characteristic returned "request".
func groupsOnRequest(o *scim.Object) {
	for _, a := range o.Array("attributes") {
		if attribute, ok := a.(*scim.Object); ok && scim.EqualName(attribute.Text("name"), "groups") {
			attribute.Set("returned", "request")
		}
	}
}

// isAbsent reports whether the value of a reference ends with "no-such-id". No server assigns such an id.
func isAbsent(v any) bool {
	m, ok := v.(*scim.Object)
	return ok && strings.HasSuffix(m.Text("value"), "no-such-id")
}

// namesAbsent reports whether a body contains a reference for which isAbsent returns true.
func namesAbsent(o *scim.Object) bool {
	if slices.ContainsFunc(o.Array("members"), isAbsent) {
		return true
	}
	return anyOp(func(op *scim.Object) bool { return slices.ContainsFunc(op.Array("value"), isAbsent) })(o)
}

// dropAbsent removes the references for which isAbsent returns true from a list.
func dropAbsent(o *scim.Object, list string) {
	if all := o.Array(list); slices.ContainsFunc(all, isAbsent) {
		o.Set(list, slices.DeleteFunc(slices.Clone(all), isAbsent))
	}
}

func jsonInteger(n int) any {
	v, err := scim.Value(n)
	if err != nil {
		panic(err) // unreachable: an integer is always valid JSON
	}
	return v
}

// zoneOfMeta matches a time of meta, up to its zone.
var zoneOfMeta = regexp.MustCompile(`("(?:created|lastModified)":\s*"[0-9T:.-]+)Z`)
