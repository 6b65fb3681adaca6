package reconcile

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/drift"
	"github.com/scimwright/scimwright/engine/internal/listing"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/trace"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/scim"
)

// Store has the methods of package store that a comparison uses.
type Store interface {
	States(ctx context.Context, q engine.StateQuery) ([]engine.State, error)
	StatesByID(ctx context.Context, app string, kind engine.Kind, ids []string) ([]engine.State, error)
	StatesByRemoteID(ctx context.Context, app string, kind engine.Kind, remoteIDs []string) ([]engine.State, error)
	Repair(ctx context.Context, now time.Time, repairs []store.Repair) error
}

// Deps are the dependencies of comparisons; all fields are required.
type Deps struct {
	Store     Store
	Directory engine.Directory
	Lists     listing.Deps
	Now       func() time.Time
	Wake      func(apps ...string) // wakes the lanes, after principals were marked
}

// Drift compares the target of an app with the desired state of the directory; see provision.Drift.Compare.
func (d Deps) Drift(ctx context.Context, app string, r engine.DriftRequest) (engine.DriftReport, error) {
	if r.Kind == "" {
		r.Kind = engine.User
	}
	if listing.Endpoints[r.Kind] == "" {
		return engine.DriftReport{}, fmt.Errorf("engine: compare %s: unknown kind %q", app, r.Kind)
	}
	c := &comparison{Deps: d, app: app, request: r, external: map[string]string{}}
	c.report = engine.DriftReport{App: app, Kind: r.Kind, Found: map[engine.DriftKind]int{}}
	if err := c.run(ctx); err != nil {
		return c.report, fmt.Errorf("engine: compare %s: %w", app, err)
	}
	return c.report, nil
}

// comparison is one comparison.
type comparison struct {
	Deps
	app     string
	request engine.DriftRequest
	report  engine.DriftReport
	reader  *listing.Reader
	pages   *plan.Pages
	traits  engine.Traits

	began    time.Time
	external map[string]string // the id of the first listed account with each externalId
	repairs  []store.Repair
}

func (d *comparison) run(ctx context.Context) (err error) {
	if d.reader, err = d.Lists.Open(ctx, d.app); err != nil {
		return err
	}
	if d.request.Kind == engine.Group && !d.reader.Target.PushGroups {
		return fmt.Errorf("group push is disabled for this target")
	}
	learned, err := d.reader.Recall(ctx)
	if err != nil {
		return err
	}
	d.traits = learned.TraitsAt(d.Now())
	d.began = d.Now()
	if err := d.listed(ctx); err != nil {
		return err
	}
	if err := d.unlisted(ctx); err != nil {
		return err
	}
	if err := d.repair(ctx, d.app, d.repairs); err != nil {
		return err
	}
	d.report.Marked = len(d.repairs)
	return nil
}

