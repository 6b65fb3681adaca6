package desired

import (
	"strings"

	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/scim"
)

// attribute says how an attribute of an app user looks in a SCIM user (RFC 7643
// section 4.1).
type attribute struct {
	app  string
	path string // RFC 7644 section 3.10
	put  func(r *scim.Resource, value string)
}

// attributes lists them in the order in which a resource shows them.
var attributes = []attribute{
	{"givenName", "name.givenName", inName("givenName")},
	{"middleName", "name.middleName", inName("middleName")},
	{"familyName", "name.familyName", inName("familyName")},
	{"email", `emails[type eq "work"].value`, inList("emails", "work", true)},
	{"secondEmail", `emails[type eq "other"].value`, inList("emails", "other", false)},
	{"mobilePhone", `phoneNumbers[type eq "mobile"].value`, inList("phoneNumbers", "mobile", true)},
	{"displayName", "displayName", single("displayName")},
	{"locale", "locale", func(r *scim.Resource, value string) {
		// A language tag has a hyphen (RFC 5646) where profiles have an underscore.
		r.Set("locale", strings.ReplaceAll(value, "_", "-"))
	}},
	{"userType", "userType", single("userType")},
}

// resource builds the SCIM user that an assignment describes.
func resource(u *model.AppUser) *scim.Resource {
	r := &scim.Resource{}
	r.AddSchema(scim.UserSchema)
	r.Set("externalId", u.UserID)
	r.Set("userName", u.UserName)
	for _, a := range attributes {
		if value, ok := u.Profile[a.app].(string); ok && value != "" {
			a.put(r, value)
		}
	}
	return r
}

func single(name string) func(*scim.Resource, string) {
	return func(r *scim.Resource, value string) { r.Set(name, value) }
}

// inName puts a value into a part of the complex attribute "name".
func inName(part string) func(*scim.Resource, string) {
	return func(r *scim.Resource, value string) {
		name := r.Complex("name")
		if name == nil {
			name = &scim.Object{}
		}
		name.Set(part, value)
		r.Set("name", name)
	}
}

// inList adds an element of a type to a multi-valued attribute.
func inList(name, kind string, primary bool) func(*scim.Resource, string) {
	return func(r *scim.Resource, value string) {
		r.Set(name, append(r.Array(name), scim.NewObject(
			scim.Member{Name: "primary", Value: primary},
			scim.Member{Name: "value", Value: value},
			scim.Member{Name: "type", Value: kind},
		)))
	}
}
