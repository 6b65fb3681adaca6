package appprofile

import "maps"

// mappings is the default mapping of applications that provision: which user
// attribute an app attribute is taken from. All are texts, and all are applied
// at creation and update. The user name is an app attribute too; it follows the
// template of the application and is kept with the credentials.
var mappings = []struct{ app, user string }{
	{"givenName", "firstName"},
	{"middleName", "middleName"},
	{"familyName", "lastName"},
	{"email", "email"},
	{"displayName", "displayName"},
	{"locale", "locale"},
	{"secondEmail", "secondEmail"},
	{"mobilePhone", "mobilePhone"},
	{"userType", "userType"},
}

// Known says whether the app attribute belongs to the schema of applications
// that provision.
func Known(app string) bool { return Source(app) != "" }

// Source returns the user attribute that the mapping takes an app attribute
// from, "" for none.
func Source(app string) string {
	for _, m := range mappings {
		if m.app == app {
			return m.user
		}
	}
	return ""
}

// Derive returns what the mapping gives for one user. Attributes that the
// user does not have are left out.
func Derive(user Attributes) map[string]any {
	profile := map[string]any{}
	for _, m := range mappings {
		if text := user(m.user); text != "" {
			profile[m.app] = text
		}
	}
	return profile
}

// Overlay returns base with the layers laid over it, the last one on top.
// A nil value in a layer clears the attribute. The arguments are not changed.
func Overlay(base map[string]any, layers ...map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for _, layer := range layers {
		for name, value := range layer {
			if value == nil {
				delete(out, name)
			} else {
				out[name] = value
			}
		}
	}
	return out
}

// Names lists the app attributes that are mapped.
func Names() []string {
	names := make([]string, len(mappings))
	for i, m := range mappings {
		names[i] = m.app
	}
	return names
}
