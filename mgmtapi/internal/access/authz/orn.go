package authz

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Form is the form of a resource name: the kind of the resource or collection.
type Form int

// The forms of resource names.
const (
	FormUsers      Form = iota + 1 // all users
	FormGroups                     // all groups
	FormGroup                      // a group
	FormGroupUsers                 // the users of a group
	FormApps                       // all applications
	FormAppsOf                     // all applications of a catalog entry
	FormApp                        // an application
	FormServers                    // all authorization servers
	FormServer                     // an authorization server
	FormIAM                        // all roles and resource sets
	FormOther                      // a collection on which this API has no operations
)

// Name is a parsed resource name (ORN).
type Name struct {
	Form Form
	// Type is the name of the catalog entry of FormAppsOf and FormApp, ID the id of the resource.
	Type, ID string
	// area and tail are parts of the name orn:svc:AREA:ORGANIZATION:TAIL.
	area, tail string
}

// partition is the second field of all resource names.
const partition = "svc"

// storedOnly are the collections that a set can store and that have no effect.
var storedOnly = map[string]bool{
	"idp:identity_provider": true, "idp:customizations": true, "directory:devices": true, "idp:agents": true,
	"directory:directories": true, "workflow:flows": true,
}

// ORN returns the resource name for an organization.
func (n Name) ORN(org string) string {
	return strings.Join([]string{"orn", partition, n.area, org, n.tail}, ":")
}

// Collection reports whether the name is that of a collection from which resources can be excluded.
func (n Name) Collection() bool {
	switch n.Form {
	case FormUsers, FormGroups, FormApps, FormAppsOf, FormServers:
		return true
	default:
		return false
	}
}

// Within reports whether the name is that of a resource in the collection.
func (n Name) Within(collection Name) bool {
	switch collection.Form {
	case FormUsers:
		return n.Form == FormGroupUsers
	case FormGroups:
		return n.Form == FormGroup
	case FormApps:
		return n.Form == FormAppsOf || n.Form == FormApp
	case FormAppsOf:
		return n.Form == FormApp && n.Type == collection.Type
	case FormServers:
		return n.Form == FormServer
	default:
		return false
	}
}

// ErrName is the error for an invalid resource name; Why is the reason.
type ErrName struct{ Text, Why string }

// Error returns the message for the caller.
func (e *ErrName) Error() string { return fmt.Sprintf("%q %s", e.Text, e.Why) }

// The constructors of names, one for each form.
func nameUsers() Name          { return Name{FormUsers, "", "", "directory", "users"} }
func nameGroups() Name         { return Name{FormGroups, "", "", "directory", "groups"} }
func nameGroup(id string) Name { return Name{FormGroup, "", id, "directory", "groups:" + id} }
func nameMembers(id string) Name {
	return Name{FormGroupUsers, "", id, "directory", "groups:" + id + ":contained_resources"}
}
func nameApps() Name            { return Name{FormApps, "", "", "idp", "apps"} }
func nameAppsOf(t string) Name  { return Name{FormAppsOf, t, "", "idp", "apps:" + t} }
func nameApp(t, id string) Name { return Name{FormApp, t, id, "idp", "apps:" + t + ":" + id} }
func nameServers() Name         { return Name{FormServers, "", "", "idp", "authorization_servers"} }
func nameServer(id string) Name {
	return Name{FormServer, "", id, "idp", "authorization_servers:" + id}
}

// ParseORN parses a resource name of an organization. Its error is an *ErrName.
func ParseORN(text, org string) (Name, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 5 || parts[0] != "orn" || parts[1] != partition {
		return Name{}, &ErrName{text, "is not a resource name"}
	}
	if parts[3] != org {
		return Name{}, &ErrName{text, "names a resource of another organization"}
	}
	area, tail := parts[2], parts[4:]
	for _, part := range tail {
		if part == "" {
			return Name{}, &ErrName{text, "has an empty part"}
		}
	}
	switch {
	case area == "directory" && len(tail) == 1 && tail[0] == "users":
		return nameUsers(), nil
	case area == "directory" && tail[0] == "groups" && len(tail) == 1:
		return nameGroups(), nil
	case area == "directory" && tail[0] == "groups" && len(tail) == 2:
		return nameGroup(tail[1]), nil
	case area == "directory" && tail[0] == "groups" && len(tail) == 3 && tail[2] == "contained_resources":
		return nameMembers(tail[1]), nil
	case area == "idp" && tail[0] == "apps" && len(tail) == 1:
		return nameApps(), nil
	case area == "idp" && tail[0] == "apps" && len(tail) == 2:
		return nameAppsOf(tail[1]), nil
	case area == "idp" && tail[0] == "apps" && len(tail) == 3:
		return nameApp(tail[1], tail[2]), nil
	case area == "idp" && tail[0] == "authorization_servers" && len(tail) == 1:
		return nameServers(), nil
	case area == "idp" && tail[0] == "authorization_servers" && len(tail) == 2:
		return nameServer(tail[1]), nil
	case area == "iam" && len(tail) == 1 && tail[0] == "contained_resources":
		return Name{FormIAM, "", "", area, tail[0]}, nil
	case len(tail) == 1 && storedOnly[area+":"+tail[0]]:
		return Name{FormOther, "", "", area, tail[0]}, nil
	default:
		return Name{}, &ErrName{text, "is not a resource that a resource set can contain"}
	}
}

