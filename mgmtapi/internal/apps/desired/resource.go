package desired

import (
	"maps"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
)

// attribute maps an attribute of an app user to a SCIM user (RFC 7643 section 4.1). put receives nil for a value that was cleared.
type attribute struct {
	app  string
	path string // path on the target, in the notation of RFC 7644 section 3.10
	put  func(r *scim.Resource, value any)
}

// attributes lists the attributes of the base schema in their order in a resource.
var attributes = []attribute{
	{"givenName", "name.givenName", inName("givenName")},
	{"middleName", "name.middleName", inName("middleName")},
	{"familyName", "name.familyName", inName("familyName")},
	{"email", `emails[type eq "work"].value`, inList("emails", "work", true)},
	{"secondEmail", `emails[type eq "other"].value`, inList("emails", "other", false)},
	{"mobilePhone", `phoneNumbers[type eq "mobile"].value`, inList("phoneNumbers", "mobile", true)},
	{"displayName", "displayName", single("displayName")},
	{"locale", "locale", func(r *scim.Resource, value any) {
		// A language tag has a hyphen (RFC 5646) where profiles have an underscore.
		if text, ok := value.(string); ok {
			value = strings.ReplaceAll(text, "_", "-")
		}
		r.Set("locale", value)
	}},
	{"userType", "userType", single("userType")},
}

// attributesOf returns the attributes that an application's users have on its target: those of the base schema, then the custom ones with
// an external name.
func attributesOf(schema *model.AppSchema) []attribute {
	all := slices.Clip(attributes)
	for _, name := range slices.Sorted(maps.Keys(schema.Custom)) {
		p := schema.Custom[name]
		if p.ExternalName == "" {
			continue
		}
		if place, err := appprofile.ParsePlace(p.ExternalNamespace, p.ExternalName); err == nil {
			all = append(all, attribute{name, place.Path(), place.Put})
		}
	}
	return all
}

// resource builds the SCIM user that an assignment describes. An attribute whose value was cleared is null, or missing in its list, because
// the target may still have the value. An attribute that never had a value is omitted.
func resource(u *model.AppUser, schema *model.AppSchema) *scim.Resource {
	r := &scim.Resource{}
	r.AddSchema(scim.UserSchema)
	r.Set("externalId", u.UserID)
	r.Set("userName", u.UserName)
	for _, a := range attributesOf(schema) {
		value := u.Profile[a.app]
		if !model.NoValue(value) {
			a.put(r, value)
		} else if slices.Contains(u.Cleared, a.app) {
			a.put(r, nil)
		}
	}
	return r
}

func single(name string) func(*scim.Resource, any) {
	return func(r *scim.Resource, value any) { r.Set(name, value) }
}

// inName returns a function that sets a sub-attribute of the complex attribute "name".
func inName(part string) func(*scim.Resource, any) {
	return func(r *scim.Resource, value any) {
		name := r.Complex("name")
		if name == nil {
			name = &scim.Object{}
		}
		name.Set(part, value)
		r.Set("name", name)
	}
}

// inList returns a function that adds an element of a type to a multi-valued attribute. Without a value it still adds the empty list, so
// that the target removes an earlier element.
func inList(name, kind string, primary bool) func(*scim.Resource, any) {
	return func(r *scim.Resource, value any) {
		list := r.Array(name)
		if value != nil {
			list = append(list, scim.NewObject(
				scim.Member{Name: "primary", Value: primary},
				scim.Member{Name: "value", Value: value},
				scim.Member{Name: "type", Value: kind},
			))
		} else if list == nil {
			list = []any{}
		}
		r.Set(name, list)
	}
}
