package mutants

import (
	"net/http"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// attributeVariants are servers that derive, ignore, reject or hide single attributes of users (RFC 7644 section 3.3: a service provider
// may alter or ignore what a client sends), and servers that reject concurrent writes or long values.
var attributeVariants = []Variant{
	{"display-name-derived", "displayName of a user is always the given name and the family name", derived("displayName", fullName)},
	{"display-name-generated", "displayName of a user that is created or replaced without it is the given name and the family name",
		before(either(createUser, putUser), func(o *scim.Object) {
			if _, sent := o.Get("displayName"); !sent {
				o.Set("displayName", fullName(o))
			}
		})},
	{"email-from-user-name", "a user that is created without emails has its userName as an email address",
		before(createUser, func(o *scim.Object) {
			if _, sent := o.Get("emails"); !sent {
				o.Set("emails", []any{map[string]any{"value": o.Text("userName"), "primary": true}})
			}
		})},
	{"name-formatted-derived", "name.formatted is always the given name and the family name", derived("name.formatted", fullName)},
	{"nick-name-ignored", "nickName is in the schema, and ignored in every request", ignored("nickName")},
	{"nick-name-read-only", "the schema declares nickName as readOnly, and nickName is never assigned", readOnly("nickName")},
	{"display-name-read-only", "the schema declares displayName as readOnly, and displayName is derived from the name",
		func(next http.Handler) http.Handler {
			return readOnly("displayName")(derived("displayName", fullName)(next))
		}},
	{"title-rejected", "a user with a title is rejected with 400",
		refuse(either(createUser, putUser, patchUser), func(o *scim.Object) bool { return sets(o, "title") || anyOp(selects("title"))(o) },
			func() *reply { return failure(400, scim.InvalidValue) })},
	{"nick-name-never-returned", "the schema declares nickName with returned never, and nickName is never returned", layered(
		afterEach(either(users, searchUsers), func(o *scim.Object) { o.Delete("nickName") }),
		characteristic("nickName", "returned", "never"))},
	{"long-values-rejected", "a string of more than 200 characters is rejected with 400", refuse(either(createUser, putUser, patchUser), long,
		func() *reply { return failure(400, scim.InvalidValue) })},
	{"concurrent-writes-409", "a write is rejected with 409 while another one is in progress", func(next http.Handler) http.Handler {
		var busy sync.Mutex
		return instead(func(r *http.Request) bool { return r.Method != http.MethodGet }, func(next http.Handler, r *http.Request) *reply {
			if !busy.TryLock() {
				return failure(409, "")
			}
			defer busy.Unlock()
			return serve(next, r)
		})(next)
	}},
	{"id-filters-rejected", "a filter on id is rejected with 400 invalidFilter",
		filterAnswer(func(filter string) bool { return strings.HasPrefix(strings.TrimSpace(filter), "id ") }, invalidFilter)},
	{"family-name-capitals", "the family name is stored in capital letters", inCapitals("familyName")},
	{"given-name-capitals", "the given name is stored in capital letters", inCapitals("givenName")},
	{"two-attributes", "displayName of a user is derived from the name, and nickName is not supported", layered(
		derived("displayName", fullName), undeclared("nickName"))},
	{"three-attributes", "displayName of a user is derived from the name, title is rejected, and userType is ignored", layered(
		derived("displayName", fullName), ignored("userType"),
		refuse(either(createUser, putUser, patchUser), func(o *scim.Object) bool { return sets(o, "title") || anyOp(selects("title"))(o) },
			func() *reply { return failure(400, scim.InvalidValue) }))},
}

// inCapitals returns a wrapper that stores a sub-attribute of name in capital letters.
func inCapitals(sub string) wrap {
	upper := func(o *scim.Object) {
		if o.Text(sub) != "" {
			o.Set(sub, strings.ToUpper(o.Text(sub)))
		}
	}
	ofUser := func(o *scim.Object) { upper(o.Complex("name")) }
	named := func(op *scim.Object) bool {
		path := strings.TrimPrefix(strings.ToLower(op.Text("path")), strings.ToLower(scim.UserSchema)+":")
		value := op.Complex("value")
		return path == strings.ToLower("name."+sub) || value.Text(sub) != "" || value.Complex("name").Text(sub) != "" ||
			value.Text("name."+sub) != ""
	}
	return layered(before(either(createUser, putUser), ofUser), edit(withJSON(patchUser, anyOp(named)), func(op *scim.Object) {
		if text := op.Text("value"); text != "" && named(op) {
			op.Set("value", strings.ToUpper(text))
		}
		ofUser(op.Complex("value"))
		upper(op.Complex("value"))
	}))
}

// layered returns a wrapper that applies wrappers, the first one next to the server.
func layered(layers ...wrap) wrap {
	return func(next http.Handler) http.Handler {
		for _, layer := range layers {
			next = layer(next)
		}
		return next
	}
}

// fullName returns the given name and the family name of a user, or the userName of a user without them.
func fullName(o *scim.Object) string {
	name := o.Complex("name")
	if full := strings.TrimSpace(name.Text("givenName") + " " + name.Text("familyName")); full != "" {
		return full
	}
	return o.Text("userName")
}

// sets reports whether a body has an attribute of users, by its name or with the URN of the schema.
func sets(o *scim.Object, attribute string) bool {
	_, plain := o.Get(attribute)
	_, qualified := o.Get(scim.UserSchema + ":" + attribute)
	return plain || qualified
}

// selects returns a condition for operations that set an attribute, by their path or by a member of their value.
func selects(attribute string) func(*scim.Object) bool {
	return func(op *scim.Object) bool {
		path := strings.TrimPrefix(strings.ToLower(op.Text("path")), strings.ToLower(scim.UserSchema)+":")
		return path == strings.ToLower(attribute) || sets(op.Complex("value"), attribute)
	}
}

// withoutAttribute removes an attribute, possibly with a sub-attribute, from a body.
func withoutAttribute(o *scim.Object, attribute string) {
	parent, sub, nested := strings.Cut(attribute, ".")
	if nested {
		o.Complex(parent).Delete(sub)
	}
	o.Delete(attribute)
	o.Delete(scim.UserSchema + ":" + attribute)
}

// ignored returns a wrapper that ignores an attribute in the bodies of POST, PUT and PATCH.
func ignored(attribute string) wrap {
	return layered(
		before(either(createUser, putUser), func(o *scim.Object) { withoutAttribute(o, attribute) }),
		operations(withJSON(patchUser, anyOp(selects(attribute))), func(op *scim.Object) []*scim.Object {
			if !selects(attribute)(op) {
				return []*scim.Object{op}
			}
			if value := op.Complex("value"); value.Len() > 1 {
				withoutAttribute(value, attribute)
				return []*scim.Object{op}
			}
			return nil
		}))
}

// readOnly returns a wrapper for an attribute that is readOnly by the schema: POST and PUT ignore it, PATCH rejects it.
func readOnly(attribute string) wrap {
	return layered(
		before(either(createUser, putUser), func(o *scim.Object) { withoutAttribute(o, attribute) }),
		refuse(patchUser, anyOp(selects(attribute)), func() *reply { return failure(400, scim.Mutability) }),
		characteristic(attribute, "mutability", "readOnly"))
}

// characteristic returns a wrapper that changes a characteristic of an attribute in the User schema.
func characteristic(attribute, name, value string) wrap {
	return afterEach(either(listSchemas, on("GET", "Schemas", true)), func(o *scim.Object) {
		if !scim.EqualName(o.Text("id"), scim.UserSchema) {
			return
		}
		for _, a := range o.Array("attributes") {
			if definition, ok := a.(*scim.Object); ok && scim.EqualName(definition.Text("name"), attribute) {
				definition.Set(name, value)
			}
		}
	})
}

// derived returns a wrapper that computes an attribute from the other attributes at each write, whatever the client sends. A sub-attribute
// is computed for users that have its complex attribute.
func derived(attribute string, of func(o *scim.Object) string) wrap {
	parent, sub, nested := strings.Cut(attribute, ".")
	assign := func(o *scim.Object) {
		withoutAttribute(o, attribute)
		if !nested {
			o.Set(attribute, of(o))
		} else if complexValue := o.Complex(parent); complexValue != nil {
			complexValue.Set(sub, of(o))
		}
	}
	update := instead(patchUser, func(next http.Handler, r *http.Request) *reply {
		rep := serve(next, r)
		if !rep.ok() {
			return rep
		}
		stored := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil)).object()
		current := stored.Text(attribute)
		if nested {
			current = stored.Complex(parent).Text(sub)
			if stored.Complex(parent) == nil {
				return rep
			}
		}
		want := of(stored)
		if stored == nil || current == want {
			return rep
		}
		message := scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.PatchOpMessage}},
			scim.Member{Name: "Operations", Value: []any{op("replace", attribute, want)}})
		follow := derivedRequest(r, http.MethodPatch, r.URL.Path, r.URL.RawQuery, message.AppendJSON(nil))
		follow.Header.Del("If-Match")
		return serve(next, follow)
	})
	return func(next http.Handler) http.Handler {
		return ignored(attribute)(before(either(createUser, putUser), assign)(update(next)))
	}
}

// long reports whether a value has a string of more than 200 characters, at any depth.
func long(o *scim.Object) bool {
	var is func(v any) bool
	is = func(v any) bool {
		switch v := v.(type) {
		case string:
			return len(v) > 200
		case *scim.Object:
			for _, member := range v.All() {
				if is(member) {
					return true
				}
			}
		case []any:
			for _, element := range v {
				if is(element) {
					return true
				}
			}
		}
		return false
	}
	return is(o)
}
