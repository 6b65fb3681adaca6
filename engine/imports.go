package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// ImportRequest configures an import and the matching of accounts to principals.
type ImportRequest struct {
	Kind Kind `json:"kind"` // Default: User
	// Match are the rules; the first rule that matches a principal decides. Default: MatchExternalID, then MatchUserName.
	Match []MatchRule `json:"match"`
	// Partial also records partial matches, for review.
	Partial bool `json:"partial,omitempty"`
	// AutoConfirm links the matched objects once the whole list was read and the run was not stopped. Objects that require a decision wait for
	// Confirm in any case.
	AutoConfirm bool `json:"autoConfirm,omitempty"`
	// Keep stores all attributes of each object except passwords. RemoteObjectQuery.Whole reads them.
	Keep bool `json:"keep,omitempty"`
	// MaxGone is the maximum share, in percent, of known objects (seen by earlier imports, or linked) that may be missing from the list. If
	// more are missing, the run stops and changes nothing. Fewer than SafeGone missing objects never stop a run. Default: DefaultMaxGone. 100
	// disables the limit.
	MaxGone float64 `json:"maxGone"`
}

// The limits of ImportRequest.MaxGone.
const (
	DefaultMaxGone = 20 // percent
	SafeGone       = 10 // objects
)

// ImportState is the progress of a run.
type ImportState string

// The states of runs.
const (
	ImportRunning ImportState = "running"
	ImportDone    ImportState = "done"
	ImportFailed  ImportState = "failed"  // Error has the cause; nothing was linked or marked as gone
	ImportStopped ImportState = "stopped" // too many objects are missing; nothing was linked or marked as gone
)

// ImportRun is one import.
type ImportRun struct {
	ID      int64 // ascending
	App     string
	Request ImportRequest
	State   ImportState
	// Seen is the number of objects read; the next page starts at startIndex Seen + 1. Read reports whether the whole list was read.
	Seen int
	Read bool
	// Total is totalResults of the target's list, -1 if the target did not return it.
	Total int
	// Attempts is the number of consecutive failures to read the next page. Error is the last failure, or the reason why the run stopped.
	Attempts int
	Error    string
	// Counts are the numbers of objects by verdict. VerdictGone counts the objects of earlier runs that this run did not see.
	Counts map[Verdict]int
	// Lost is the number of principals whose account is not in the list. The engine changes nothing for these principals.
	Lost         int
	Begun, Ended time.Time
}

// RemoteObject is an account or group that an import found on a target.
type RemoteObject struct {
	App         string `json:"-"`
	Kind        Kind   `json:"-"`
	RemoteID    string `json:"remoteId"`
	UserName    string `json:"userName"` // of a group: displayName
	ExternalID  string `json:"externalId,omitempty"`
	Email       string `json:"email,omitempty"` // primary email address, or the first one if none is primary
	DisplayName string `json:"displayName,omitempty"`
	Active      bool   `json:"active"`
	Hash        string `json:"-"` // digest of all attributes except meta; detects changes between imports
	Run         int64  `json:"-"` // last run that listed the object

	Verdict   Verdict   `json:"verdict"`
	Rule      MatchRule `json:"rule,omitempty"`      // rule that matched the object, empty if no rule did
	Principal string    `json:"principal,omitempty"` // owner of the object, for VerdictLinked and VerdictMatched
	// Candidates are the principals to choose from, for VerdictAmbiguous and VerdictPartial; at most MaxCandidates.
	Candidates []string `json:"candidates,omitempty"`
	Note       string   `json:"note,omitempty"` // why the object is ambiguous, if Candidates does not show the reason

	// Resource has all attributes that the target returned. It is set for Matcher.Match, and for queries with Whole if the run stored it.
	Resource *scim.Resource `json:"-"`
}

// MaxCandidates is the maximum number of stored candidates per object.
const MaxCandidates = 10

// RemoteObjectQuery selects objects that imports have found, ascending by remote id. Empty fields do not restrict the result.
type RemoteObjectQuery struct {
	App     string // required
	Kind    Kind   // required
	Verdict Verdict
	After   string // remote id of the last object of the previous page
	Limit   int    // Default: 100
	// Only restricts the result to objects with these remote ids.
	Only []string
	// Whole also reads RemoteObject.Resource.
	Whole bool
}

// Errors of imports.
var (
	ErrImportRunning = errors.New("engine: an import is running")
	ErrNoMatcher     = errors.New("engine: imports need a Directory that implements engine.Matcher")
)

// MaxListed is the maximum number of users or groups that an import or a drift report reads from a target.
const MaxListed = 2_000_000

// ErrPaused is returned when the engine sends nothing to the target because Target.Paused is set or a maintenance window is open.
var ErrPaused = errors.New("engine: the app is paused")

// MatchRule is a rule by which an account of a target matches a principal of the directory.
type MatchRule string

// The rules. Names and addresses are compared case-insensitively (RFC 7643 section 4.1), identifiers exactly.
const (
	MatchExternalID MatchRule = "externalId"
	MatchUserName   MatchRule = "userName" // of a group: displayName
	MatchEmail      MatchRule = "email"    // one email address of the account equals one of the principal
)

// Known reports whether the rule is defined.
func (r MatchRule) Known() bool {
	return slices.Contains([]MatchRule{MatchExternalID, MatchUserName, MatchEmail}, r)
}

// Verdict is the result of matching an account to a principal.
type Verdict string

// The verdicts.
const (
	VerdictLinked    Verdict = "linked"    // linked to a principal already
	VerdictMatched   Verdict = "matched"   // exactly one principal, by a rule
	VerdictAmbiguous Verdict = "ambiguous" // several candidates, or the only candidate has another account: requires a decision
	VerdictPartial   Verdict = "partial"   // only the part before the @ of an address, or only the full name, is equal: requires a review
	VerdictUnmatched Verdict = "unmatched" // no principal matches
	VerdictGone      Verdict = "gone"      // listed by an earlier import, not by this one
)

// Candidate is a principal that an object may belong to.
type Candidate struct {
	ID          string   `json:"id"`       // in the directory
	UserName    string   `json:"userName"` // of a group: displayName
	ExternalID  string   `json:"externalId,omitempty"`
	Emails      []string `json:"emails,omitempty"`
	DisplayName string   `json:"displayName,omitempty"`
}
