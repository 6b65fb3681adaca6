package engine

import (
	"time"

	"github.com/scimwright/scimwright/scim"
)

// ProbeOptions configures a probe. The zero value works on targets that ask for nothing beyond the RFC.
type ProbeOptions struct {
	// Marker begins the names of the objects that are created. Defaults to "scimwright-probe-" and random letters.
	Marker string
	// Domain of the userName and address of the user. Defaults to example.com. Some targets accept verified domains only.
	Domain string
	// User holds further attributes that this target needs to create a user.
	User *scim.Object
	// SkipGroups leaves groups alone.
	SkipGroups bool
	// Settle is how long a change may take until a read shows it; it is read up to five times. Defaults to 2 s.
	Settle time.Duration
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Feature names something that a target may be able to do. The names are stable; they are stored and shown.
type Feature string

// The features, in the order in which they are tried.
const (
	FeatureListUsers        Feature = "users.list"              // GET /Users with paging
	FeatureLookupMiss       Feature = "users.lookup-miss"       // a filter for a name that nobody has finds nothing
	FeatureCreateUser       Feature = "users.create"            // POST answers with an id
	FeatureLookupUserName   Feature = "users.lookup-userName"   // a filter finds the user, and no other
	FeatureLookupExternalID Feature = "users.lookup-externalId" // so does one for the externalId
	FeatureConflict         Feature = "users.conflict"          // a second user of the same name is refused with 409
	FeatureKeepsUser        Feature = "users.keeps"             // what was sent in the POST is what a GET shows
	FeatureEntityTags       Feature = "users.etag"              // a GET comes with an ETag, and a stale If-Match is refused
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
	FeatureShowsMembers     Feature = "groups.shows-members"       // GET of a group has its members
	FeatureRemoveByPath     Feature = "groups.remove-member-path"  // members[value eq "..."]
	FeatureRemoveByValue    Feature = "groups.remove-member-value" // path members with a list of values
	FeatureReplaceMembers   Feature = "groups.replace-members"
	FeatureReplaceWithEmpty Feature = "groups.replace-by-none" // replace with an empty list empties the group
	FeatureRenameGroup      Feature = "groups.rename-patch"
	FeaturePutGroup         Feature = "groups.put"
	FeatureDeleteGroup      Feature = "groups.delete"
	FeatureDeleteUser       Feature = "users.delete"
)

// ProbeVerdict says how a feature fared.
type ProbeVerdict string

// The verdicts.
const (
	ProbeWorks    ProbeVerdict = "works"
	ProbeRefused  ProbeVerdict = "refused" // the target answered with an error
	ProbeNoEffect ProbeVerdict = "lost"    // the target answered with success, and nothing changed, or something else did
	ProbeUnknown  ProbeVerdict = "unknown" // not tried, because something it needs does not work, or no answer came
)

// ProbeResult is how one feature fared.
type ProbeResult struct {
	Feature Feature      `json:"feature"`
	Verdict ProbeVerdict `json:"verdict"`
	// Status is the HTTP status of the answer that decided, 0 for none.
	Status int `json:"status,omitempty"`
	// Detail says what was seen, for everything that is not simply as it should be. It quotes the target, without secrets.
	Detail string `json:"detail,omitempty"`
}

// Profile is what a probe found. It can be stored as JSON.
type Profile struct {
	At      time.Time     `json:"at"`
	Results []ProbeResult `json:"results"` // one for each feature, in their order
	// Advertised is what the target says of itself in its ServiceProviderConfig.
	Advertised Advertised `json:"advertised"`
	// Leftovers are the paths, below the base URL, of objects that could not be removed.
	Leftovers []string `json:"leftovers,omitempty"`
	Requests  int      `json:"requests"` // how many were sent
}

// Advertised is a ServiceProviderConfig (RFC 7643 section 5), as far as it matters. A nil capability was not stated.
type Advertised struct {
	Present    bool  `json:"present"`
	Patch      *bool `json:"patch,omitempty"`
	Filter     *bool `json:"filter,omitempty"`
	MaxResults int   `json:"maxResults,omitempty"`
	Bulk       *bool `json:"bulk,omitempty"`
	Sort       *bool `json:"sort,omitempty"`
	ETag       *bool `json:"etag,omitempty"`
}

// Verdict of one feature; Unknown for one that is not in the profile.
func (p Profile) Verdict(f Feature) ProbeVerdict {
	for _, r := range p.Results {
		if r.Feature == f {
			return r.Verdict
		}
	}
	return ProbeUnknown
}

// Usable says whether users can be provisioned: found, created, updated and deactivated, in one way at least. The text says
// what is missing, for an administrator.
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
		return false, "a user cannot be found by name, so an account that exists already would not be noticed"
	case !works(FeaturePutUser, FeaturePatchPath, FeaturePatchNoPath):
		return false, "users cannot be updated"
	case !works(FeatureDeactivatePatch, FeatureDeactivatePath, FeatureDeactivatePut):
		return false, "users cannot be deactivated"
	}
	return true, ""
}
