package engine

import (
	"time"

	"github.com/scimwright/scimwright/scim"
)

// ProbeOptions configures a probe. The zero value works with targets that require nothing beyond the RFC.
type ProbeOptions struct {
	// Marker is the prefix of the names of the created objects. Default: "scimwright-probe-" and random letters.
	Marker string
	// Domain is the domain of the userName and the email address of the created user. Default: example.com. Some targets accept verified
	// domains only.
	Domain string
	// User has further attributes of the created user, for a target that requires them.
	User *scim.Object
	// SkipGroups disables the probe of groups.
	SkipGroups bool
	// Settle is the maximum time until a read must show a change. The probe reads a change up to five times. Default: 2s.
	Settle time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Feature is a capability that a target may have. The names are stable; they are stored and shown.
type Feature string

// The features, in the order in which they are tried.
const (
	FeatureListUsers        Feature = "users.list"              // GET /Users with paging
	FeatureLookupMiss       Feature = "users.lookup-miss"       // a filter for an unknown name returns nothing
	FeatureCreateUser       Feature = "users.create"            // POST returns an id
	FeatureLookupUserName   Feature = "users.lookup-userName"   // a filter for the userName returns only the created user
	FeatureLookupExternalID Feature = "users.lookup-externalId" // a filter for the externalId returns only the created user
	FeatureConflict         Feature = "users.conflict"          // a second user of the same name is rejected with 409
	FeatureKeepsUser        Feature = "users.keeps"             // a GET returns the values that the POST sent
	FeatureEntityTags       Feature = "users.etag"              // a GET returns an ETag, and a stale If-Match is rejected
	FeaturePutUser          Feature = "users.put"
	FeaturePatchPath        Feature = "users.patch-path"       // PATCH replace with a path
	FeaturePatchNoPath      Feature = "users.patch-no-path"    // PATCH replace with an object and no path
	FeatureDeactivatePatch  Feature = "users.deactivate-patch" // {"active":false} without a path
	FeatureDeactivatePath   Feature = "users.deactivate-path"  // path active
	FeatureDeactivatePut    Feature = "users.deactivate-put"
	FeatureReactivate       Feature = "users.reactivate"
	FeatureCreateGroup      Feature = "groups.create"
	FeatureLookupGroup      Feature = "groups.lookup-displayName"
	FeatureAddMember        Feature = "groups.add-member"
	FeatureShowsMembers     Feature = "groups.shows-members"       // GET of a group returns its members
	FeatureRemoveByPath     Feature = "groups.remove-member-path"  // members[value eq "..."]
	FeatureRemoveByValue    Feature = "groups.remove-member-value" // remove with the path members and a list of values
	FeatureReplaceMembers   Feature = "groups.replace-members"
	FeatureReplaceWithEmpty Feature = "groups.replace-by-none" // replace with an empty list empties the group
	FeatureRenameGroup      Feature = "groups.rename-patch"
	FeaturePutGroup         Feature = "groups.put"
	FeatureDeleteGroup      Feature = "groups.delete"
	FeatureDeleteUser       Feature = "users.delete"
)

// ProbeVerdict is the result for a feature.
type ProbeVerdict string

// The verdicts.
const (
	ProbeWorks    ProbeVerdict = "works"
	ProbeRefused  ProbeVerdict = "refused" // the target returned an error
	ProbeNoEffect ProbeVerdict = "lost"    // the target returned success without the expected change
	ProbeUnknown  ProbeVerdict = "unknown" // not tested: a prerequisite does not work, or no response
)

// ProbeResult is the result for one feature.
type ProbeResult struct {
	Feature Feature      `json:"feature"`
	Verdict ProbeVerdict `json:"verdict"`
	// Status is the HTTP status of the response that determined the outcome, 0 for none.
	Status int `json:"status,omitempty"`
	// Detail describes the observation if the result is not as expected. It quotes the target, without secrets.
	Detail string `json:"detail,omitempty"`
}

// Profile is the result of a probe. It can be stored as JSON.
type Profile struct {
	At      time.Time     `json:"at"`
	Results []ProbeResult `json:"results"` // one per feature, in the order of the constants of type Feature
	// Advertised has the capabilities in the target's ServiceProviderConfig.
	Advertised Advertised `json:"advertised"`
	// Leftovers are the paths, below the base URL, of objects that could not be removed.
	Leftovers []string `json:"leftovers,omitempty"`
	Requests  int      `json:"requests"` // number of requests sent
}

// Advertised is the relevant part of a ServiceProviderConfig (RFC 7643 section 5). A nil capability was not declared.
type Advertised struct {
	Present    bool  `json:"present"`
	Patch      *bool `json:"patch,omitempty"`
	Filter     *bool `json:"filter,omitempty"`
	MaxResults int   `json:"maxResults,omitempty"`
	Bulk       *bool `json:"bulk,omitempty"`
	Sort       *bool `json:"sort,omitempty"`
	ETag       *bool `json:"etag,omitempty"`
}

// Verdict returns the verdict of a feature, ProbeUnknown for one that is not in the profile.
func (p Profile) Verdict(f Feature) ProbeVerdict {
	for _, r := range p.Results {
		if r.Feature == f {
			return r.Verdict
		}
	}
	return ProbeUnknown
}

// Usable reports whether the engine can provision users: list, find, create, update and deactivate them, each in at least one way. If not,
// missing describes the first operation that does not work, for an administrator.
func (p Profile) Usable() (ok bool, missing string) {
	works := func(any ...Feature) bool {
		for _, f := range any {
			if p.Verdict(f) == ProbeWorks {
				return true
			}
		}
		return false
	}
	switch {
	case !works(FeatureListUsers):
		return false, "users cannot be listed"
	case !works(FeatureCreateUser):
		return false, "users cannot be created"
	case !works(FeatureLookupUserName):
		return false, "a user cannot be found by name, so an existing account would not be detected"
	case !works(FeaturePutUser, FeaturePatchPath, FeaturePatchNoPath):
		return false, "users cannot be updated"
	case !works(FeatureDeactivatePatch, FeatureDeactivatePath, FeatureDeactivatePut):
		return false, "users cannot be deactivated"
	}
	return true, ""
}
