package plan

import "github.com/scimwright/scimwright/scim"

// Difference is an attribute of an account or group that has another value than is desired.
type Difference struct {
	Path string `json:"path"` // RFC 7644 section 3.10, e.g. name.givenName
	Have any    `json:"have"` // at the target, nil for none
	Want any    `json:"want"` // nil: it should have none
}

// Differences compares an account as it was read with the desired attributes of a user by the rules of a sequence, which would
// write exactly these. What the target is known not to keep (see [Unkept]) is in ignored instead. The desired attributes are
// those of [UserInput]: active is not among them, nor is a password.
func Differences(have, want *scim.Resource, unkept map[string]Unkept) (differ, ignored []Difference) {
	u := user{in: UserInput{Resource: want}}
	for _, a := range overlay(have, u.desired()) {
		path := a.path()
		if scim.EqualName(path, passwordPath) {
			continue // is never shown
		}
		d := Difference{Path: path, Have: valueAt(&have.Object, a.chain), Want: a.value}
		if k := unkept[path]; k.Ignored && k.Sent == a.digest() {
			ignored = append(ignored, d)
			continue
		}
		differ = append(differ, d)
	}
	return differ, ignored
}

// IsActive says whether an account is active, as sequences read it: one that does not tell is.
func IsActive(account *scim.Resource) bool { return active(account) }
