package mgmtapi

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
)

// ImportProgress counts the accounts of an import of users, by the result of their processing in the API.
type ImportProgress struct {
	Open bool // some accounts are not processed yet
	// Created, Updated, Waiting (for a consent), Inactive and Failed are numbers of accounts.
	Created, Updated, Waiting, Inactive, Failed int
	Errors                                      []string // the first errors
	Groups                                      bool     // the import reads groups: the API creates no groups from them
	Ended                                       time.Time
}

// ImportConsent is the decision of an administrator about accounts that an import has found: Links names the users that own accounts,
// Create the accounts for which the API creates users.
type ImportConsent struct {
	Links  []AccountLink
	Create []string // ids of accounts
}

// StartImport starts an import of the users or groups of an application, like a scheduled import, and returns the run id that the Importer
// assigned. It returns errors.ErrUnsupported without Options.Imports.
func (a *API) StartImport(ctx context.Context, app string, kind Kind) (run string, err error) {
	if a.inner.Importing() == nil {
		return "", errors.ErrUnsupported
	}
	if run, err = a.inner.Importing().Begin(ctx, app, kind == Group); err == nil {
		a.importer.wakeUp()
	}
	return run, err
}

// ImportProgress returns the progress of an import. It returns nil if the API did not start the import.
func (a *API) ImportProgress(ctx context.Context, app, run string) (*ImportProgress, error) {
	if a.inner.Importing() == nil {
		return nil, errors.ErrUnsupported
	}
	job, err := a.inner.Importing().Job(ctx, app, run)
	if err != nil || job == nil {
		return nil, err
	}
	return &ImportProgress{
		Open: job.Open, Created: job.Created, Updated: job.Updated, Waiting: job.Waiting, Inactive: job.Inactive, Failed: job.Failed,
		Errors: job.Errors, Groups: job.Groups, Ended: job.Ended,
	}, nil
}

// ConfirmImport applies the whole consent, or none of it if an error occurs, and returns the numbers of linked accounts and created users.
// If consent is nil, ConfirmImport links each account with VerdictMatched to the user that the import has matched.
func (a *API) ConfirmImport(ctx context.Context, app, run string, consent *ImportConsent) (linked, created int, err error) {
	if a.inner.Importing() == nil {
		return 0, 0, errors.ErrUnsupported
	}
	var c *imports.Confirmed
	if consent != nil {
		c = &imports.Confirmed{Create: consent.Create}
		for _, l := range consent.Links {
			c.Links = append(c.Links, imports.Link{User: l.User, Account: l.Account, Name: l.UserName})
		}
	}
	return a.inner.Importing().Confirm(ctx, app, run, c)
}
