package mgmtapi

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
)

// Importer reads the accounts of targets, for imports. Its methods return a [Rejection] if the request is invalid, and another error if the
// operation fails.
type Importer interface {
	// Import starts reading the users or groups of an application's target, and returns the id of the run.
	Import(ctx context.Context, app string, r ImportRequest) (run string, err error)
	// ImportState returns the progress of a run.
	ImportState(ctx context.Context, app, run string) (ImportState, error)
	// Accounts returns accounts that a run has found, in ascending order of their ids.
	Accounts(ctx context.Context, app, run string, q AccountQuery) ([]FoundAccount, error)
	// Link records the owners of accounts in tx, the transaction of the API. It records all of them or none.
	Link(ctx context.Context, tx Tx, app, run string, links []AccountLink) error
}

// ImportRequest selects what an import reads, and how it matches accounts with users.
type ImportRequest struct {
	Kind Kind
	// ByEmail matches accounts with users by email address instead of by user name.
	ByEmail bool
	// Partial also compares names: an account that only resembles a user gets VerdictPartial.
	Partial bool
}

// ImportState is the progress of an import: running, or ended with or without an error.
type ImportState struct {
	Running bool
	// Error is the reason why the run is incomplete, for administrators. Empty without an error.
	Error string
	// Failed reports whether the run failed or was stopped.
	Failed bool
}

// AccountQuery selects accounts. Empty members do not restrict the result.
type AccountQuery struct {
	Verdict Verdict
	Only    []string // the ids of the accounts to return
	After   string   // only accounts with greater ids
	Limit   int
}

// Verdict is the relation of an account to users.
type Verdict string

// The verdicts. Accounts with other verdicts are ignored.
const (
	VerdictLinked    Verdict = "linked"    // linked to a user already
	VerdictMatched   Verdict = "matched"   // exactly one user matches
	VerdictPartial   Verdict = "partial"   // no user matches, but users with a similar name exist
	VerdictAmbiguous Verdict = "ambiguous" // several users match, or the only one has another account
	VerdictUnmatched Verdict = "unmatched" // no user matches
)

// FoundAccount is an account that an import has found.
type FoundAccount struct {
	ID       string
	UserName string
	Active   bool
	Verdict  Verdict
	// User is the owner, for VerdictLinked and VerdictMatched. Otherwise Candidates are the possible owners.
	User       string
	Candidates []string
	Resource   *scim.Resource
}

// AccountLink records that an account belongs to a user.
type AccountLink struct{ User, Account, UserName string }

// Rejection is an error that the API returns to its caller as a validation error.
type Rejection struct {
	Summary string
	Causes  []string
	Err     error // the cause; responses do not contain it
}

func (r *Rejection) Error() string { return r.Summary }

// Unwrap returns Err.
func (r *Rejection) Unwrap() error { return r.Err }

// rejected converts a Rejection to the error type of package rest.
func rejected(err error) error {
	if r, ok := errors.AsType[*Rejection](err); ok {
		return &rest.Error{Code: rest.CodeValidation, Summary: r.Summary, Causes: r.Causes, Err: r.Err}
	}
	return err
}

// importer adapts an Importer to package imports.
type importer struct{ Importer }

func (i importer) Import(ctx context.Context, app string, groups bool, s model.ImportSettings) (string, error) {
	r := ImportRequest{Kind: User, ByEmail: s.Match == model.ImportMatchEmail, Partial: s.Partial}
	if groups {
		r = ImportRequest{Kind: Group}
	}
	run, err := i.Importer.Import(ctx, app, r)
	return run, rejected(err)
}

func (i importer) State(ctx context.Context, app, run string) (imports.Run, error) {
	s, err := i.ImportState(ctx, app, run)
	switch {
	case err != nil:
		return imports.Run{}, rejected(err)
	case s.Running:
		return imports.Run{State: imports.Running}, nil
	case s.Failed:
		return imports.Run{State: imports.Failed, Error: s.Error}, nil
	default:
		return imports.Run{State: imports.Done}, nil
	}
}

func (i importer) Accounts(ctx context.Context, app, run string, q imports.Query) ([]imports.Account, error) {
	found, err := i.Importer.Accounts(ctx, app, run, AccountQuery{Verdict: Verdict(q.Verdict), Only: q.Only, After: q.After, Limit: q.Limit})
	all := make([]imports.Account, 0, len(found))
	for _, a := range found {
		all = append(all, imports.Account{
			ID: a.ID, Name: a.UserName, Active: a.Active, Verdict: imports.Verdict(a.Verdict), User: a.User, Candidates: a.Candidates,
			Resource: a.Resource,
		})
	}
	return all, rejected(err)
}

func (i importer) Link(ctx context.Context, tx *docstore.Tx, app, run string, links []imports.Link) error {
	all := make([]AccountLink, 0, len(links))
	for _, l := range links {
		all = append(all, AccountLink{User: l.User, Account: l.Account, UserName: l.Name})
	}
	return rejected(i.Importer.Link(ctx, tx.SQL().Execer(), app, run, all))
}
