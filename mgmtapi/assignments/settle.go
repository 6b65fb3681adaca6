package assignments

import (
	"context"
	"maps"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/audit"
	"github.com/scimwright/scimwright/mgmtapi/catalog"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// target is what governs all assignments of one application.
type target struct {
	id   string
	app  model.App
	conn *model.Connection // nil when there never was one
	// template is nil when every assignment brings its own user name.
	template *appprofile.Template
}

// target reads what governs the assignments of an application. It returns nil
// when there is no such application.
func (s *Slice) target(ctx context.Context, q docstore.Reader, app string) (*target, error) {
	doc, err := model.Optional(ctx, q, s.Apps, app)
	if err != nil || doc == nil {
		return nil, err
	}
	t := &target{id: app, app: doc.Value}
	conn, err := model.Optional(ctx, q, s.Connections, app)
	if err != nil {
		return nil, err
	}
	if conn != nil {
		t.conn = &conn.Value
	}
	if names := t.app.Credentials.UserNameTemplate; names.Type != model.TemplateNone {
		t.template, err = appprofile.CompileTemplate(names.Template, model.UserAttribute)
	}
	return t, err
}

// scim says whether app users have a profile: the integration provisions users
// by nature, or a connection was configured.
func (t *target) scim() bool {
	if t.conn != nil {
		return true
	}
	entry, ok := catalog.Named(t.app.Name)
	return ok && entry.SCIM
}

// derived is the profile that follows from the user and, for scope GROUP, from
// the assigned group.
func (t *target) derived(user *model.User, group *model.AppGroup) map[string]any {
	if !t.scim() {
		return map[string]any{}
	}
	profile := appprofile.Derive(user.Text)
	if group != nil {
		profile = appprofile.Overlay(profile, group.Profile)
	}
	return profile
}

// userName is what the template gives for a user, "" without a template.
func (t *target) userName(user *model.User) string {
	if t.template == nil || !t.app.Credentials.Scheme.AcceptsUserName() {
		return ""
	}
	name := t.template.Eval(user.Text)
	if name == "" {
		return ""
	}
	return name + t.app.Credentials.UserNameTemplate.Suffix
}

// assignable says whether a user can have assignments that come from groups.
func assignable(user *model.User) bool {
	return user.Status != model.UserStaged && user.Status != model.UserDeprovisioned
}

// effectiveGroup returns the assigned group that an assignment of scope GROUP
// comes from: of those that the user is in, the one with the lowest priority
// number. It returns nil when there is none or the user cannot have one yet.
func (s *Slice) effectiveGroup(ctx context.Context, q docstore.Reader, app string, user docstore.Doc[model.User]) (*model.AppGroup, error) {
	if !assignable(&user.Value) {
		return nil, nil
	}
	var ids []string
	err := model.Each(ctx, q, s.Memberships, docstore.Eq(model.MembershipByUser, user.ID), func(m docstore.Doc[model.Membership]) error {
		ids = append(ids, model.AppGroupID(app, m.Value.Group))
		return nil
	})
	if err != nil {
		return nil, err
	}
	assigned, err := s.AppGroups.GetMany(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	var best *model.AppGroup
	for i := range assigned {
		if g := &assigned[i].Value; best == nil || g.Priority < best.Priority {
			best = g
		}
	}
	return best, nil
}

// change is an app user on its way from what is stored to what will be.
type change struct {
	doc   *docstore.Doc[model.AppUser] // nil when there is no document yet
	value model.AppUser
}

// load reads the assignment of a user, tombstones too.
func (s *Slice) load(ctx context.Context, q docstore.Reader, app, user string) (change, error) {
	doc, err := model.Optional(ctx, q, s.AppUsers, model.AppUserID(app, user))
	if err != nil || doc == nil {
		return change{value: noAppUser(app, user)}, err
	}
	return change{doc: doc, value: doc.Value}, nil
}

// noAppUser is what stands for an assignment that is not there.
func noAppUser(app, user string) model.AppUser {
	return model.AppUser{AppID: app, UserID: user, Status: model.AppUserDeprovisioned}
}

// begin turns a tombstone, or nothing, into a new assignment. Only the id that
// the account had in the target is kept.
func (s *Slice) begin(t *target, user docstore.Doc[model.User], c *change) {
	c.value = model.AppUser{AppID: t.id, UserID: user.ID, Scope: model.ScopeUser, ExternalID: c.value.ExternalID, Status: c.value.Status}
	if t.conn.Creates() {
		c.value.Enter(model.AppUserStaged, s.Now())
		c.value.SyncState = model.SyncOutOfSync
		if user.Value.Status == model.UserStaged {
			c.value.SyncState = model.SyncDisabled
		}
		return
	}
	c.value.Enter(model.AppUserActive, s.Now())
	c.value.SyncState = model.SyncDisabled
}

// derive brings what follows from other documents up to date: profile, search
// texts, and the user name when it follows the template. A user name that
// exists is only replaced when rename is set.
func (t *target) derive(user docstore.Doc[model.User], group *model.AppGroup, rename bool, u *model.AppUser) {
	u.Group = ""
	if u.Scope == model.ScopeGroup {
		u.Group = group.GroupID
	} else {
		group = nil
	}
	u.Profile = appprofile.Overlay(t.derived(&user.Value, group), u.Overrides)
	if len(u.Profile) == 0 {
		u.Profile = nil
	}
	u.Search = []string{user.Value.Text("firstName"), user.Value.Text("lastName"), user.Value.Text("email")}
	if !u.UserNameGiven && (rename || u.UserName == "") {
		u.UserName = t.userName(&user.Value)
	}
	u.UniqueUserName = t.scim()
}

// renames says whether user names follow later changes of the user.
func (t *target) renames() bool {
	names := t.app.Credentials.UserNameTemplate
	return names.Type == model.TemplateCustom && names.PushStatus == model.Push
}

// nameTaken says whether another app user of the application has the user name
// where that is not allowed.
func (s *Slice) nameTaken(ctx context.Context, q docstore.Reader, u *model.AppUser) (bool, error) {
	if !u.UniqueUserName || u.UserName == "" {
		return false, nil
	}
	page, err := s.AppUsers.Query(ctx, q, docstore.Query[model.AppUser]{
		Where: docstore.Eq(model.AppUserByUserName, model.AppUserNameKey(u.AppID, u.UserName)), Limit: 1,
	})
	if err != nil {
		return false, err
	}
	return len(page.Docs) > 0 && page.Docs[0].Value.UserID != u.UserID, nil
}

// touch moves the sync state of an app user whose wanted state may have
// changed. What failed for good is tried again with it.
func (t *target) touch(u *model.AppUser) {
	if u.Status == model.AppUserStaged && u.SyncState == model.SyncError || u.Status == model.AppUserProvisioned && t.conn.Updates() {
		u.SyncState, u.ErrorSummary = model.SyncOutOfSync, ""
	}
}

// store writes the app user, tells the log and emits the event. The engine is
// concerned when it looked after the app user before or does so now.
func (s *Slice) store(
	ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User], c change,
) (doc docstore.Doc[model.AppUser], err error) {
	if err := audit.Write(ctx, tx, s.Deps, t.entries(user, c)...); err != nil {
		return doc, err
	}
	id := model.AppUserID(c.value.AppID, c.value.UserID)
	concerned := c.value.Provisioned()
	if c.doc != nil {
		concerned = concerned || c.doc.Value.Provisioned() || !c.doc.Value.Listed()
		if !c.doc.Value.Listed() && c.value.Listed() {
			// A new assignment in place of a tombstone has its own time of
			// creation and comes last in lists.
			if err := s.AppUsers.Delete(ctx, tx, id); err != nil {
				return doc, err
			}
			c.doc = nil
		}
	}
	if c.doc == nil {
		doc, err = s.AppUsers.Insert(ctx, tx, id, c.value)
	} else {
		doc, err = s.AppUsers.Update(ctx, tx, id, c.doc.Rev, c.value)
	}
	if err != nil {
		return doc, err
	}
	return doc, s.Feed.Emit(ctx, tx, model.AppUserChanged{
		App: c.value.AppID, User: c.value.UserID, Provision: concerned,
	})
}

// remove ends an assignment. What the target may know of becomes a tombstone,
// so that the engine can deactivate the account and a later assignment finds
// it again; everything else is deleted.
func (s *Slice) remove(
	ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User], doc docstore.Doc[model.AppUser],
) error {
	u := doc.Value
	if !u.Provisioned() && u.ExternalID == "" {
		if err := s.AppUsers.Delete(ctx, tx, doc.ID); err != nil {
			return err
		}
		if err := audit.Write(ctx, tx, s.Deps, t.entry(audit.AppUserRemove, user, &u)); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.AppUserChanged{App: u.AppID, User: u.UserID})
	}
	deactivate := u.Provisioned() && t.conn.Deactivates()
	u.Enter(model.AppUserDeprovisioned, s.Now())
	u.Scope, u.Group, u.Overrides, u.SealedPassword, u.ErrorSummary = model.ScopeUser, "", nil, "", ""
	u.SyncState = model.SyncDisabled
	if deactivate {
		u.SyncState = model.SyncOutOfSync
	}
	_, err := s.store(ctx, tx, t, user, change{doc: &doc, value: u})
	return err
}

