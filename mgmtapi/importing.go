package mgmtapi

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
)

// ImportProgress is what the API has done with the accounts that an import of users has found.
type ImportProgress struct {
	Open bool // not all accounts are dealt with
	// Created, Updated, Waiting (for a consent), Inactive and Failed are numbers of accounts.
	Created, Updated, Waiting, Inactive, Failed int
	Errors                                      []string // the first ones
	Groups                                      bool     // the import reads groups, of which nothing is created
	Ended                                       time.Time
}

// ImportConsent says to which users accounts belong, and of which accounts users are created.
type ImportConsent struct {
	Links  []AccountLink
	Create []string // ids of accounts
}

// StartImport starts an import of the users or groups of an application, as a schedule does, and returns the id that the Importer has given
// it. It returns errors.ErrUnsupported without Options.Imports.
func (a *API) StartImport(ctx context.Context, app string, kind Kind) (run string, err error) {
	if a.inner.Importing() == nil {
		return "", errors.ErrUnsupported
	}
	return a.inner.Importing().Begin(ctx, app, kind == Group)
}

// ImportProgress returns the progress of an import, nil for one that was not started by the API.
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

// ConfirmImport does what the consent says, all or nothing, and returns the numbers of accounts that were linked and of users that were
// created. Without a consent it links what the import has matched.
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
