package plan

import (
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// Differences compares an account as it was read with the desired attributes of a user by the rules of a sequence, which would
// write exactly these. What the target is known not to keep (see [engine.IgnoredAttribute]) is in ignored instead. The desired attributes
// are those of [UserInput]: active is not among them, nor is a password.
func Differences(have, want *scim.Resource, unkept map[string]engine.IgnoredAttribute) (differ, ignored []engine.Mismatch) {
	u := user{in: UserInput{Resource: want}}
	for _, a := range overlay(have, u.desired()) {
		path := a.path()
		if scim.EqualName(path, passwordPath) {
			continue // is never shown
		}
		d := engine.Mismatch{Path: path, Have: valueAt(&have.Object, a.chain), Want: a.value}
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