// regroup brings the group-derived assignment of a user to what the groups of
// the application say. An assignment made for the user is not touched.
func (s *Slice) regroup(ctx context.Context, tx *docstore.Tx, t *target, userID string) error {
	c, err := s.load(ctx, tx, t.id, userID)
	if err != nil || c.value.Listed() && c.value.Scope == model.ScopeUser {
		return err
	}
	user, err := s.Users.Get(ctx, tx, userID)
	if err != nil {
		return err
	}
	group, err := s.effectiveGroup(ctx, tx, t.id, user)
	if err != nil {
		return err
	}
	return s.settle(ctx, tx, t, user, group, c)
}

// settle makes the assignment of a user, which is not one made for the user, one that comes from the group; it ends without a group.
func (s *Slice) settle(
	ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User], group *model.AppGroup, c change,
) error {
	if group == nil {
		if !c.value.Listed() {
			return nil
		}
		return s.remove(ctx, tx, t, user, *c.doc)
	}
	return s.followGroup(ctx, tx, t, user, group, c)
}

// followGroup makes the assignment of a user one that comes from the group.
func (s *Slice) followGroup(
	ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User], group *model.AppGroup, c change,
) error {
	begun := !c.value.Listed()
	if begun {
		s.begin(t, user, &c)
	}
	c.value.Scope = model.ScopeGroup
	before := c.value
	t.derive(user, group, false, &c.value)
	if !begun && !differs(&before, &c.value) && c.doc.Value.Scope == model.ScopeGroup {
		return nil
	}
	// Nobody waits for an answer about this user: a user name that cannot be
	// used becomes the error of the app user instead of refusing the change of
	// a group.
	t.touch(&c.value)
	problem, err := s.nameProblem(ctx, tx, t, &c.value)
	if err != nil {
		return err
	}
	if c.value.Blocked = problem != ""; c.value.Blocked {
		c.value.SyncState, c.value.ErrorSummary = model.SyncError, problem
	}
	_, err = s.store(ctx, tx, t, user, c)
	return err
}

// nameProblem says why an app user cannot be provisioned under its user name.
func (s *Slice) nameProblem(ctx context.Context, q docstore.Reader, t *target, u *model.AppUser) (string, error) {
	if u.UserName == "" {
		if t.app.Credentials.Scheme.AcceptsUserName() {
			return "The user name template gives no user name for this user", nil
		}
		return "", nil
	}
	taken, err := s.nameTaken(ctx, q, u)
	if taken {
		return "Another user of the application has the user name " + u.UserName, err
	}
	return "", err
}

// differs says whether two versions of an app user look different to the
// application or to callers.
func differs(a, b *model.AppUser) bool {
	return a.Group != b.Group || a.Scope != b.Scope || a.UserName != b.UserName || !maps.Equal(a.Profile, b.Profile)
}
