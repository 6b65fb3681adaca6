package quirks

import (
	"net/http"
	"strconv"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

var listing = []Quirk{
	{Name: "no-filter", Category: Profile, Does: "returns 400 for every filter; the ServiceProviderConfig declares filters as not supported",
		Seen: "servers without the optional filter feature",
		start: func(Setting) deviation {
			return func(c *call) *response {
				switch {
				case c.reads(configuration):
					return unsupported(c, "filter")
				case c.lists(users, userGroups) && c.filter() != "":
					return errorResponse(http.StatusBadRequest, scim.InvalidFilter, "filters are not supported")
				}
				return nil
			}
		}},
	{Name: "no-external-id-filter", Category: Profile, Does: "returns 400 for filters on externalId",
		Seen: "targets that do not store externalId",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.lists(users, userGroups) || !mentions(c.filter(), "externalId") {
					return nil
				}
				return errorResponse(http.StatusBadRequest, scim.InvalidFilter, "externalId cannot be filtered")
			}
		}},
	{Name: "case-sensitive-user-name", Category: Profile,
		Does: "filters userName case-sensitively, but checks its uniqueness case-insensitively",
		Seen: "databases with a binary collation",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.lists(users) {
					return nil
				}
				e, err := filter.Parse(c.filter())
				comparison, ok := e.(filter.Compare)
				if err != nil || !ok || comparison.Op != filter.Eq || !scim.EqualName(comparison.Path.Name, "userName") {
					return nil
				}
				return c.forward().keep(func(o *scim.Object) bool { return any(o.Text("userName")) == comparison.Value })
			}
		}},
	{Name: "lookup-404", Category: Profile, Does: "returns 404 for a filter that matches nothing",
		Seen: "some servers, because Okta tolerates it",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.lists(users, userGroups) || c.filter() == "" {
					return nil
				}
				a := c.forward()
				if a.ok() && integer(a.object(), "totalResults") == 0 {
					return notFound()
				}
				return a
			}
		}},
	{Name: "max-page", Category: Profile, Does: "returns at most N resources (10) per page",
		Seen:     "servers with a small filter.maxResults; permitted",
		Argument: Argument{Kind: Number, Name: "N", Default: "10"},
		start: func(s Setting) deviation {
			return func(c *call) *response {
				if !c.lists(users, userGroups) {
					return nil
				}
				if asked := c.query("count"); asked > s.number() || asked == 0 && !c.URL.Query().Has("count") {
					c.setQuery("count", strconv.Itoa(s.number()))
				}
				return nil
			}
		}},
	{Name: "no-resources", Category: Profile, Does: "omits Resources from an empty list", Seen: "permitted",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.lists(users, userGroups) {
					return nil
				}
				return c.forward().edit(func(o *scim.Object) {
					if len(o.Array("Resources")) == 0 {
						o.Delete("Resources")
					}
				})
			}
		}},
	{Name: "filter-ignored", Category: Fault, Does: "ignores the filter and returns all resources",
		Seen: "servers that do not support the operator or the attribute",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if c.lists(users, userGroups) && c.filter() != "" {
					c.setQuery("filter", "")
				}
				return nil
			}
		}},
	{Name: "start-index-ignored", Category: Fault, Does: "ignores startIndex and returns the first page", Seen: "",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if c.lists(users, userGroups) {
					c.setQuery("startIndex", "")
				}
				return nil
			}
		}},
	{Name: "total-of-page", Category: Fault, Does: "writes the size of the page as totalResults", Seen: "",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.lists(users, userGroups) {
					return nil
				}
				return c.forward().edit(func(o *scim.Object) { o.Set("totalResults", len(o.Array("Resources"))) })
			}
		}},
}

// mentions reports whether a filter compares an attribute.
func mentions(text, attribute string) bool {
	e, err := filter.Parse(text)
	if err != nil {
		return false
	}
	found := false
	filter.Walk(e, func(e filter.Expr) bool {
		if c, ok := e.(filter.Compare); ok && scim.EqualName(c.Path.Name, attribute) {
			found = true
		}
		return !found
	})
	return found
}
