package plan

import (
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// Differences compares an account as read with the desired attributes of a user by the rules of a sequence. It returns exactly the
// differences that a sequence would write. Attributes that the target is known to ignore (see [engine.IgnoredAttribute]) are in ignored
// instead. The desired attributes are those of [UserInput], without active and a password.
func Differences(have, want *scim.Resource, unkept map[string]engine.IgnoredAttribute) (differ, ignored []engine.Mismatch) {
	u := user{in: UserInput{Resource: want}}
	for _, a := range overlay(have, u.desired()) {
		path := a.path()
		if scim.EqualName(path, passwordPath) {
			continue // never returned
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

// IsActive reports whether an account is active, by the rules of sequences: an account without the attribute is active.
func IsActive(account *scim.Resource) bool { return active(account) }
