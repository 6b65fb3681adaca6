package quirks

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

var patching = []Quirk{
	{Name: "no-patch", Category: Profile, Does: "returns 501 for PATCH; the ServiceProviderConfig declares PATCH as not supported",
		Seen: "VMware vCenter (goauthentik/authentik#25024)",
		start: func(Setting) deviation {
			return func(c *call) *response {
				switch {
				case c.reads(configuration):
					return unsupported(c, "patch")
				case c.changes(http.MethodPatch, users, userGroups):
					return errorResponse(http.StatusNotImplemented, "", "PATCH is not supported")
				}
				return nil
			}
		}},
	{Name: "patch-204", Category: Profile, Does: "returns 204 without a body for every PATCH",
		Seen: "Microsoft Entra ID as a server; permitted",
		start: func(Setting) deviation {
			return patched(func(_ *call, a *response) *response { return &response{status: http.StatusNoContent, header: a.header} })
		}},
	{Name: "patch-200", Category: Profile, Does: "returns 200 and the resource for every PATCH", Seen: "permitted",
		start: func(Setting) deviation {
			return patched(func(c *call, _ *response) *response { return c.self() })
		}},
	{Name: "patch-members", Category: Profile, Does: "returns 400 for a PATCH with more than N members (100)",
		Seen:     "AWS IAM Identity Center (goauthentik/authentik#20410)",
		Argument: Argument{Kind: Number, Name: "N", Default: "100"},
		start: func(s Setting) deviation {
			return func(c *call) *response {
				if !c.changes(http.MethodPatch, userGroups) {
					return nil
				}
				n := 0
				for op := range operations(c.body()) {
					n += len(membersOf(op))
				}
				if n <= s.number() {
					return nil
				}
				return errorResponse(http.StatusBadRequest, scim.InvalidValue, fmt.Sprintf("more than %d members in one request", s.number()))
			}
		}},
	{Name: "patch-needs-path", Category: Profile, Does: "returns 400 for a PATCH operation without a path",
		Seen: "AWS IAM Identity Center (goauthentik/authentik#12321)",
		start: func(Setting) deviation {
			return rejecting(scim.InvalidPath, "an operation has no path", func(op *scim.Object) bool { return op.Text("path") == "" })
		}},
	{Name: "no-value-path", Category: Profile, Does: "returns 400 for a PATCH path with a filter in brackets",
		Seen: "servers that support only attribute names as paths",
		start: func(Setting) deviation {
			return rejecting(scim.InvalidPath, "paths with filters are not supported", func(op *scim.Object) bool {
				return strings.Contains(op.Text("path"), "[")
			})
		}},
	{Name: "no-members-replace", Category: Profile, Does: "returns 400 for a PATCH that replaces or removes all members of a group",
		Seen: "AWS IAM Identity Center; indigo-iam/iam#934",
		start: func(Setting) deviation {
			return rejecting(scim.InvalidValue, "members can only be added and removed individually", func(op *scim.Object) bool {
				_, valued := op.Get("value")
				return ofMembers(op) &&
					(strings.EqualFold(op.Text("op"), scim.OpReplace) ||
						strings.EqualFold(op.Text("op"), scim.OpRemove) && !valued && !strings.Contains(op.Text("path"), "["))
			})
		}},
	{Name: "patch-lost", Category: Fault, Does: "reports success for PATCH and changes nothing", Seen: "OneUptime/oneuptime#3852",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.changes(http.MethodPatch, users, userGroups) {
					return nil
				}
				return c.self()
			}
		}},
	{Name: "patch-add-replaces", Category: Fault, Does: "replaces all members with the members that a PATCH adds",
		Seen: "langwatch/langwatch#7131, PostHog/posthog#47336",
		start: func(Setting) deviation {
			return func(c *call) *response {
				if !c.changes(http.MethodPatch, userGroups) {
					return nil
				}
				o := c.body()
				for op := range operations(o) {
					if ofMembers(op) && strings.EqualFold(op.Text("op"), scim.OpAdd) {
						op.Set("op", scim.OpReplace)
					}
				}
				if o != nil {
					c.setBody(o)
				}
				return nil
			}
		}},
}

// patched returns a deviation that changes the response to every successful PATCH.
func patched(change func(c *call, a *response) *response) deviation {
	return func(c *call) *response {
		if !c.changes(http.MethodPatch, users, userGroups) {
			return nil
		}
		a := c.forward()
		if !a.ok() {
			return a
		}
		return change(c, a)
	}
}

// rejecting returns a deviation that rejects a PATCH with 400 if the function `when` returns true for one of the operations.
func rejecting(kind scim.Type, detail string, when func(op *scim.Object) bool) deviation {
	return func(c *call) *response {
		if !c.changes(http.MethodPatch, users, userGroups) {
			return nil
		}
		for op := range operations(c.body()) {
			if when(op) {
				return errorResponse(http.StatusBadRequest, kind, detail)
			}
		}
		return nil
	}
}

// operations yields the operations of a PATCH body.
func operations(o *scim.Object) func(yield func(*scim.Object) bool) {
	return func(yield func(*scim.Object) bool) {
		for _, item := range o.Array("Operations") {
			if op, ok := item.(*scim.Object); ok && !yield(op) {
				return
			}
		}
	}
}

// ofMembers reports whether the path of an operation names the members of a group.
func ofMembers(op *scim.Object) bool {
	name, _, _ := strings.Cut(op.Text("path"), "[")
	return scim.EqualName(name, "members") || scim.EqualName(name, scim.GroupSchema+":members")
}

// membersOf returns the members in the value of an operation, with or without a path.
func membersOf(op *scim.Object) []any {
	if ofMembers(op) {
		return op.Array("value")
	}
	if op.Text("path") != "" {
		return nil
	}
	return op.Complex("value").Array("members")
}
