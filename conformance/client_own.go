package conformance

import (
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// decisive are the attributes on which the access or the identity of a user, or of a group, depends. If one of them has another value than
// the client sent, the client's provisioning does not continue.
var decisive = []string{"userName", "externalId", "active", "password", "members", "id", "schemas", "meta"}

// tolerates reports whether the client continues although an attribute of a user has another value than it sent: the target stores a value
// of its own, for example a displayName that it derives from the name, or does not store the attribute at all. The difference is then a
// limit. It is not tolerated if the change is lost, because the attribute has the same value as before the step.
func (t *clientSession) tolerates(c *T, at location, name string, d difference, got *scim.Object) bool {
	if !strings.HasPrefix(at.path, "/Users/") || at.step.Limit != "" ||
		slices.ContainsFunc(decisive, func(a string) bool { return scim.EqualName(a, name) }) {
		return false
	}
	own := t.own[at.path][d.path]
	if _, stained := t.stainsOf(at.path)[name]; at.step.Method == http.MethodGet && !at.state && !stained {
		own = true // the client reads the user, and continues with the attributes that it has received
	}
	if at.state && t.touched[name] {
		before, known := t.seen[at.path]
		changed := known && !scim.Equal(stateAt(before, name, d.path), stateAt(got, name, d.path))
		_, list := stateAt(got, name, d.path).([]any)
		switch {
		case at.step.Method == http.MethodPost:
			own = true
		case list:
			own = own && changed
		default:
			own = own || changed
		}
	}
	if !own {
		return false
	}
	if t.own[at.path] == nil {
		t.own[at.path] = map[string]bool{}
	}
	t.own[at.path][d.path] = true
	c.Inform(d.path+" in "+at.name, describeExpectation(d.want), d.got)
	t.limit(d.path + " is not in the state of the user with the value that was sent")
	return true
}

// stateAt returns the value at the path of a difference. The path starts with name, a member of the object, which may contain dots.
func stateAt(o *scim.Object, name, path string) any {
	value, _ := o.Get(name)
	rest := strings.TrimPrefix(strings.TrimPrefix(path, name), ".")
	for rest != "" {
		part, after, _ := strings.Cut(rest, ".")
		value, _ = object(value).Get(part)
		rest = after
	}
	return value
}
