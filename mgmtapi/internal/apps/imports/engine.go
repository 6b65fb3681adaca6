package imports

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
)

// Engine reads the accounts of targets.
type Engine interface {
	// Import begins to read the users, or the groups, of the target of an app, and returns the run.
	Import(ctx context.Context, app string, groups bool, s model.ImportSettings) (run string, err error)
	// State is how far a run has come; Error says why it has not ended well.
	State(ctx context.Context, app, run string) (Run, error)
	// Accounts are those that a run has found, ascending by their id.
	Accounts(ctx context.Context, app, run string, q Query) ([]Account, error)
	// Link makes links within a transaction, all or none. A refusal is an error for the caller.
	Link(ctx context.Context, tx *docstore.Tx, app, run string, links []Link) error
}

// State is how far a run has come.
type State string

// The states.
const (
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed" // or stopped: nothing is to be concluded from it
)

// Run is one reading of a target.
type Run struct {
	State State
	Error string
}

// Query selects accounts. Empty members do not restrict.
type Query struct {
	Verdict Verdict
	Only    []string
	After   string
	Limit   int
}

// Verdict says whose an account is.
type Verdict string

// The verdicts. There may be others, of which nothing follows.
const (
	Linked    Verdict = "linked"
	Matched   Verdict = "matched"
	Partial   Verdict = "partial"
	Ambiguous Verdict = "ambiguous"
	Unmatched Verdict = "unmatched"
)

// Account is an account of a target.
type Account struct {
	ID      string
	Name    string // userName
	Active  bool
	Verdict Verdict
	// User is whose it is, when Linked or Matched, Candidates are those that it may belong to otherwise.
	User       string
	Candidates []string
	Resource   *scim.Resource
}

// Link says that an account is that of a user.
type Link struct{ User, Account, Name string }
