package desired

import (
	"maps"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
)

// AccountProfile is what an account of a target shows, by the names of the attributes of an application: the other way round of what is
// sent. What does not fit an attribute is left out.
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

// address is the e-mail address that an account is sent as its first one, else the primary one, else the first that is not another's.
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

// ofType is the value of the element of a type.
func ofType(r *scim.Resource, list, kind string) string {
	for _, v := range r.Array(list) {
		if e, _ := v.(*scim.Object); scim.EqualName(e.Text("type"), kind) {
			return e.Text("value")
		}
	}
	return ""
}
