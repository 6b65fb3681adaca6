package quirks

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
)

var creating = []Quirk{
	{Name: "ignores-attribute", Category: Profile, Does: "drops the attribute NAME from every write",
		Seen:     "grokability/snipe-it#19005, goauthentik/authentik#25832",
		Argument: Argument{Kind: Text, Name: "NAME"},
		start: func(s Setting) deviation {
			path, err := scim.ParseAttrPath(s.Argument)
			if err != nil {
				path = scim.AttrPath{Name: s.Argument}
			}
			return func(c *call) *response {
				o := c.body()
				if !c.writes(users, userGroups) || o == nil {
					return nil
				}
				if c.Method != http.MethodPatch {
					drop(o, path)
					c.setBody(o)
					return nil
				}
				var kept []any
				for op := range operations(o) {
					target, err := scim.ParseAttrPath(withoutFilter(op.Text("path")))
					if err == nil && within(target, path) {
						continue
					}
					if value := op.Complex("value"); op.Text("path") == "" && value != nil {
						value.Delete(s.Argument)
						drop(value, path)
						if value.Len() == 0 {
							continue
						}
					}
					kept = append(kept, op)
				}
				if len(kept) == 0 {
					return c.self()
				}
				o.Set("Operations", kept)
				c.setBody(o)
				return nil
			}
		}},
	{Name: "lower-user-name", Category: Profile, Does: "stores userName in lower case", Seen: "targets that use email addresses as user names",
		start: func(Setting) deviation {
			lower := func(o *scim.Object) {
				if name := o.Text("userName"); name != "" {
					o.Set("userName", strings.ToLower(name))
				}
			}
			return func(c *call) *response {
				o := c.body()
				if !c.writes(users) || o == nil {
					return nil
				}
				lower(o)
				for op := range operations(o) {
					if value := op.Complex("value"); value != nil {
						lower(value)
					}
					if name := op.Text("value"); name != "" && strings.EqualFold(op.Text("path"), "userName") {
						op.Set("value", strings.ToLower(name))
					}
				}
				c.setBody(o)
				return nil
			}
		}},
	{Name: "conflict-400", Category: Profile, Does: "returns 400 instead of 409 for a second resource with the same name",
		Seen: "FusionAuth/fusionauth-issues#1776",
		start: func(Setting) deviation {
			return replaceConflict(func() *response {
				return errorResponse(http.StatusBadRequest, "", "a resource with this name already exists")
			})
		}},
	{Name: "conflict-bare", Category: Profile, Does: "returns 409 without scimType for a second resource with the same name",
		Seen: "getsentry/sentry#117860",
		start: func(Setting) deviation {
			return replaceConflict(func() *response {
				return errorResponse(http.StatusConflict, "", "a resource with this name already exists")
			})
		}},
	{Name: "create-200", Category: Profile, Does: "returns 200 instead of 201 for a create, without Location",
		Seen: "servers that treat a create as an upsert",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.creates(users, userGroups) {
					return nil
				}
				a := c.forward()
				if a.status == http.StatusCreated {
					a.status = http.StatusOK
					a.header.Del("Location")
				}
				return a
			}
		}},
	{Name: "lookup-lag", Category: Profile, Does: "omits a new resource from filtered lists for TIME (2s)",
		Seen:     "eventually consistent directories",
		Argument: Argument{Kind: Duration, Name: "TIME", Default: "2s"},
		start:    lagging},
	{Name: "create-empty", Category: Fault, Does: "returns 201 without a body for a create", Seen: "Okta treats it as an error",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.creates(users, userGroups) {
					return nil
				}
				a := c.forward()
				if a.ok() {
					a.body = nil
				}
				return a
			}
		}},
	{Name: "create-without-id", Category: Fault, Does: "omits the id in the response to a create", Seen: "",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.creates(users, userGroups) {
					return nil
				}
				a := c.forward().edit(func(o *scim.Object) { o.Delete("id"); o.Complex("meta").Delete("location") })
				a.header.Del("Location")
				return a
			}
		}},
}

// replaceConflict replaces the response to a create request that the server rejects with 409.
func replaceConflict(instead func() *response) func(c *call) *response {
	return func(c *call) *response {
		if !c.creates(users, userGroups) {
			return nil
		}
		if a := c.forward(); a.status != http.StatusConflict {
			return a
		}
		return instead()
	}
}

func lagging(s Setting) deviation {
	recent := newRecent(s.duration())
	return func(c *call) *response {
		switch {
		case c.creates(users, userGroups):
			a := c.forward()
			if !a.ok() {
				return a
			}
			id := a.object().Text("id")
			if c.shared == nil {
				recent.add(id, time.Now())
			} else if err := c.shared.Add(c.Context(), s.String(), id, s.duration()); err != nil {
				return unavailable(err)
			}
			return a
		case c.lists(users, userGroups) && c.filter() != "":
			if c.shared == nil {
				return c.forward().keep(func(o *scim.Object) bool { return !recent.has(o.Text("id"), time.Now()) })
			}
			a := c.forward()
			hidden, err := c.shared.Recent(c.Context(), s.String())
			if err != nil {
				return unavailable(err)
			}
			return a.keep(func(o *scim.Object) bool { return !hidden[o.Text("id")] })
		}
		return nil
	}
}

// withoutFilter removes the filter in brackets from a PATCH path.
func withoutFilter(path string) string {
	before, rest, found := strings.Cut(path, "[")
	if !found {
		return path
	}
	_, after, _ := strings.Cut(rest, "]")
	return before + after
}

// within reports whether a path names an attribute or one of its sub-attributes. A core attribute may be named without its URN.
func within(path, attribute scim.AttrPath) bool {
	if attribute.Sub == "" {
		path.Sub = ""
	}
	core := []string{"", strings.ToLower(scim.UserSchema), strings.ToLower(scim.GroupSchema)}
	if slices.Contains(core, strings.ToLower(path.URN)) && slices.Contains(core, strings.ToLower(attribute.URN)) {
		path.URN, attribute.URN = "", ""
	}
	return path.Equal(attribute)
}

// drop removes an attribute or sub-attribute from a resource.
func drop(o *scim.Object, path scim.AttrPath) {
	if path.URN != "" && !scim.EqualName(path.URN, scim.UserSchema) && !scim.EqualName(path.URN, scim.GroupSchema) {
		if o = o.Complex(path.URN); o == nil {
			return
		}
	}
	if path.Sub == "" {
		o.Delete(path.Name)
		return
	}
	for _, item := range o.Array(path.Name) {
		if element, ok := item.(*scim.Object); ok {
			element.Delete(path.Sub)
		}
	}
}
