package desired

import (
	"maps"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
)

// AccountProfile converts the SCIM attributes of an account on the target to app attributes. It is the inverse of resource, which builds
// the SCIM user that the engine sends. It omits values that the schema of the application does not allow.
func AccountProfile(r *scim.Resource, schema *model.AppSchema) map[string]any {
	name := r.Complex("name")
	shown := map[string]any{
		model.AppUserName: r.Text("userName"),
		"givenName":       name.Text("givenName"), "middleName": name.Text("middleName"), "familyName": name.Text("familyName"),
		"email": address(r), "secondEmail": ofType(r, "emails", "other"), "mobilePhone": ofType(r, "phoneNumbers", "mobile"),
		"displayName": r.Text("displayName"), "userType": r.Text("userType"),
		"locale": strings.ReplaceAll(r.Text("locale"), "-", "_"),
	}
	for _, custom := range slices.Sorted(maps.Keys(schema.Custom)) {
		p := schema.Custom[custom]
		if p.ExternalName == "" {
			continue
		}
		if place, err := appprofile.ParsePlace(p.ExternalNamespace, p.ExternalName); err == nil {
			shown[custom] = place.Get(r)
		}
	}
	for attribute, value := range shown {
		p, known := schema.Property(attribute, true)
		if value = model.PlainValue(value); !known || model.NoValue(value) || p.Problem(value) != "" {
			delete(shown, attribute)
			continue
		}
		shown[attribute] = value
	}
	return shown
}

// address returns the account's email address: of type work, else the primary one, else the first whose type is not other.
func address(r *scim.Resource) string {
	if work := ofType(r, "emails", "work"); work != "" {
		return work
	}
	first := ""
	for _, v := range r.Array("emails") {
		e, _ := v.(*scim.Object)
		value := e.Text("value")
		if primary, _ := e.Bool("primary"); primary && value != "" {
			return value
		}
		if first == "" && !scim.EqualName(e.Text("type"), "other") {
			first = value
		}
	}
	return first
}

// ofType returns the value of the first element of the list with the type.
func ofType(r *scim.Resource, list, kind string) string {
	for _, v := range r.Array(list) {
		if e, _ := v.(*scim.Object); scim.EqualName(e.Text("type"), kind) {
			return e.Text("value")
		}
	}
	return ""
}
