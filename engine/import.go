package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine/lane"
	"github.com/scimwright/scimwright/engine/reconcile"
	"github.com/scimwright/scimwright/scim"
)

// Verdict says whose an account that an import has found is.
type Verdict = reconcile.Verdict

// The verdicts.
const (
	VerdictLinked    = reconcile.Linked    // a principal has it already, or it was confirmed
	VerdictMatched   = reconcile.Matched   // exactly one principal agrees by a rule
	VerdictAmbiguous = reconcile.Ambiguous // somebody has to say whose it is; RemoteObject.Note says why
	VerdictPartial   = reconcile.Partial   // only resembles somebody
	VerdictUnmatched = reconcile.Unmatched // nobody's
	VerdictGone      = reconcile.Gone      // was there at an earlier import and is not listed any more; nothing follows from that
)

// MatchRule is one way of telling whose an account is.
type MatchRule = reconcile.Rule

// The rules.
const (
	MatchExternalID = reconcile.ByExternalID
	MatchUserName   = reconcile.ByUserName // of a group: displayName
	MatchEmail      = reconcile.ByEmail
)

// Candidate is a principal that an account may belong to.
type Candidate = reconcile.Candidate

// Matcher is what a [Directory] has besides when accounts of its targets can be imported.
type Matcher interface {
	// Match offers for each object, in their order, the principals of that kind that it may belong to: those with the same
	// externalId, userName (displayName) or e-mail address, and for partial matches those that resemble it. It may offer too many,
	// e.g. by a rule that was not asked for: the engine compares. An error means «cannot say now»; the page is asked about again.
	Match(ctx context.Context, app string, kind Kind, objects []RemoteObject) ([][]Candidate, error)
}

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

func fillImport(r *ImportRequest) error {
	if r.Kind == "" {
		r.Kind = User
	}
	if len(r.Match) == 0 {
		r.Match = []MatchRule{MatchExternalID, MatchUserName}
	}
	if r.MaxGone == 0 {
		r.MaxGone = DefaultMaxGone
	}
	if r.Kind != User && r.Kind != Group {
		return fmt.Errorf("there are no principals of the kind %q", r.Kind)
	}
	if i := slices.IndexFunc(r.Match, func(m MatchRule) bool { return !m.Known() }); i >= 0 {
		return fmt.Errorf("there is no rule %q", r.Match[i])
	}
	if r.MaxGone < 0 || r.MaxGone > 100 {
		return errors.New("MaxGone is a percentage")
	}
	return nil
}

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
	// Total is what the target says, plan.UntoldTotal when it does not.
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
	App         string
	Kind        Kind
	RemoteID    string
	UserName    string // of a group: displayName
	ExternalID  string
	Email       string // the primary one, or the first
	DisplayName string
	Active      bool
	Hash        string // of all attributes but meta: another one than at the last import when the object has changed
	Run         int64  // that saw it last

	Verdict   Verdict
	Rule      MatchRule // that matched it, empty for none
	Principal string    // whose it is, when Linked or Matched
	// Candidates are the principals that somebody has to choose from, when Ambiguous or Partial; at most MaxCandidates.
	Candidates []string
	Note       string // why it is ambiguous, as far as the candidates do not tell

	// Resource is all that the target shows. It is there for Matcher.Match, and for a query that asks for it where the run has kept it.
	Resource *scim.Resource
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
	ErrNoMatcher     = errors.New("engine: the directory does not implement Matcher")
)

