package quirks

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

var replacing = []Quirk{
	{Name: "no-put", Category: Profile, Does: "returns 405 for PUT",
		Seen: "GitLab (goauthentik/authentik#23573), Google Cloud Identity, Microsoft Entra ID as servers",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.changes(http.MethodPut, users, userGroups) {
					return nil
				}
				a := errorResponse(http.StatusMethodNotAllowed, "", "PUT is not supported")
				a.header.Set("Allow", "DELETE, GET, PATCH")
				return a
			}
		}},
	{Name: "no-delete", Category: Profile, Does: "returns 405 for DELETE",
		Seen: "targets that only deactivate; JumpCloud and Okta deactivate users without a DELETE",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.changes(http.MethodDelete, users, userGroups) {
					return nil
				}
				a := errorResponse(http.StatusMethodNotAllowed, "", "DELETE is not supported")
				a.header.Set("Allow", "GET, PATCH, PUT")
				return a
			}
		}},
	{Name: "partial-answers", Category: Profile, Does: "returns only schemas, id and meta in responses to POST, PUT and PATCH",
		Seen: "VMware vCenter (goauthentik/authentik#25024)",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.writes(users, userGroups) {
					return nil
				}
				return c.forward().edit(func(o *scim.Object) {
					for _, name := range names(o) {
						switch name {
						case "schemas", "id", "meta":
						default:
							o.Delete(name)
						}
					}
				})
			}
		}},
	{Name: "put-lost", Category: Fault, Does: "returns the sent representation for PUT and stores nothing",
		Seen: "gravitational/teleport#67372",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.changes(http.MethodPut, users, userGroups) {
					return nil
				}
				sent := c.body()
				return c.self().edit(func(o *scim.Object) {
					for name, value := range sent.All() {
						if name != "id" && name != "meta" && name != "password" {
							o.Set(name, value)
						}
					}
				})
			}
		}},
}

// names returns the member names of an object.
func names(o *scim.Object) []string {
	var all []string
	for name := range o.All() {
		all = append(all, name)
	}
	return all
}
