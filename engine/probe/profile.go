package probe

import "time"

// Feature names something that a target may be able to do. The names are stable; they are stored and shown.
type Feature string

// The features, in the order in which they are tried.
const (
	ListUsers        Feature = "users.list"              // GET /Users with paging
	LookupMiss       Feature = "users.lookup-miss"       // a filter for a name that nobody has finds nothing
	CreateUser       Feature = "users.create"            // POST answers with an id
	LookupUserName   Feature = "users.lookup-userName"   // a filter finds the user, and no other
	LookupExternalID Feature = "users.lookup-externalId" // so does one for the externalId
	Conflict         Feature = "users.conflict"          // a second user of the same name is refused with 409
	KeepsUser        Feature = "users.keeps"             // what was sent in the POST is what a GET shows
	EntityTags       Feature = "users.etag"              // a GET comes with an ETag, and a stale If-Match is refused
	PutUser          Feature = "users.put"
	PatchPath        Feature = "users.patch-path"       // PATCH replace with a path
	PatchNoPath      Feature = "users.patch-no-path"    // PATCH replace with an object and no path
	DeactivatePatch  Feature = "users.deactivate-patch" // {"active":false} without a path
	DeactivatePath   Feature = "users.deactivate-path"  // path active
	DeactivatePut    Feature = "users.deactivate-put"
	Reactivate       Feature = "users.reactivate"
	CreateGroup      Feature = "groups.create"
	LookupGroup      Feature = "groups.lookup-displayName"
	AddMember        Feature = "groups.add-member"
	ShowsMembers     Feature = "groups.shows-members"       // GET of a group has its members
	RemoveByPath     Feature = "groups.remove-member-path"  // members[value eq "..."]
	RemoveByValue    Feature = "groups.remove-member-value" // path members with a list of values
	ReplaceMembers   Feature = "groups.replace-members"
	ReplaceByNone    Feature = "groups.replace-by-none" // replace with an empty list empties the group
	RenameGroup      Feature = "groups.rename-patch"
	PutGroup         Feature = "groups.put"
	DeleteGroup      Feature = "groups.delete"
	DeleteUser       Feature = "users.delete"
)

// Verdict says how a feature fared.
type Verdict string

// The verdicts.
const (
	Works   Verdict = "works"
	Refused Verdict = "refused" // the target answered with an error
	Lost    Verdict = "lost"    // the target answered with success, and nothing changed, or something else did
	Unknown Verdict = "unknown" // not tried, because something it needs does not work, or no answer came
)

// Result is how one feature fared.
type Result struct {
	Feature Feature `json:"feature"`
	Verdict Verdict `json:"verdict"`
	// Status is the HTTP status of the answer that decided, 0 for none.
	Status int `json:"status,omitempty"`
	// Detail says what was seen, for everything that is not simply as it should be. It quotes the target, without secrets.
	Detail string `json:"detail,omitempty"`
}

// Profile is what a probe found. It can be stored as JSON.
type Profile struct {
	At      time.Time `json:"at"`
	Results []Result  `json:"results"` // one for each feature, in their order
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
func (p Profile) Verdict(f Feature) Verdict {
	for _, r := range p.Results {
		if r.Feature == f {
			return r.Verdict
		}
	}
	return Unknown
}

// Usable says whether users can be provisioned: found, created, updated and deactivated, in one way at least. The text says
// what is missing, for an administrator.
func (p Profile) Usable() (ok bool, missing string) {
	works := func(any ...Feature) bool {
		for _, f := range any {
			if p.Verdict(f) == Works {
				return true
			}
		}
		return false
	}
	switch {
	case !works(ListUsers):
		return false, "users cannot be listed"
	case !works(CreateUser):
		return false, "users cannot be created"
	case !works(LookupUserName):
		return false, "a user cannot be found by name, so an account that exists already would not be noticed"
	case !works(PutUser, PatchPath, PatchNoPath):
		return false, "users cannot be updated"
	case !works(DeactivatePatch, DeactivatePath, DeactivatePut):
		return false, "users cannot be deactivated"
	}
	return true, ""
}