// ImportStore keeps imports. Writes that take a lease of ImportLeases are refused with ErrLeaseLost when it does not hold.
type ImportStore interface {
	// ImportLeases are claims on runs that are to be worked on; Lease.App is the id of the run in decimal. Holds are not kept: a
	// run is due again not before notBefore.
	ImportLeases() lane.Leases
	// StartImport adds a run in the state running and returns its id. ErrImportRunning when there is one of that app and kind.
	StartImport(ctx context.Context, app string, r ImportRequest, now time.Time) (int64, error)
	// ImportRun returns a run, or ErrNotFound; ImportRuns those of an app, newest first. Some of the newest are kept of each kind.
	ImportRun(ctx context.Context, id int64) (ImportRun, error)
	ImportRuns(ctx context.Context, app string) ([]ImportRun, error)
	// SaveImportPage adds the objects of a page. ErrRepeated, and nothing is stored, when the run has one of them already.
	SaveImportPage(ctx context.Context, l lane.Lease, p ImportPage) error
	// CloseImport draws the conclusions of a list that was read to its end: what else was there before is gone, and a principal that
	// several objects match is ambiguous. When more is gone than the request allows, nothing of that is stored and the run is
	// stopped instead. It may be repeated.
	CloseImport(ctx context.Context, l lane.Lease, now time.Time) error
	// ConfirmMatched links up to limit of the objects that are matched, and returns how many it has dealt with: what cannot be
	// linked is ambiguous from then on.
	ConfirmMatched(ctx context.Context, l lane.Lease, now time.Time, limit int) (int, error)
	// DelayImport notes a failure after which the run goes on, EndImport the end of a run that was not stopped.
	DelayImport(ctx context.Context, l lane.Lease, attempts int, message string) error
	EndImport(ctx context.Context, l lane.Lease, state ImportState, message string, now time.Time) error
	// RemoteObjects reads what imports have found.
	RemoteObjects(ctx context.Context, q RemoteObjectQuery) ([]RemoteObject, error)
	// Confirm makes links within the caller's transaction as LinkStore.Link does. It returns ErrMoved unless the run is the newest of
	// its app and kind, has ended well and has seen the accounts.
	Confirm(ctx context.Context, tx Execer, now time.Time, app string, run int64, links []Link) error
}

// ErrRepeated says that a target has listed an object twice.
var ErrRepeated = errors.New("engine: it was listed before")

// ImportPage is a page of a list with the verdicts on it.
type ImportPage struct {
	Objects []RemoteObject
	Seen    int // with this page
	Total   int
	Last    bool
}

// Import begins to read the accounts or groups of a target by pages and to tell whose they are, and returns the id of the run. The
// run is worked on by whichever engine of the store has time, goes on at the page where a crash has left it, and sends nothing but
// GET. When it has ended ([Engine.ImportRun]), [Engine.RemoteObjects] has the result and [Engine.Confirm] links what somebody has
// looked at. A list that changes while it is read, or contradicts itself, fails the run, and nothing is concluded from it.
//
// The directory has to be a [Matcher]. ErrImportRunning when one is running for that kind.
func (e *Engine) Import(ctx context.Context, app string, r ImportRequest) (int64, error) {
	if _, ok := e.o.Directory.(Matcher); !ok {
		return 0, ErrNoMatcher
	}
	if err := fillImport(&r); err != nil {
		return 0, fmt.Errorf("engine: import of %s: %w", app, err)
	}
	if _, err := e.o.Directory.Target(ctx, app); err != nil {
		return 0, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	id, err := e.o.Store.StartImport(ctx, app, r, e.o.Now())
	if err != nil {
		return 0, fmt.Errorf("engine: import of %s: %w", app, err)
	}
	e.imports.Wake()
	return id, nil
}

// ImportRun returns how far an import has come, or ErrNotFound.
func (e *Engine) ImportRun(ctx context.Context, app string, id int64) (ImportRun, error) {
	run, err := e.o.Store.ImportRun(ctx, id)
	if err == nil && run.App != app {
		err = ErrNotFound
	}
	if err != nil {
		return ImportRun{}, fmt.Errorf("engine: import %d of %s: %w", id, app, err)
	}
	return run, nil
}

// ImportRuns lists the imports of an app, newest first.
func (e *Engine) ImportRuns(ctx context.Context, app string) ([]ImportRun, error) {
	return e.o.Store.ImportRuns(ctx, app)
}

// RemoteObjects lists what imports have found at the target of an app.
func (e *Engine) RemoteObjects(ctx context.Context, q RemoteObjectQuery) ([]RemoteObject, error) {
	if q.App == "" || endpoints[q.Kind] == "" {
		return nil, fmt.Errorf("engine: remote objects: RemoteObjectQuery needs an app and a kind, not %q and %q", q.App, q.Kind)
	}
	return e.o.Store.RemoteObjects(ctx, q)
}

// Confirm links accounts that an import has found, inside the caller's transaction and on the terms of [Engine.Link]. The links need
// not be those that the import has proposed. ErrMoved when a newer import has begun, or this one has not ended well or has not seen
// an account.
func (e *Engine) Confirm(ctx context.Context, tx Execer, app string, run int64, links []Link) error {
	if err := e.o.Store.Confirm(ctx, tx, e.o.Now(), app, run, links); err != nil {
		return fmt.Errorf("engine: confirm import %d of %s: %w", run, app, err)
	}
	return nil
}
