package reconcile

import (
	"slices"

	"github.com/scimwright/scimwright/engine/plan"
	"github.com/scimwright/scimwright/scim"
)

// What says in which way a target differs from what is wanted there.
type What string

// The ways. Missing, Differs, Activity and Members can be repaired; Strangers and Duplicates are for people, and what is Ignored the
// target does not keep.
const (
	Missing   What = "missing"   // a principal should have an account and has none
	Differs   What = "differs"   // attributes have other values
	Activity  What = "active"    // active is another one; of a group: it should not be there any more
	Members   What = "members"   // a group has others
	Stranger  What = "stranger"  // an account that nobody has. It is never touched
	Duplicate What = "duplicate" // an account with an externalId that another one of the list has too
	Ignored   What = "ignored"   // values that the target was seen not to keep, and that are not sent any more
)

// Repairable says whether a sequence of the principal mends it.
func (w What) Repairable() bool {
	return w == Missing || w == Differs || w == Activity || w == Members
}

// Finding is one difference between a target and what is wanted there.
type Finding struct {
	What       What   `json:"what"`
	Principal  string `json:"principal,omitempty"` // whose it is, empty for nobody's
	RemoteID   string `json:"remoteId,omitempty"`
	RemoteName string `json:"remoteName,omitempty"` // userName or displayName at the target, as far as known
	// Values are what differs, or is ignored, by attribute path; the values of secrets are left out.
	Values []plan.Difference `json:"values,omitempty"`
	// Lacking and Surplus count the members that a group should have besides, and those that it should not have; Examples are some of
	// their ids at the target.
	Lacking  int      `json:"lacking,omitempty"`
	Surplus  int      `json:"surplus,omitempty"`
	Examples []string `json:"examples,omitempty"`
	// ExternalID and Other are what a Duplicate shares, and with which account.
	ExternalID string `json:"externalId,omitempty"`
	Other      string `json:"other,omitempty"`
	Note       string `json:"note,omitempty"` // what else is known, e.g. why an account was not created
}

// maxExamples is how many ids a finding about members tells.
const maxExamples = 10

// UserWant is what a user should look like, as far as the options of the target let it be brought about.
type UserWant struct {
	Want               plan.Want
	Resource           *scim.Resource         // as plan.UserInput has it
	Unkept             map[string]plan.Unkept // what the target did not keep
	Update, Deactivate bool                   // whether attributes and active are provisioned at all
}

// User compares an account with what it should be.
func User(want UserWant, have *scim.Resource) (found []Finding) {
	var differ, ignored []plan.Difference
	active := plan.IsActive(have)
	switch want.Want {
	case plan.Active:
		if want.Update {
			differ, ignored = plan.Differences(have, want.Resource, want.Unkept)
		}
	case plan.Inactive, plan.Absent:
	default:
		return nil // Keep
	}
	if len(differ) > 0 {
		found = append(found, Finding{What: Differs, Values: differ})
	}
	if should := want.Want == plan.Active; want.Deactivate && active != should {
		found = append(found, Finding{What: Activity, Values: []plan.Difference{{Path: "active", Have: active, Want: should}}})
	}
	if len(ignored) > 0 {
		found = append(found, Finding{What: Ignored, Values: ignored})
	}
	return found
}

// MemberIDs are the members that a group shows; told is false when it does not show whether it has any.
func MemberIDs(group *scim.Resource) (ids []string, told bool) {
	_, told = group.Get("members")
	for _, v := range group.Array("members") {
		o, _ := v.(*scim.Object)
		ids = append(ids, o.Text("value"))
	}
	return ids, told
}

// CompareMembers says how the members of a group differ from the wanted ones. ok is false when they do not.
func CompareMembers(want, have []string) (f Finding, ok bool) {
	want, have = unique(want), unique(have)
	f.What = Members
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