// listed compares each object that the target lists with the desired state of its principal.
func (d *comparison) listed(ctx context.Context) error {
	d.pages = plan.NewPages(listing.Endpoints[d.request.Kind])
	d.pages.Max = engine.MaxListed
	for last := false; !last; {
		var page []*scim.Resource
		var err error
		asked := d.Now()
		if page, last, err = d.reader.Page(ctx, d.pages); err != nil {
			return err
		}
		d.report.Listed = d.pages.Listed
		ids := make([]string, len(page))
		for i, r := range page {
			ids[i] = r.ID()
		}
		states, err := d.Store.StatesByRemoteID(ctx, d.app, d.request.Kind, ids)
		if err != nil {
			return err
		}
		owners := map[string]engine.State{}
		for _, s := range states {
			owners[s.RemoteID] = s
		}
		for _, r := range page {
			owner, owned := owners[r.ID()]
			if err := d.shared(r, owner.ID); err != nil {
				return err
			}
			if !owned {
				err = d.found(engine.Finding{
					What: engine.DriftUnmanaged, RemoteID: r.ID(), RemoteName: drift.ObjectOf(r).UserName, ExternalID: r.ExternalID(),
				})
			} else {
				d.report.Compared++
				err = d.compare(ctx, owner, r, asked)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// shared reports a finding if an earlier account has the same externalId.
func (d *comparison) shared(r *scim.Resource, owner string) error {
	external := r.ExternalID()
	if external == "" {
		return nil
	}
	first, again := d.external[external]
	if !again {
		d.external[strings.Clone(external)] = strings.Clone(r.ID()) // clones, so that the page can be freed
		return nil
	}
	return d.found(engine.Finding{
		What: engine.DriftDuplicate, Principal: owner, RemoteID: r.ID(), RemoteName: drift.ObjectOf(r).UserName, ExternalID: external,
		Other: first,
	})
}

// compare compares an account or group with the desired state of its principal.
func (d *comparison) compare(ctx context.Context, s engine.State, have *scim.Resource, asked time.Time) error {
	var found []engine.Finding
	var err error
	if s.Kind == engine.User {
		found, err = d.user(ctx, s, have)
	} else {
		found, err = d.group(ctx, s, have)
	}
	if err != nil {
		return err
	}
	return d.differs(ctx, s, found, asked, drift.ObjectOf(have).UserName)
}

func (d *comparison) user(ctx context.Context, s engine.State, have *scim.Resource) ([]engine.Finding, error) {
	want, err := d.Directory.User(ctx, d.app, s.ID)
	if err != nil {
		return nil, directory.Unavailable(principal.Of(s), err)
	}
	t := d.reader.Target
	return drift.User(drift.UserWant{
		Want: want.Want, Resource: want.Resource, IgnoredAttributes: s.IgnoredAttributes, Update: t.UpdateUsers, Deactivate: t.DeactivateUsers,
	}, have), nil
}

func (d *comparison) group(ctx context.Context, s engine.State, have *scim.Resource) (found []engine.Finding, err error) {
	want, err := d.Directory.Group(ctx, d.app, s.ID)
	switch {
	case err != nil:
		return nil, directory.Unavailable(principal.Of(s), err)
	case want.Want == engine.Absent && want.DeleteRemote:
		return []engine.Finding{{What: engine.DriftActivity, Note: "the group should be deleted"}}, nil
	case want.Want != engine.Active:
		return nil, nil
	}
	if name := have.Text("displayName"); name != want.DisplayName {
		values := []engine.Mismatch{{Path: "displayName", Have: name, Want: want.DisplayName}}
		found = append(found, engine.Finding{What: engine.DriftDiffers, Values: values})
	}
	members, told := drift.MemberIDs(have)
	switch {
	case d.traits[engine.MembersHidden]:
		d.report.Hidden++
		return found, nil
	case !told:
		answer := d.reader.Get(ctx, plan.Request{Method: http.MethodGet, Path: plan.GroupsEndpoint + "/" + url.PathEscape(s.RemoteID)})
		if answer.Err == nil && answer.Status == http.StatusNotFound && answer.Page == "" {
			return []engine.Finding{{What: engine.DriftMissing, Note: "deleted after it was listed"}}, nil
		}
		if answer.Err != nil || answer.Status != http.StatusOK || answer.Body == nil {
			return nil, fmt.Errorf("the members of the group %s cannot be read: status %d, %s", s.ID, answer.Status, d.reason(answer))
		}
		members, _ = drift.MemberIDs(&scim.Resource{Object: *answer.Body})
	}
	accounts, err := d.members(ctx, s)
	if err != nil {
		return nil, err
	}
	if f, differ := drift.CompareMembers(accounts, members); differ {
		found = append(found, f)
	}
	return found, nil
}

// reason returns the reason in a response of the target.
func (d *comparison) reason(r plan.Response) string {
	switch {
	case r.Err != nil:
		return d.reader.Redact(r.Err.Error())
	case r.Body == nil:
		return "no body"
	default:
		return d.reader.Redact(r.Body.Text("detail"))
	}
}

// members returns the ids of the accounts of a group's members.
func (d *comparison) members(ctx context.Context, s engine.State) (accounts []string, err error) {
	for page, err := range directory.Members(ctx, d.Directory, d.app, s.ID) {
		if err != nil {
			return nil, directory.Unavailable(principal.Of(s), err)
		}
		states, err := d.Store.StatesByID(ctx, d.app, engine.User, page)
		if err != nil {
			return nil, err
		}
		for _, m := range states {
			if m.RemoteID != "" {
				accounts = append(accounts, m.RemoteID)
			}
		}
	}
	return accounts, nil
}

// unlisted finds principals that should have an account and have none.
func (d *comparison) unlisted(ctx context.Context) error {
	q := engine.StateQuery{App: d.app, Kind: d.request.Kind, Limit: directory.Page}
	for {
		states, err := d.Store.States(ctx, q)
		if err != nil {
			return err
		}
		for _, s := range states {
			d.report.Known++
			if s.RemoteID != "" && d.pages.Seen(s.RemoteID) {
				continue
			}
			missing, err := d.missing(ctx, s)
			if err != nil {
				return err
			}
			if err := d.differs(ctx, s, missing, d.began, s.RemoteName); err != nil {
				return err
			}
		}
		if len(states) < q.Limit {
			return nil
		}
		q.After = &states[len(states)-1]
	}
}

func (d *comparison) missing(ctx context.Context, s engine.State) ([]engine.Finding, error) {
	var want engine.Want
	var err error
	if s.Kind == engine.User {
		var u engine.UserState
		u, err = d.Directory.User(ctx, d.app, s.ID)
		want = u.Want
	} else {
		var g engine.GroupState
		g, err = d.Directory.Group(ctx, d.app, s.ID)
		want = g.Want
	}
	switch t := d.reader.Target; {
	case err != nil:
		return nil, directory.Unavailable(principal.Of(s), err)
	case want != engine.Active, s.Kind == engine.User && !t.CreateUsers:
		return nil, nil
	default:
		return []engine.Finding{{What: engine.DriftMissing, Note: s.LastError}}, nil
	}
}

// differs reports the findings about a principal, unless it is being processed.
func (d *comparison) differs(ctx context.Context, s engine.State, found []engine.Finding, asked time.Time, name string) error {
	if len(found) == 0 {
		return nil
	}
	now, err := principal.State(ctx, d.Store, d.app, s.Kind, s.ID)
	if err != nil {
		return err
	}
	if !now.NextAt.IsZero() || !now.UpdatedAt.Before(asked.Truncate(time.Millisecond)) || now.RemoteID != s.RemoteID {
		d.report.Busy++
		return nil
	}
	repair := store.Repair{Mark: engine.Mark{App: d.app, Kind: s.Kind, ID: s.ID, Retry: true, AllMembers: s.Kind == engine.Group}}
	repairable := false
	for _, f := range found {
		f.Principal, f.RemoteID, f.RemoteName = s.ID, s.RemoteID, name
		repairable = repairable || f.What.Repairable()
		if s.Kind == engine.Group && f.What != engine.DriftMissing {
			repair.RemoteName = name
		}
		if err := d.found(f); err != nil {
			return err
		}
	}
	if repairable && d.request.Repair {
		d.repairs = append(d.repairs, repair)
	}
	return nil
}

// found counts a finding and passes it to the caller, without the values of secrets.
func (d *comparison) found(f engine.Finding) error {
	d.report.Found[f.What]++
	if d.request.Each == nil {
		return nil
	}
	for i := range f.Values {
		v := &f.Values[i]
		v.Have, v.Want = trace.WithoutSecrets(v.Path, v.Have), trace.WithoutSecrets(v.Path, v.Want)
	}
	return d.request.Each(f)
}
