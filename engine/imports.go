package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// ImportRequest says what to import and how to tell whose it is.
type ImportRequest struct {
	Kind Kind `json:"kind"` // Defaults to User
	// Match are the rules; the first by which anybody agrees decides. Defaults to MatchExternalID, then MatchUserName.
	Match []MatchRule `json:"match"`
	// Partial also notes who only resembles somebody, for review.
	Partial bool `json:"partial,omitempty"`
	// AutoConfirm links what is matched once the whole list was read and nothing speaks against it. Whatever needs a decision waits
	// for Confirm in any case.
	AutoConfirm bool `json:"autoConfirm,omitempty"`
	// Keep stores all that an object shows, passwords left out, for whoever makes something of it: see RemoteObjectQuery.Whole.
	Keep bool `json:"keep,omitempty"`
	// MaxGone is how many of the objects that earlier imports saw, and of the accounts that are linked, may be missing from the list,
	// in percent. When more are, the run is stopped and nothing is concluded from it. Fewer than SafeGone never stop a run. Defaults
	// to DefaultMaxGone; 100 allows any.
	MaxGone float64 `json:"maxGone"`
}

// The bounds of ImportRequest.MaxGone.
const (
	DefaultMaxGone = 20 // percent
	SafeGone       = 10 // objects
)

// ImportState is how far a run has come.
type ImportState string

// The states of runs.
const (
	ImportRunning ImportState = "running"
	ImportDone    ImportState = "done"
	ImportFailed  ImportState = "failed"  // Error says why; nothing was concluded
	ImportStopped ImportState = "stopped" // too much is not listed any more; nothing was concluded
)

// ImportRun is one import.
type ImportRun struct {
	ID      int64 // ascending
	App     string
	Request ImportRequest
	State   ImportState
	// Seen is how many objects were read; the next page begins at startIndex Seen + 1. Read says that it was the whole list.
	Seen int
	Read bool
	// Total is what the target says, -1 if it does not.
	Total int
	// Attempts counts the failures in a row to read the next page; Error tells the last one, or why the run has ended.
	Attempts int
	Error    string
	// Counts are the objects of the run by verdict. Gone ones are those of earlier runs that this one did not see.
	Counts map[Verdict]int
	// Lost is how many principals have an account that is not listed. Nothing follows from that.
	Lost         int
	Begun, Ended time.Time
}

// RemoteObject is an account or group that an import has found at a target.
type RemoteObject struct {
	App         string `json:"-"`
	Kind        Kind   `json:"-"`
	RemoteID    string `json:"remoteId"`
	UserName    string `json:"userName"` // of a group: displayName
	ExternalID  string `json:"externalId,omitempty"`
	Email       string `json:"email,omitempty"` // the primary one, or the first
	DisplayName string `json:"displayName,omitempty"`
	Active      bool   `json:"active"`
	Hash        string `json:"-"` // of all attributes but meta: another one than at the last import when the object has changed
	Run         int64  `json:"-"` // that saw it last

	Verdict   Verdict   `json:"verdict"`
	Rule      MatchRule `json:"rule,omitempty"`      // that matched it, empty for none
	Principal string    `json:"principal,omitempty"` // whose it is, when Linked or Matched
	// Candidates are the principals that somebody has to choose from, when Ambiguous or Partial; at most MaxCandidates.
	Candidates []string `json:"candidates,omitempty"`
	Note       string   `json:"note,omitempty"` // why it is ambiguous, as far as the candidates do not tell

	// Resource is all that the target shows. It is there for Matcher.Match, and for a query that asks for it where the run has kept it.
	Resource *scim.Resource `json:"-"`
}

// MaxCandidates is how many candidates of an object are kept.
const MaxCandidates = 10

// RemoteObjectQuery selects objects that imports have found, ascending by remote id. Empty fields do not restrict.
type RemoteObjectQuery struct {
	App     string // required
	Kind    Kind   // required
	Verdict Verdict
	After   string // remote id of the last one of the page before
	Limit   int    // Defaults to 100
	// Only restricts it to those with the remote ids.
	Only []string
	// Whole reads RemoteObject.Resource too.
	Whole bool
}

// Errors of imports.
var (
	ErrImportRunning = errors.New("engine: an import is running")
	ErrNoMatcher     = errors.New("engine: imports need a Directory that implements engine.Matcher")
)

// MaxListed is how many users or groups of a target are read by an import or a drift report.
const MaxListed = 2_000_000

// ErrPaused says that nothing is sent to the target: Target.Paused.
var ErrPaused = errors.New("engine: the app is paused")

// MatchRule says by what an account of a target and a principal of the directory are taken for the same.
type MatchRule string

// The rules. Names and addresses are compared without regard to letter case (RFC 7643 section 4.1), identifiers exactly.
const (
	MatchExternalID MatchRule = "externalId"
	MatchUserName   MatchRule = "userName" // of a group: displayName
	MatchEmail      MatchRule = "email"    // any of theirs
)

// Known says whether there is such a rule.
func (r MatchRule) Known() bool {
	return slices.Contains([]MatchRule{MatchExternalID, MatchUserName, MatchEmail}, r)
}

// Verdict says whose an account is.
type Verdict string

// The verdicts.
const (
	VerdictLinked    Verdict = "linked"    // a principal has it already
	VerdictMatched   Verdict = "matched"   // exactly one principal, by a rule
	VerdictAmbiguous Verdict = "ambiguous" // several could be meant, or the one has another account: somebody has to say
	VerdictPartial   Verdict = "partial"   // only the part before the @ or the whole name agrees: somebody has to look
	VerdictUnmatched Verdict = "unmatched" // nobody
	VerdictGone      Verdict = "gone"      // listed by an earlier import, and not by this one
)

// Candidate is a principal that an object may belong to.
type Candidate struct {
	ID          string   `json:"id"`       // in the directory
	UserName    string   `json:"userName"` // of a group: displayName
	ExternalID  string   `json:"externalId,omitempty"`
	Emails      []string `json:"emails,omitempty"`
	DisplayName string   `json:"displayName,omitempty"`
}
