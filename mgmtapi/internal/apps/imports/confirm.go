package imports

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Confirmed is a consent: the users to link accounts to, and the accounts to create users from.
type Confirmed struct {
	Links  []Link
	Create []string
}

// Confirm applies a consent, all or nothing, and returns the number of accounts linked to existing users and the number of users created.
// If c is nil, it links the accounts that the import matched to a user.
func (s *Service) Confirm(ctx context.Context, app, run string, c *Confirmed) (linked, created int, err error) {
	job, err := s.Job(ctx, app, run)
	switch {
	case err != nil:
		return 0, 0, err
	case job == nil:
		return 0, 0, rest.NotFound("Import", run)
	case job.Open:
		return 0, 0, rest.Failf(rest.CodeMoved, "The import is running.")
	}
	a, err := s.loadContext(ctx, s.Store.Reader(), app)
	if err != nil || a == nil {
		return 0, 0, err
	}
	if c != nil {
		steps, err := s.confirmedSteps(ctx, a, run, c)
		if err != nil {
			return 0, 0, err
		}
		return s.confirm(ctx, a, run, steps)
	}
	for after := ""; ; {
		accounts, err := s.o.Engine.Accounts(ctx, app, run, Query{Verdict: Matched, After: after, Limit: batch})
		if err != nil || len(accounts) == 0 {
			return linked, created, err
		}
		var links []Link
		for _, account := range accounts {
			links, after = append(links, Link{User: account.User, Account: account.ID, Name: account.Name}), account.ID
		}
		steps, err := s.confirmedSteps(ctx, a, run, &Confirmed{Links: links})
		if err != nil {
			return linked, created, err
		}
		n, m, err := s.confirm(ctx, a, run, steps)
		linked, created = linked+n, created+m
		if err != nil {
			return linked, created, err
		}
	}
}

// confirmedSteps returns the steps of a consent.
func (s *Service) confirmedSteps(ctx context.Context, a *importContext, run string, c *Confirmed) ([]*step, error) {
	user, ids := map[string]string{}, []string{}
	for _, l := range c.Links {
		user[l.Account], ids = l.User, append(ids, l.Account)
	}
	ids = append(ids, c.Create...)
	var steps []*step
	for len(ids) > 0 {
		part := ids[:min(len(ids), batch)]
		ids = ids[len(part):]
		found, err := s.o.Engine.Accounts(ctx, a.app.ID, run, Query{Only: part, Limit: len(part)})
		if err != nil {
			return nil, err
		}
		accounts := map[string]Account{}
		for _, account := range found {
			accounts[account.ID] = account
		}
		for _, id := range part {
			account, ok := accounts[id]
			if !ok || account.Resource == nil {
				return nil, rest.Failf(rest.CodeMoved, "The import has not found the account %s.", id)
			}
			st, err := s.confirmedStep(ctx, a, account, user[id])
			if err != nil {
				return nil, err
			}
			steps = append(steps, st)
		}
	}
	return steps, nil
}

// confirmedStep returns the step that links an account to the user, or that creates a user from it if user is empty.
func (s *Service) confirmedStep(ctx context.Context, a *importContext, account Account, user string) (*step, error) {
	st := &step{account: account, user: user, action: model.ImportLink, confirmed: true}
	if user == "" {
		st.action = model.ImportCreate
	}
	st.shown = desired.AccountProfile(account.Resource, &a.schema)
	st.app = st.shown
	decision, err := model.Optional(ctx, s.Store.Reader(), s.ImportDecisions, docstore.JoinID(a.app.ID, account.ID))
	if err != nil {
		return nil, err
	}
	if decision != nil && decision.Value.Action == st.action && (st.user == decision.Value.User || st.action == model.ImportCreate) {
		st.app, st.profile = decision.Value.AppProfile, decision.Value.UserProfile
		return st, nil
	}
	err = s.derive(ctx, a, st)
	if err == nil && st.problem != "" {
		err = rest.NotFound("User", user)
	}
	return st, err
}

func (s *Service) confirm(ctx context.Context, a *importContext, run string, steps []*step) (linked, created int, err error) {
	err = s.Deps.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.ImportJobs.Get(ctx, tx, model.ImportJobID(a.app.ID, run))
		if err != nil {
			return rest.Missing(err, "Import", run)
		}
		job := doc.Value
		var links []Link
		for _, st := range steps {
			link, err := s.carryOut(ctx, tx, a, &job, st)
			if err != nil {
				return err
			}
			links = append(links, *link)
		}
		linked, created = job.Matched-doc.Value.Matched, job.Created-doc.Value.Created
		job.Waiting = max(0, job.Waiting-len(links))
		if err := s.link(ctx, tx, a, run, links); err != nil {
			return err
		}
		_, err = s.ImportJobs.Update(ctx, tx, doc.ID, doc.Rev, job)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	return linked, created, nil
}
