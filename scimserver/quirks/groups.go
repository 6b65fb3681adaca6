package quirks

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

var groups = []Quirk{
	{Name: "members-hidden", Category: Profile, Does: "never returns the members of a group",
		Seen: "AWS IAM Identity Center (goauthentik/authentik#23005)",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if c.collection != userGroups {
					return nil
				}
				return c.forward().each(func(o *scim.Object) { o.Delete("members") })
			}
		}},
	{Name: "unknown-members-dropped", Category: Profile, Does: "drops members of a group that refer to no existing resource, without an error",
		Seen: "WorkOS, Tr3kkR/Yuzu#2135",
		start: func(Setting) deviation {
			return func(c *call) *response {
				o := c.body()
				if !c.writes(userGroups) || o == nil {
					return nil
				}
				if c.Method != http.MethodPatch {
					o.Set("members", c.existingMembers(o.Array("members")))
				}
				for op := range operations(o) {
					if len(membersOf(op)) == 0 {
						continue
					}
					if value := op.Complex("value"); value != nil && op.Text("path") == "" {
						value.Set("members", c.existingMembers(value.Array("members")))
						continue
					}
					op.Set("value", c.existingMembers(op.Array("value")))
				}
				c.setBody(o)
				return nil
			}
		}},
	{Name: "no-group-filter", Category: Profile, Does: "returns 400 for filters on groups", Seen: "goauthentik/authentik#6065",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.lists(userGroups) || c.filter() == "" {
					return nil
				}
				return errorResponse(http.StatusBadRequest, scim.InvalidFilter, "filters on groups are not supported")
			}
		}},
	{Name: "members-lost", Category: Fault, Does: "stores a group sent by POST or PUT without its members and reports success",
		Seen: "gravitational/teleport#67372, bitwarden/server#2919",
		start: func(Setting) deviation {
			return func(c *call) *response {
				o := c.body()
				if !c.creates(userGroups) && !c.changes(http.MethodPut, userGroups) || o == nil {
					return nil
				}
				o.Delete("members")
				c.setBody(o)
				return nil
			}
		}},
}

// existingMembers returns the members that exist.
func (c *call) existingMembers(members []any) []any {
	kept := []any{}
	for _, item := range members {
		member, ok := item.(*scim.Object)
		if ok && !c.get(users+"/"+member.Text("value")).ok() && !c.get(userGroups+"/"+member.Text("value")).ok() {
			continue
		}
		kept = append(kept, item)
	}
	return kept
}
