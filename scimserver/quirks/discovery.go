package quirks

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

var discovery = []Quirk{
	{Name: "no-discovery", Category: Profile, Does: "returns 404 for ServiceProviderConfig, Schemas and ResourceTypes",
		Seen: "Infisical/infisical#6552",
		start: func(Setting) deviation {
			return func(c *call) *response {
				switch c.collection {
				case configuration, schemas, resourceTypes:
					return notFound()
				}
				return nil
			}
		}},
	{Name: "bulk-without-limits", Category: Profile, Does: "describes bulk as {supported: false}, without the required limits",
		Seen: "goauthentik/authentik#25056",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.reads(configuration) {
					return nil
				}
				return c.forward().edit(func(o *scim.Object) { o.Set("bulk", map[string]any{"supported": false}) })
			}
		}},
	{Name: "no-groups", Category: Profile, Does: "has no groups: returns 404 for /Groups and omits it from ResourceTypes",
		Seen: "pocket-id/pocket-id#1295, goauthentik/authentik#24486",
		start: func(Setting) deviation {
			return func(c *call) *response {
				switch {
				case c.collection == userGroups || c.collection == resourceTypes && c.id == "Group":
					return notFound()
				case c.reads(resourceTypes) && c.id == "":
					return c.forward().keep(func(o *scim.Object) bool { return o.Text("name") != "Group" })
				}
				return nil
			}
		}},
}

// unsupported returns the ServiceProviderConfig with a feature marked as not supported.
func unsupported(c *call, feature string) *response {
	return c.forward().edit(func(o *scim.Object) { o.Complex(feature).Set("supported", false) })
}

func notFound() *response { return errorResponse(http.StatusNotFound, "", "no endpoint at this path") }
