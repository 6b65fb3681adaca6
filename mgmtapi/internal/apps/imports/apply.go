package imports

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// apply performs steps in one transaction, which also moves the cursor of the job to the account of the last step. after is the previous
// cursor.
func (s *Service) apply(ctx context.Context, jobID, after string, a *importContext, steps []*step) error {
	return s.Deps.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := model.Optional(ctx, tx, s.ImportJobs, jobID)
		if err != nil || doc == nil {
			return err
		}
		job := doc.Value
		if !job.Open || job.After != after {
			return nil // another process performed the steps first
		}
		var links []Link
		for _, st := range steps {
			link, err := s.do(ctx, tx, a, &job, st)
			if err != nil {
				return err
			}
			if link != nil {
				links = append(links, *link)
			}
		}
		if err := s.link(ctx, tx, a, job.Run, links); err != nil {
			return err
		}
		job.After = steps[len(steps)-1].account.ID
		_, err = s.ImportJobs.Update(ctx, tx, jobID, doc.Rev, job)
		return err
	})
}

func (s *Service) link(ctx context.Context, tx *docstore.Tx, a *importContext, run string, links []Link) error {
	if len(links) == 0 {
		return nil
	}
	return s.o.Engine.Link(ctx, tx, a.app.ID, run, links)
}

// do performs a step and counts it. It returns the link to create, or nil.
func (s *Service) do(ctx context.Context, tx *docstore.Tx, a *importContext, job *model.ImportJob, st *step) (*Link, error) {
	if st.note != "" {
		job.Note(st.label() + st.note)
	}
	switch {
	case st.problem != "":
		problem := st.label() + st.problem
		job.Fail(problem)
		return nil, audit.Write(ctx, tx, s.Deps, audit.Entry{
			Type: audit.AppUserImport, Targets: []model.LogParty{audit.App(a.app.ID, &a.app.Value)}, Failure: problem,
		})
	case st.inactive:
		job.Inactive++
		return nil, nil
	case st.nothing:
		if st.known {
			job.Matched++
		}
		return nil, nil
	case !st.confirmed || st.action == model.ImportLink && st.user == "":
		job.Waiting++
		return nil, s.storeDecision(ctx, tx, a, st)
	}
	return s.carryOut(ctx, tx, a, job, st)
}

// carryOut creates or updates the user of an account and assigns the account to the user.
func (s *Service) carryOut(ctx context.Context, tx *docstore.Tx, a *importContext, job *model.ImportJob, st *step) (*Link, error) {
	id := st.user
	if st.action == model.ImportCreate {
		user, err := s.o.Create(ctx, tx, withoutEmpty(st.profile), a.settings.Activate)
		if err != nil {
			return nil, err
		}
		id = user.ID
		job.Created++
	} else {
		user, err := s.Users.Get(ctx, tx, id)
		if err != nil {
			return nil, rest.Missing(err, "User", id)
		}
		if user.Value.Status == model.UserDeprovisioned {
			return nil, rest.Fail(rest.CodeInactiveUser)
		}
		profile, err := s.withoutIdentity(ctx, tx, job, user, st)
		if err != nil {
			return nil, err
		}
		if changed, err := s.o.Update(ctx, tx, user, profile); err != nil {
			return nil, err
		} else if changed {
			job.Updated++
			entry := audit.Entry{Type: audit.ProfileImport, Targets: []model.LogParty{audit.App(a.app.ID, &a.app.Value), audit.User(user)}}
			if err := audit.Write(ctx, tx, s.Deps, entry); err != nil {
				return nil, err
			}
		}
		job.Matched++
	}
	name, _ := st.app[model.AppUserName].(string)
	profile := withoutEmpty(st.app)
	delete(profile, model.AppUserName)
	taken := TakenOver{ID: st.account.ID, UserName: name, Profile: profile, Shown: st.shown}
	if err := s.o.TakeOver(ctx, tx, a.app.ID, id, taken); err != nil {
		return nil, err
	}
	if st.known {
		return nil, nil
	}
	return &Link{User: id, Account: st.account.ID, Name: st.account.Name}, nil
}

// identity lists the attributes that identify a user at sign-in, and the addresses for codes and new passwords.
var identity = []string{"login", "email", "secondEmail", "mobilePhone"}

// withoutIdentity returns the profile changes of a step without identity attributes if the user has an administrator role, and notes this
// in the job. Otherwise a client that controls the target, or an inline hook, could take over an administrator.
func (s *Service) withoutIdentity(
	ctx context.Context, tx *docstore.Tx, job *model.ImportJob, user docstore.Doc[model.User], st *step,
) (map[string]any, error) {
	var kept []string
	for _, name := range identity {
		value, named := st.profile[name]
		if named && !reflect.DeepEqual(value, user.Value.Profile[name]) {
			kept = append(kept, name)
		}
	}
	if len(kept) == 0 {
		return st.profile, nil
	}
	administers, err := authz.Administers(ctx, tx, s.Deps, user.ID)
	if err != nil || !administers {
		return st.profile, err
	}
	job.Note(st.label() + "The user " + user.ID + " has a role; an import does not change " + strings.Join(kept, ", "))
	profile := maps.Clone(st.profile)
	maps.DeleteFunc(profile, func(name string, _ any) bool { return slices.Contains(kept, name) })
	return profile, nil
}

// withoutEmpty omits the attributes without a value.
func withoutEmpty(profile map[string]any) map[string]any {
	out := make(map[string]any, len(profile))
	for name, value := range profile {
		if !model.NoValue(value) {
			out[name] = value
		}
	}
	return out
}

// storeDecision stores the decision of a hook about an account that waits for consent.
func (s *Service) storeDecision(ctx context.Context, tx *docstore.Tx, a *importContext, st *step) error {
	if !st.hooked {
		return nil
	}
	_, err := s.ImportDecisions.Insert(ctx, tx, docstore.JoinID(a.app.ID, st.account.ID), model.ImportDecision{
		App: a.app.ID, Action: st.action, User: st.user, AppProfile: st.app, UserProfile: st.profile,
	})
	return err
}
