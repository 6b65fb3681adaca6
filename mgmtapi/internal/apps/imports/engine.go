package imports

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
)

// Engine reads the accounts of targets.
type Engine interface {
	// Import starts to read the users, or the groups, of the target of an app, and returns the run.
	Import(ctx context.Context, app string, groups bool, s model.ImportSettings) (run string, err error)
	// State returns the progress of a run. Run.Error is the cause of a failure.
	State(ctx context.Context, app, run string) (Run, error)
	// Accounts returns the accounts that a run has found, in ascending order of their ids.
	Accounts(ctx context.Context, app, run string, q Query) ([]Account, error)
	// Link creates links within a transaction, all or none. A rejection is an error for the client.
	Link(ctx context.Context, tx *docstore.Tx, app, run string, links []Link) error
}

// State is the progress of a run.
type State string

// The states.
const (
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed" // the run failed or was stopped; the API does not process the accounts that it has found
)

// Run is one reading of a target.
type Run struct {
	State State
	Error string
}

// Query selects accounts. Empty members do not restrict the result.
type Query struct {
	Verdict Verdict
	Only    []string
	After   string
	Limit   int
}

// Verdict states how an account relates to users.
type Verdict string

// The verdicts that an import acts on. It ignores accounts with other verdicts.
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
	// User is the account owner if the verdict is Linked or Matched. Otherwise Candidates are the possible owners.
	User       string
	Candidates []string
	Resource   *scim.Resource
}

// Link assigns an account to a user.
type Link struct{ User, Account, Name string }
