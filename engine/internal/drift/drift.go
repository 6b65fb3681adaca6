package drift

import (
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

// maxExamples is the maximum number of ids in a finding about members.
const maxExamples = 10

// UserWant is the desired state of a user. Without Update or Deactivate, User reports no differences that only such a change could repair.
type UserWant struct {
	Want               engine.Want
	Resource           *scim.Resource                     // as in plan.UserInput
	IgnoredAttributes  map[string]engine.IgnoredAttribute // attributes that the target ignored
	Update, Deactivate bool                               // Target.UpdateUsers and Target.DeactivateUsers
}

// User compares an account with its desired state.
func User(want UserWant, have *scim.Resource) (found []engine.Finding) {
	var differ, ignored []engine.Mismatch
	active := plan.IsActive(have)
	switch want.Want {
	case engine.Active:
		if want.Update {
			differ, ignored = plan.Differences(have, want.Resource, want.IgnoredAttributes)
		}
	case engine.Inactive, engine.Absent:
	case engine.Keep:
		return nil
	}
	if len(differ) > 0 {
		found = append(found, engine.Finding{What: engine.DriftDiffers, Values: differ})
	}
	if should := want.Want == engine.Active; want.Deactivate && active != should {
		found = append(found, engine.Finding{What: engine.DriftActivity, Values: []engine.Mismatch{{Path: "active", Have: active, Want: should}}})
	}
	if len(ignored) > 0 {
		found = append(found, engine.Finding{What: engine.DriftIgnored, Values: ignored})
	}
	return found
}

// MemberIDs returns the ids of the members in a group of the target. listed is false if the target omitted the attribute members.
func MemberIDs(group *scim.Resource) (ids []string, listed bool) {
	_, listed = group.Get("members")
	for _, v := range group.Array("members") {
		o, _ := v.(*scim.Object)
		ids = append(ids, o.Text("value"))
	}
	return ids, listed
}

// CompareMembers returns the difference between the desired and the actual members of a group. ok reports whether the members differ.
func CompareMembers(want, have []string) (f engine.Finding, ok bool) {
	want, have = unique(want), unique(have)
	f.What = engine.DriftMembers
	note := func(id string, n *int) {
		*n++
		if len(f.Examples) < maxExamples {
			f.Examples = append(f.Examples, id)
		}
	}
	for _, id := range want {
		if _, in := slices.BinarySearch(have, id); !in {
			note(id, &f.Lacking)
		}
	}
	for _, id := range have {
		if _, in := slices.BinarySearch(want, id); !in {
			note(id, &f.Surplus)
		}
	}
	return f, f.Lacking+f.Surplus > 0
}

func unique(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }
