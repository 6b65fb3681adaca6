package quirks

import (
	"net/http"
	"strconv"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

var listing = []Quirk{
	{Name: "no-filter", Category: Profile, Does: "refuses every filter with 400 and says so in the ServiceProviderConfig",
		Seen: "servers without the optional filter",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				switch {
				case c.reads(configuration):
					return unsupported(c, "filter")
				case c.lists(users, userGroups) && c.filter() != "":
					return refusal(http.StatusBadRequest, scim.InvalidFilter, "filters are not supported")
				}
				return nil
			}
		}},
	{Name: "no-external-id-filter", Category: Profile, Does: "refuses filters on externalId with 400", Seen: "targets that keep no externalId",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				if !c.lists(users, userGroups) || !mentions(c.filter(), "externalId") {
					return nil
				}
				return refusal(http.StatusBadRequest, scim.InvalidFilter, "externalId cannot be filtered")
			}
		}},
	{Name: "case-sensitive-user-name", Category: Profile, Does: "looks userName up with regard to letter case, which creates ignore",
		Seen: "databases with a binary collation",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				if !c.lists(users) {
					return nil
				}
				e, err := filter.Parse(c.filter())
				comparison, ok := e.(filter.Compare)
				if err != nil || !ok || comparison.Op != filter.Eq || !scim.EqualName(comparison.Path.Name, "userName") {
					return nil
				}
				return c.ask().keep(func(o *scim.Object) bool { return any(o.Text("userName")) == comparison.Value })
			}
		}},
	{Name: "lookup-404", Category: Profile, Does: "answers 404 to a filter that matches nothing",
		Seen: "tolerated by Okta, which is why it is found",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				if !c.lists(users, userGroups) || c.filter() == "" {
					return nil
				}
				a := c.ask()
				if a.ok() && integer(a.object(), "totalResults") == 0 {
					return notFound()
				}
				return a
			}
		}},
	{Name: "max-page", Category: Profile, Does: "returns at most N resources (10) in a page",
		Seen:     "servers with a small filter.maxResults; permitted",
		Argument: Argument{Kind: Number, Name: "N", Default: "10"},
		start: func(s Setting) deviation {
			return func(c *call) *answer {
				if !c.lists(users, userGroups) {
					return nil
				}
				if asked := c.query("count"); asked > s.number() || asked == 0 && !c.URL.Query().Has("count") {
					c.setQuery("count", strconv.Itoa(s.number()))
				}
				return nil
			}
		}},
	{Name: "no-resources", Category: Profile, Does: "leaves Resources out of an empty list", Seen: "permitted",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				if !c.lists(users, userGroups) {
					return nil
				}
				return c.ask().edit(func(o *scim.Object) {
					if len(o.Array("Resources")) == 0 {
						o.Delete("Resources")
					}
				})
			}
		}},
	{Name: "filter-ignored", Category: Fault, Does: "returns everything whatever the filter says",
		Seen: "servers that do not know the operator or the attribute",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				if c.lists(users, userGroups) && c.filter() != "" {
					c.setQuery("filter", "")
				}
				return nil
			}
		}},
	{Name: "start-index-ignored", Category: Fault, Does: "returns the first page whatever startIndex says", Seen: "",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				if c.lists(users, userGroups) {
					c.setQuery("startIndex", "")
				}
				return nil
			}
		}},
	{Name: "total-of-page", Category: Fault, Does: "gives the size of the page as totalResults", Seen: "",
		start: func(Setting) deviation {
			return func(c *call) *answer {
				if !c.lists(users, userGroups) {
					return nil
				}
				return c.ask().edit(func(o *scim.Object) { o.Set("totalResults", len(o.Array("Resources"))) })
			}
		}},
}

// mentions says whether a filter is about an attribute.
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
