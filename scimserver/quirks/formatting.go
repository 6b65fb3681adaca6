package quirks

import (
	"net/http"
	"strconv"

	"github.com/scimwright/scimwright/scim"
)

var formatting = []Quirk{
	{Name: "counts-as-strings", Category: Profile, Does: "writes totalResults, startIndex and itemsPerPage as strings",
		Seen: "servers that Okta's documentation warns about",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.lists(users, userGroups) {
					return nil
				}
				return c.forward().edit(func(o *scim.Object) {
					for _, name := range []string{"totalResults", "startIndex", "itemsPerPage"} {
						if _, ok := o.Get(name); ok {
							o.Set(name, strconv.Itoa(integer(o, name)))
						}
					}
				})
			}
		}},
	{Name: "status-integer", Category: Profile, Does: "writes the status of an error as an integer", Seen: "Okta's documentation",
		start: func(Setting) deviation {
			return func(c *call) *response {
				a := c.forward()
				if o := a.object(); !a.ok() && o != nil {
					o.Set("status", a.status)
					a.body = o.AppendJSON(nil)
				}
				return a
			}
		}},
	{Name: "active-as-string", Category: Profile, Does: `writes active as "True" or "False"`,
		Seen: "servers designed for Microsoft Entra ID's requests",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if c.collection != users {
					return nil
				}
				return c.forward().each(func(o *scim.Object) {
					if active, ok := o.Bool("active"); ok && active {
						o.Set("active", "True")
					} else if ok {
						o.Set("active", "False")
					}
				})
			}
		}},
	{Name: "lower-case-resources", Category: Profile, Does: "writes the member name resources instead of Resources",
		Seen: "Microsoft Entra ID as a server",
		start: func(Setting) deviation {
			return func(c *call) *response {
				return c.forward().edit(func(o *scim.Object) {
					if items, ok := o.Get("Resources"); ok {
						o.Delete("Resources")
						o.Set("resources", items)
					}
				})
			}
		}},
	{Name: "media-type", Category: Profile, Does: "sends responses with the content type TYPE (application/json)",
		Seen:     "OneLogin's and Okta's documentation",
		Argument: Argument{Kind: Text, Name: "TYPE", Default: "application/json"},
		start: func(s Setting) deviation {
			return func(c *call) *response {
				a := c.forward()
				if len(a.body) > 0 {
					a.header.Set("Content-Type", s.Argument)
				}
				return a
			}
		}},
	{Name: "no-etag", Category: Profile, Does: "sends no versions, neither ETag nor meta.version", Seen: "most servers; permitted",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if c.reads(configuration) {
					return unsupported(c, "etag")
				}
				c.Header.Del("If-Match")
				c.Header.Del("If-None-Match")
				a := c.forward().each(func(o *scim.Object) { o.Complex("meta").Delete("version") })
				a.header.Del("ETag")
				return a
			}
		}},
	{Name: "unauthorized", Category: Fault, Does: "returns 401 for every request, as if the token had been revoked", Seen: "",
		start: func(Setting) deviation {
			return func(*call) *response {
				a := errorResponse(http.StatusUnauthorized, "", "the token is not valid")
				a.header.Set("WWW-Authenticate", `Bearer realm="SCIM", error="invalid_token"`)
				return a
			}
		}},
	{Name: "forbidden", Category: Fault, Does: "returns 403 for every change", Seen: "servers with read-only tokens",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if c.Method == http.MethodGet || c.id == search {
					return nil
				}
				return errorResponse(http.StatusForbidden, "", "the token does not allow changes")
			}
		}},
	{Name: "login-page", Category: Fault, Does: "returns 200 and an HTML page for every request",
		Seen: "single sign-on proxies in front of the server",
		start: func(Setting) deviation {
			return func(*call) *response {
				return plain(http.StatusOK, "text/html", "<!DOCTYPE html><title>Sign in</title><p>Please sign in.")
			}
		}},
}
