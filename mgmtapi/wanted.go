package mgmtapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
)

// Wanted has the methods that a provisioning engine calls: they deliver changes, return the desired state at the time of the call, and
// store results. Reading modifies no data, and storing a result causes no Change.
type Wanted struct {
	deps  model.Deps
	state *desired.State
}

// Changes reads up to `most` events, the oldest first, and passes their changes to fn in one transaction that also removes the events. It
// returns the number of events. If fn returns an error, the changes remain. The writes of fn in tx are therefore committed exactly once; fn
// may run again in another transaction. Only one such transaction runs at a time on a database: concurrent calls wait. If none of the
// events concerns provisioning, fn receives no changes.
func (w *Wanted) Changes(ctx context.Context, most int, fn func(ctx context.Context, tx Tx, changes []Change) error) (int, error) {
	n, err := w.deps.Store.Relay(ctx, most, func(tx *docstore.Tx, events []docstore.Event) error {
		changes, err := changesOf(events)
		if err != nil {
			return err
		}
		return fn(ctx, tx.SQL().Execer(), changes)
	})
	if err != nil {
		return 0, fmt.Errorf("mgmtapi: changes: %w", err)
	}
	return n, nil
}

// changesOf returns the changes among the events that concern provisioning.
func changesOf(events []docstore.Event) (all []Change, err error) {
	for _, e := range events {
		switch e.Topic {
		case model.EventAppUserChanged:
			var c model.AppUserChanged
			err = decode(e, &c)
			if c.Provision {
				all = append(all, Change{Principal: Principal{App: c.App, Kind: User, ID: c.User}})
			}
		case model.EventPushMappingChanged:
			var c model.PushMappingChanged
			err = decode(e, &c)
			all = append(all, Change{Principal: Principal{App: c.App, Kind: Group, ID: c.Group}, Members: c.Members, AllMembers: c.AllMembers})
		case model.EventAppChanged:
			var c model.AppChanged
			err = decode(e, &c)
			all = append(all, Change{Principal: Principal{App: c.App}, Ended: c.Ended, Deleted: c.Deleted})
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func decode(e docstore.Event, into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return fmt.Errorf("event %d %s: %w", e.Seq, e.Topic, err)
	}
	return nil
}

// Waiting returns the number of events that Changes has not removed yet.
func (w *Wanted) Waiting(ctx context.Context) (int, error) { return w.deps.Store.Waiting(ctx) }

// Notify calls fn after each commit of this API that may have added events for Changes, in the goroutine of the commit. It does not report
// commits of other processes, so callers of Changes also need to poll.
func (w *Wanted) Notify(fn func()) { w.deps.Store.OnEmit(fn) }

// Target returns the target of an application, or ErrNoTarget.
func (w *Wanted) Target(ctx context.Context, app string) (Target, error) {
	t, err := w.state.Target(ctx, app)
	if errors.Is(err, desired.ErrUnknownApp) {
		return Target{}, ErrNoTarget
	}
	if err != nil {
		return Target{}, err
	}
	return Target{
		BaseURL: t.BaseURL, Credentials: credentials(t.Header, t.Token, t.OAuth), UserNameAttribute: t.UserNameAttribute,
		Style: UpdateStyle(t.Style), Fallback: Fallback(t.Fallback), CreateUsers: t.CreateUsers, UpdateUsers: t.UpdateUsers,
		DeactivateUsers: t.DeactivateUsers, PushGroups: t.PushGroups, SyncPasswords: t.SyncPasswords, Paused: t.Paused,
	}, nil
}

// User returns the desired state of a user in the target of an application.
func (w *Wanted) User(ctx context.Context, app, user string) (UserState, error) {
	u, err := w.state.User(ctx, app, user)
	return UserState{
		Want: Want(u.Want), UserName: u.UserName, Resource: u.Resource, RemoteID: u.RemoteID, Activating: u.Activating,
		Password: u.Password, PasswordVersion: u.PasswordVersion,
	}, err
}

// Group returns the desired state of a group in the target of an application.
func (w *Wanted) Group(ctx context.Context, app, group string) (GroupState, error) {
	g, err := w.state.Group(ctx, app, group)
	return GroupState{Want: Want(g.Want), DisplayName: g.DisplayName, RemoteID: g.RemoteID, DeleteRemote: g.DeleteRemote}, err
}

// Members returns the ids of up to limit members of a pushed group, in ascending order, after the given id. A page with fewer than limit
// ids is the last one. Members are the users of the group that are in the target or are to be created there.
func (w *Wanted) Members(ctx context.Context, app, group, after string, limit int) ([]string, error) {
	return w.state.Members(ctx, app, group, after, limit)
}

// IsMember reports which of the users are members of a pushed group.
func (w *Wanted) IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error) {
	return w.state.IsMember(ctx, app, group, users)
}

// Report stores the result of an attempt. It ignores a result for a principal that is no longer assigned or pushed.
func (w *Wanted) Report(ctx context.Context, r Result) error {
	report := w.state.ReportUser
	if r.Kind == Group {
		report = w.state.ReportGroup
	}
	steps := make([]desired.Step, len(r.Steps))
	for i, s := range r.Steps {
		steps[i] = desired.Step(s)
	}
	return report(ctx, r.App, r.ID, desired.Result{
		Want: desired.Want(r.Want), Outcome: desired.Outcome(r.Outcome), RemoteID: r.RemoteID, More: r.More, Error: r.Error,
		Operation: desired.Operation(r.Operation), Confirmed: desired.Operation(r.Confirmed), Lapsed: r.Lapsed, Steps: steps,
		PasswordVersion: r.PasswordVersion,
	})
}

// Accounts returns the accounts of principals as the API shows them. It omits principals that are not assigned or pushed.
func (w *Wanted) Accounts(ctx context.Context, principals []Principal) (map[Principal]Account, error) {
	var users []string
	var groups []any
	for _, p := range principals {
		if p.Kind == User {
			users = append(users, model.AppUserID(p.App, p.ID))
		} else {
			groups = append(groups, docstore.JoinID(p.App, p.ID))
		}
	}
	found := map[Principal]Account{}
	assigned, err := w.deps.AppUsers.GetMany(ctx, w.deps.Store.Reader(), users)
	if err != nil {
		return nil, err
	}
	for i := range assigned {
		a := accountOf(&assigned[i].Value)
		found[a.Principal] = a
	}
	if len(groups) == 0 {
		return found, nil
	}
	where := docstore.In(model.PushMappingByPair, groups...)
	err = model.Each(ctx, w.deps.Store.Reader(), w.deps.PushMappings, where, func(d docstore.Doc[model.PushMapping]) error {
		m := &d.Value
		p := Principal{App: m.AppID, Kind: Group, ID: m.SourceGroupID}
		found[p] = Account{Principal: p, RemoteID: m.RemoteID, Waiting: m.Deleted, Failed: m.ErrorSummary != ""}
		return nil
	})
	return found, err
}

func accountOf(u *model.AppUser) Account {
	return Account{
		Principal: Principal{App: u.AppID, Kind: User, ID: u.UserID}, RemoteID: u.ExternalID,
		Waiting: u.SyncState == model.SyncOutOfSync || u.SyncState == model.SyncSyncing, Failed: u.SyncState == model.SyncError,
	}
}

// Principals returns up to limit ids, in ascending order, after the given id. For the kind User, these are the users that are or were
// assigned to an application, for Group the groups that are or were pushed to it. A page with fewer than limit ids is the last one.
func (w *Wanted) Principals(ctx context.Context, app string, kind Kind, after string, limit int) ([]string, error) {
	if kind == Group {
		return w.state.PushedGroups(ctx, app, after, limit)
	}
	return w.state.AssignedUsers(ctx, app, after, limit)
}

// Assigned reports whether a user is assigned to an application, or a group is pushed to it.
func (w *Wanted) Assigned(ctx context.Context, p Principal) (bool, error) {
	if p.Kind == Group {
		return w.state.Pushed(ctx, p.App, p.ID)
	}
	return w.state.Assigned(ctx, p.App, p.ID)
}

// Explain returns the reasons why a principal is or is not in the target of an application, and the origin of its attributes.
func (w *Wanted) Explain(ctx context.Context, p Principal) (Explanation, error) {
	explain := w.state.ExplainUser
	if p.Kind == Group {
		explain = w.state.ExplainGroup
	}
	reasons, values, err := explain(ctx, p.App, p.ID)
	x := Explanation{Reasons: reasons}
	for _, v := range values {
		x.Values = append(x.Values, Value(v))
	}
	return x, err
}

// UserOwners returns, for each of the accounts of an application's target, the users that the account may belong to, whether or not they
// are assigned to the application.
func (w *Wanted) UserOwners(ctx context.Context, app string, accounts []*scim.Resource) ([][]Owner, error) {
	found, err := w.state.UserOwners(ctx, app, accounts)
	all := make([][]Owner, len(found))
	for i := range found {
		all[i] = owners(found[i])
	}
	return all, err
}

// GroupOwners returns the groups that are pushed to an application.
func (w *Wanted) GroupOwners(ctx context.Context, app string) ([]Owner, error) {
	found, err := w.state.GroupOwners(ctx, app)
	return owners(found), err
}

func owners(found []desired.Owner) []Owner {
	all := make([]Owner, len(found))
	for i, o := range found {
		all[i] = Owner(o)
	}
	return all
}

// Unprovisioned returns the numbers of assigned users that get no account, by reason, the most frequent reason first. It does not count
// users whose provisioning is pending, is being retried or has failed.
func (w *Wanted) Unprovisioned(ctx context.Context, app string) ([]Unprovisioned, error) {
	found, err := w.state.Unprovisioned(ctx, app)
	var all []Unprovisioned
	for _, u := range found {
		all = append(all, Unprovisioned(u))
	}
	return all, err
}

// Apps calls fn with each application, in order of creation.
func (w *Wanted) Apps(ctx context.Context, fn func(App) error) error {
	return model.Each(ctx, w.deps.Store.Reader(), w.deps.Apps, nil, func(doc docstore.Doc[model.App]) error {
		app, err := w.app(ctx, doc)
		if err != nil {
			return err
		}
		return fn(app)
	})
}

// App returns an application, or ErrNotFound.
func (w *Wanted) App(ctx context.Context, id string) (App, error) {
	doc, err := w.deps.Apps.Get(ctx, w.deps.Store.Reader(), id)
	if errors.Is(err, docstore.ErrNotFound) {
		return App{}, ErrNotFound
	}
	if err != nil {
		return App{}, err
	}
	return w.app(ctx, doc)
}

func (w *Wanted) app(ctx context.Context, doc docstore.Doc[model.App]) (App, error) {
	a := &doc.Value
	c, err := model.Optional(ctx, w.deps.Store.Reader(), w.deps.Connections, doc.ID)
	if err != nil {
		return App{}, err
	}
	connection := &model.Connection{}
	if c != nil {
		connection = &c.Value
	}
	return App{
		ID: doc.ID, Label: a.Label, Name: a.Name, Status: AppStatus(a.Status), Connected: connection.Enabled, BaseURL: connection.BaseURL,
		Style: UpdateStyle(connection.Style(a)), Fallback: Fallback(connection.FallsBack()),
	}, nil
}

// Names returns the logins of existing users, or the names of existing groups, by id.
func (w *Wanted) Names(ctx context.Context, kind Kind, ids []string) (map[string]string, error) {
	names := map[string]string{}
	if kind == Group {
		return names, model.EachOf(ctx, w.deps.Store.Reader(), w.deps.Groups, ids,
			func(group *docstore.Doc[model.Group]) { names[group.ID] = group.Value.Name() })
	}
	return names, model.EachOf(ctx, w.deps.Store.Reader(), w.deps.Users, ids,
		func(user *docstore.Doc[model.User]) { names[user.ID] = user.Value.Login() })
}

// Count returns the number of users or groups.
func (w *Wanted) Count(ctx context.Context, kind Kind) (int, error) {
	if kind == Group {
		return w.deps.Groups.Count(ctx, w.deps.Store.Reader(), nil)
	}
	return w.deps.Users.Count(ctx, w.deps.Store.Reader(), nil)
}

// Unfinished returns the amount of work that is not yet handed over to a provisioning engine.
func (w *Wanted) Unfinished(ctx context.Context) (u Unfinished, err error) {
	q := w.deps.Store.Reader()
	org, err := w.deps.Org(ctx, q)
	if err != nil {
		return u, err
	}
	u.Held = org.HoldWork
	// Finished work of one kind can add work of the next: requests add events, for example. The order of the counts is the same, so that work
	// that proceeds between two counts is counted twice rather than not at all.
	transitions, err := w.deps.Transitions.Count(ctx, q, nil)
	if err != nil {
		return u, err
	}
	followings, err := w.deps.Followings.Count(ctx, q, nil)
	if err != nil {
		return u, err
	}
	scheduled, err := w.deps.DueImports.Count(ctx, q, docstore.Le(model.DueImportByDue, w.deps.Now()))
	if err != nil {
		return u, err
	}
	running, err := w.deps.ImportJobs.Count(ctx, q, docstore.NotNull(model.ImportJobByOpen))
	if err != nil {
		return u, err
	}
	u.Requests, u.Imports = transitions+followings, running+scheduled
	u.Events, err = w.Waiting(ctx)
	return u, err
}
