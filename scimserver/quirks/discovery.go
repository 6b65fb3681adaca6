package quirks

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

var discovery = []Quirk{
	{Name: "no-discovery", Category: Profile, Does: "answers 404 to ServiceProviderConfig, Schemas and ResourceTypes",
		Seen: "Infisical/infisical#6552",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				switch c.collection {
				case configuration, schemas, resourceTypes:
					return notFound()
				}
				return nil
			}
		}},
	{Name: "bulk-without-limits", Category: Profile, Does: "describes bulk by {supported: false} alone, without its required limits",
		Seen: "goauthentik/authentik#25056",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				if !c.reads(configuration) {
					return nil
				}
				return c.ask().edit(func(o *scim.Object) { o.Set("bulk", map[string]any{"supported": false}) })
			}
		}},
	{Name: "no-groups", Category: Profile, Does: "has no groups: /Groups answers 404 and ResourceTypes does not list it",
		Seen: "pocket-id/pocket-id#1295, goauthentik/authentik#24486",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				switch {
				case c.collection == userGroups || c.collection == resourceTypes && c.id == "Group":
					return notFound()
				case c.reads(resourceTypes) && c.id == "":
					return c.ask().keep(func(o *scim.Object) bool { return o.Text("name") != "Group" })
				}
				return nil
			}
		}},
}

// unsupported has the ServiceProviderConfig say that a feature is not there.
func unsupported(c *call, feature string) *answer {
	return c.ask().edit(func(o *scim.Object) { o.Complex(feature).Set("supported", false) })
}

func notFound() *answer { return refusal(http.StatusNotFound, "", "there is nothing at this path") }