// ParsePath parses the path of a resource with its query, relative to the base URL of the organization. The result for an application lacks
// the type, which is not in the URL. The error is an *ErrName.
func ParsePath(text string) (Name, error) {
	if !strings.HasPrefix(text, "/") {
		return Name{}, &ErrName{text, "is not a URL of this organization"}
	}
	u, err := url.Parse(strings.ReplaceAll(text, " ", "%20"))
	if err != nil || u.Host != "" {
		return Name{}, &ErrName{text, "is not a URL"}
	}
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(segments) < 3 || segments[0] != "api" || segments[1] != "v1" {
		return Name{}, &ErrName{text, "is not the URL of a resource"}
	}
	kind, rest := segments[2], segments[3:]
	appType, typed := appTypeOf(u.Query().Get("filter"))
	switch {
	case u.RawQuery != "" && (kind != "apps" || len(rest) > 0 || !typed):
		return Name{}, &ErrName{text, "has a query that does not select resources"}
	case typed:
		return nameAppsOf(appType), nil
	case kind == "users" && len(rest) == 0:
		return nameUsers(), nil
	case kind == "groups" && len(rest) == 0:
		return nameGroups(), nil
	case kind == "groups" && len(rest) == 1:
		return nameGroup(rest[0]), nil
	case kind == "groups" && len(rest) == 2 && rest[1] == "users":
		return nameMembers(rest[0]), nil
	case kind == "apps" && len(rest) == 0:
		return nameApps(), nil
	case kind == "apps" && len(rest) == 1:
		return nameApp("", rest[0]), nil
	case kind == "authorizationServers" && len(rest) == 0:
		return nameServers(), nil
	case kind == "authorizationServers" && len(rest) == 1:
		return nameServer(rest[0]), nil
	default:
		return Name{}, &ErrName{text, "is not a resource that a resource set can contain"}
	}
}

// appTypeOf returns the value that a filter of the form `name eq "value"` compares with.
func appTypeOf(filter string) (string, bool) {
	value, ok := strings.CutPrefix(filter, "name eq ")
	value = strings.Trim(value, `"`)
	return value, ok && value != "" && !strings.ContainsAny(value, `"/: `)
}

// OfApp returns the resource name of an application.
func OfApp(id string, app *model.App) Name { return nameApp(app.Name, id) }

// OfUser returns the resource name of a user. Only responses contain such a name: no resource set can contain a single user.
func OfUser(id string) Name { return Name{tail: "users:" + id, area: "directory"} }

// OfGroup returns the resource name of a group.
func OfGroup(id string) Name { return nameGroup(id) }

// OfServer returns the resource name of an authorization server.
func OfServer(id string) Name { return nameServer(id) }

// OfAppType returns the resource name of all applications of a catalog entry.
func OfAppType(name string) Name { return nameAppsOf(name) }

// Path returns the path of the resource in the API, with its query. It returns "" for a resource without a path.
func (n Name) Path() string {
	switch n.Form {
	case FormUsers:
		return "/api/v1/users"
	case FormGroups:
		return "/api/v1/groups"
	case FormGroup:
		return "/api/v1/groups/" + n.ID
	case FormGroupUsers:
		return "/api/v1/groups/" + n.ID + "/users"
	case FormApps:
		return "/api/v1/apps"
	case FormAppsOf:
		return "/api/v1/apps?filter=" + url.QueryEscape(`name eq "`+n.Type+`"`)
	case FormApp:
		return "/api/v1/apps/" + n.ID
	case FormServers:
		return "/api/v1/authorizationServers"
	case FormServer:
		return "/api/v1/authorizationServers/" + n.ID
	default:
		return ""
	}
}

// AllUsers returns the resource name of all users.
func AllUsers() Name { return nameUsers() }

// OfMembers returns the resource name of the users of a group.
func OfMembers(group string) Name { return nameMembers(group) }

// AppsPrefix returns the common prefix of the resource names of all applications of an organization.
func AppsPrefix(org string) string { return nameApps().ORN(org) + ":" }
