package assignments

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// target holds the documents that apply to all assignments of one application.
type target struct {
	id     string
	app    model.App
	conn   *model.Connection // nil if a connection was never configured
	org    string
	schema model.AppSchema
	// stored holds the profile mappings from users to the application, as stored, by user type. mappings holds the same mappings compiled;
	// each is compiled at its first use.
	stored   map[string]*model.Mapping
	mappings map[string]*appprofile.Mapping
	programs *appprofile.Programs
	// removed lists attributes whose removal from stored assignments is pending.
	removed []string
}

// target reads the target of an application. It returns nil if the application does not exist.
func (s *Slice) target(ctx context.Context, q docstore.Reader, app string) (*target, error) {
	doc, err := model.Optional(ctx, q, s.Apps, app)
	if err != nil || doc == nil {
		return nil, err
	}
	t := &target{id: app, app: doc.Value, programs: &s.programs, stored: map[string]*model.Mapping{},
		mappings: map[string]*appprofile.Mapping{}}
	conn, err := model.Optional(ctx, q, s.Connections, app)
	if err != nil {
		return nil, err
	}
	if conn != nil {
		t.conn = &conn.Value
	}
	org, err := s.Org(ctx, q)
	if err != nil {
		return nil, err
	}
	t.org = org.ID
	if t.schema, err = s.AppSchema(ctx, q, app); err != nil {
		return nil, err
	}
	following, err := model.Optional(ctx, q, s.Followings, app)
	if err != nil {
		return nil, err
	}
	if following != nil {
		t.removed = following.Value.Removed
	}
	return t, model.Each(ctx, q, s.Mappings, docstore.Eq(model.MappingByApp, app), func(m docstore.Doc[model.Mapping]) error {
		if m.Value.Direction == model.ToApp {
			t.stored[m.Value.UserType] = &m.Value
		}
		return nil
	})
}

// provisions reports whether app users have a profile: only users of applications with provisioning do.
func (t *target) provisions() bool { return t.app.Provisions(t.conn) }

// property returns an attribute that app users can have, other than the user name.
func (t *target) property(name string) (model.Property, bool) {
	if name == model.AppUserName {
		return model.Property{}, false
	}
	return t.schema.Property(name, t.provisions())
}

// mapping returns the mapping for users of a type.
func (t *target) mapping(userType string) *appprofile.Mapping {
	if t.mappings[userType] == nil {
		rules := appprofile.Rules(&t.app, t.conn, t.stored[userType])
		t.mappings[userType] = t.programs.Compile(rules, t.property)
	}
	return t.mappings[userType]
}

// mappedUser is a user with the values that mapping expressions can use.
type mappedUser struct {
	docstore.Doc[model.User]
	values appprofile.Values
}

// mappedUser returns a user with the values for the mapping. It reads the groups only if a rule uses them.
func (s *Slice) mappedUser(ctx context.Context, q docstore.Reader, t *target, user docstore.Doc[model.User]) (*mappedUser, error) {
	p := &mappedUser{Doc: user, values: appprofile.Values{Source: user.Value.Profile, AppID: t.id, App: &t.app, Org: t.org}}
	m := t.stored[user.Value.Type]
	if (m == nil || !m.TestsGroups) && !appprofile.TestsGroups(t.app.Credentials.UserNameTemplate.Template) {
		return p, nil
	}
	var ids []string
	err := model.Each(ctx, q, s.Memberships, docstore.Eq(model.MembershipByUser, user.ID), func(m docstore.Doc[model.Membership]) error {
		ids = append(ids, m.Value.Group)
		return nil
	})
	if err != nil {
		return nil, err
	}
	groups, err := s.Groups.GetMany(ctx, q, ids)
	for _, g := range groups {
		p.values.Groups = append(p.values.Groups, g.Value.Named(g.ID))
	}
	return p, err
}

// layers are the sources of an assignment's profile. The values of group override those of Outcome.
type layers struct {
	appprofile.Outcome
	group map[string]any // values of the assigned group
}

// derived returns the values derived from the user and, for scope GROUP, from the assigned group. u is the current assignment.
func (t *target) derived(p *mappedUser, group *model.AppGroup, u *model.AppUser) layers {
	l := layers{Outcome: t.mapping(p.Value.Type).Apply(&p.values, u.Fresh, u.Profile, u.Kept)}
	if group != nil && u.Scope == model.ScopeGroup {
		l.group = t.definedOnly(group.Profile)
	}
	return l
}

// definedOnly omits the attributes that app users can no longer have.
func (t *target) definedOnly(profile map[string]any) map[string]any {
	var out map[string]any
	for name, value := range profile {
		if _, ok := t.property(name); ok && !slices.Contains(t.removed, name) {
			if out == nil {
				out = map[string]any{}
			}
			out[name] = value
		}
	}
	return out
}

// userName returns the user name that is derived for a user: by the rule of the mapping, or, if the mapping does not replace the template,
// by the template. It returns "" if the application has no user names, the rule was removed or the result is empty.
func (t *target) userName(p *mappedUser) string {
	if !t.app.Credentials.Scheme.AcceptsUserName() {
		return ""
	}
	if m := t.stored[p.Value.Type]; m != nil {
		if rule, changed := m.Rules[model.AppUserName]; changed {
			if rule == nil {
				return ""
			}
			return t.programs.Text(rule.Expression, &p.values)
		}
	}
	names := t.app.Credentials.UserNameTemplate
	if names.Type == model.TemplateNone {
		return ""
	}
	return t.programs.UserName(names, &p.values)
}

// assignable reports whether a user can have assignments that come from groups.
func assignable(user *model.User) bool {
	return user.Status != model.UserStaged && user.Status != model.UserDeprovisioned
}

// effectiveGroup returns the assigned group that an assignment of scope GROUP comes from: of the user's assigned groups, the one with the
// lowest priority number. It returns nil if no group of the user is assigned, or if the user cannot have assignments from groups.
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

// change is a stored app user and its new value.
type change struct {
	doc   *docstore.Doc[model.AppUser] // nil if the user has no stored assignment
	value model.AppUser
}

// load reads the assignment of a user, including tombstones.
func (s *Slice) load(ctx context.Context, q docstore.Reader, app, user string) (change, error) {
	doc, err := model.Optional(ctx, q, s.AppUsers, model.AppUserID(app, user))
	if err != nil || doc == nil {
		return change{value: noAppUser(app, user)}, err
	}
	return change{doc: doc, value: doc.Value}, nil
}

// noAppUser returns the value that represents a missing assignment.
func noAppUser(app, user string) model.AppUser {
	return model.AppUser{AppID: app, UserID: user, Status: model.AppUserDeprovisioned}
}

// begin creates a new assignment in place of a tombstone or a missing one. It preserves only the id of the account on the target.
func (s *Slice) begin(tx *docstore.Tx, t *target, user docstore.Doc[model.User], c *change) {
	// The account may still have the values of the previous assignment. Cleared lists the attributes, so that the engine removes the values of
	// those without a new value.
	cleared := slices.Concat(c.value.Cleared, slices.Collect(maps.Keys(c.value.Profile)))
	c.value = model.AppUser{
		AppID: t.id, UserID: user.ID, Scope: model.ScopeUser, ExternalID: c.value.ExternalID, Status: c.value.Status, Cleared: cleared,
		Fresh: true,
	}
	if t.conn.Creates() {
		c.value.Enter(model.AppUserStaged, tx.Now())
		c.value.SyncState = model.SyncOutOfSync
		if user.Value.Status == model.UserStaged {
			c.value.SyncState = model.SyncDisabled
		}
		return
	}
	c.value.Enter(model.AppUserActive, tx.Now())
	c.value.SyncState = model.SyncDisabled
}

// derive updates the values that follow from other documents: profile, search strings, and the user name if it follows the template. It
// replaces an existing user name only if rename is set. It returns the errors in the profile by attribute, nil for a valid profile.
func (t *target) derive(p *mappedUser, group *model.AppGroup, rename bool, u *model.AppUser) map[string]string {
	u.Group = ""
	if u.Scope == model.ScopeGroup {
		u.Group = group.GroupID
	}
	made := t.derived(p, group, u)
	before := u.Profile
	u.Overrides = t.definedOnly(u.Overrides)
	u.Profile = appprofile.Overlay(made.Profile, made.group, u.Overrides)
	u.Kept, u.Fresh = made.Kept, false
	u.Cleared = cleared(u.Cleared, before, u.Profile)
	if len(u.Profile) == 0 {
		u.Profile = nil
	}
	u.Hidden = nil
	problems := made.Problems
	for name, property := range t.schema.All(t.provisions()) {
		if _, has := u.Profile[name]; has {
			delete(problems, name)
			if property.Mutability == model.WriteOnly {
				u.Hidden = append(u.Hidden, name)
			}
		} else if property.IsRequired() && name != model.AppUserName && problems[name] == "" {
			if problems == nil {
				problems = map[string]string{}
			}
			problems[name] = "The field cannot be left blank"
		}
	}
	user := &p.Value
	u.Search = []string{user.Text("email")}
	if t.app.SignOnMode != catalog.OpenIDConnect {
		u.Search = append(u.Search, user.Text("firstName"), user.Text("lastName"))
	}
	if !u.UserNameGiven && (rename || u.UserName == "") {
		u.UserName = t.userName(p)
	}
	u.UniqueUserName = t.provisions()
	return problems
}

// cleared returns the attributes that had a value and have none now. They had a value in the profile before, or the list so has them,
// because they were cleared earlier.
func cleared(so []string, before, after map[string]any) []string {
	names := slices.Concat(so, slices.Collect(maps.Keys(before)))
	names = slices.DeleteFunc(names, func(name string) bool { _, has := after[name]; return has })
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return nil
	}
	return names
}

// renames reports whether the user names of users of a type follow later changes of the user.
func (t *target) renames(userType string) bool {
	if m := t.stored[userType]; m != nil {
		if rule, changed := m.Rules[model.AppUserName]; changed {
			return rule != nil && rule.PushStatus == model.Push
		}
	}
	return t.app.RenamesUsers()
}

// nameTaken reports whether another app user of the application has the user name and user names must be unique.
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

// markOutOfSync sets the sync state SyncOutOfSync after the desired state of an app user may have changed: if the account is in the target
// and receives updates, or if its creation has failed. The engine then retries even a permanent failure.
func (t *target) markOutOfSync(u *model.AppUser) {
	if u.Status == model.AppUserStaged && u.SyncState == model.SyncError || u.InTarget() && t.conn.Updates() {
		u.SyncState, u.ErrorSummary = model.SyncOutOfSync, ""
	}
}

// updateSyncState sets the sync state of an app user after derive. The parameter `problem` is the reason why the app user must not be
// provisioned, or ""; `changed` reports whether its desired state may have changed.
func (t *target) updateSyncState(u *model.AppUser, problem string, changed bool) {
	if problem != "" {
		u.Blocked, u.SyncState, u.ErrorSummary = true, model.SyncError, problem
		return
	}
	if u.Blocked {
		u.Blocked, u.ErrorSummary = false, ""
		switch {
		case u.InTarget():
			u.SyncState, changed = model.SyncSynchronized, true
		case u.Status == model.AppUserActive:
			u.SyncState = model.SyncDisabled
		}
	}
	if changed || u.SyncState == model.SyncError {
		t.markOutOfSync(u)
	}
}

// store stores the app user, logs the change and emits the event. The event has Provision set if the engine provisioned the app user before
// or does so now.
func (s *Slice) store(
	ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User], c change,
) (doc docstore.Doc[model.AppUser], err error) {
	if err := audit.Write(ctx, tx, s.Deps, t.entries(user, c)...); err != nil {
		return doc, err
	}
	concerned := c.value.Provisioned()
	if c.doc != nil {
		t.recordAhead(&c.doc.Value, &c.value)
		concerned = concerned || c.doc.Value.Provisioned() || !c.doc.Value.Listed()
	}
	if doc, err = s.put(ctx, tx, c); err != nil {
		return doc, err
	}
	return doc, s.Feed.Emit(ctx, tx, model.AppUserChanged{
		App: c.value.AppID, User: c.value.UserID, Provision: concerned,
	})
}

// put stores the app user.
func (s *Slice) put(ctx context.Context, tx *docstore.Tx, c change) (docstore.Doc[model.AppUser], error) {
	id := model.AppUserID(c.value.AppID, c.value.UserID)
	if c.doc != nil && !c.doc.Value.Listed() && c.value.Listed() {
		// A new assignment in place of a tombstone gets its own time of creation and comes last in lists.
		if err := s.AppUsers.Delete(ctx, tx, id); err != nil {
			return *c.doc, err
		}
		c.doc = nil
	}
	if c.doc == nil {
		return s.AppUsers.Insert(ctx, tx, id, c.value)
	}
	return s.AppUsers.Update(ctx, tx, id, c.doc.Rev, c.value)
}

// remove ends an assignment. An assignment that may have an account becomes a tombstone, so that the engine can deactivate the account and
// a later assignment finds it again. Others are deleted.
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
	deactivate := u.Provisioned() && t.conn.OwesDeactivations()
	u.Enter(model.AppUserDeprovisioned, s.Now())
	u.Scope, u.Group, u.Overrides, u.SealedPassword, u.ErrorSummary = model.ScopeUser, "", nil, "", ""
	u.SyncState = model.SyncDisabled
	if deactivate {
		u.SyncState = model.SyncOutOfSync
	}
	_, err := s.store(ctx, tx, t, user, change{doc: &doc, value: u})
	return err
}

// regroup updates a user's assignment from the assigned groups of the user. It does not change an assignment of scope USER.
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
	return s.applyGroup(ctx, tx, t, user, group, c)
}

// applyGroup derives a user's assignment, which must not have scope USER, from the group; without a group it ends the assignment.
func (s *Slice) applyGroup(
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

// followGroup changes a user's assignment to scope GROUP and derives it from the group.
func (s *Slice) followGroup(
	ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User], group *model.AppGroup, c change,
) error {
	begun := !c.value.Listed()
	if begun {
		s.begin(tx, t, user, &c)
	}
	c.value.Scope = model.ScopeGroup
	before := c.value
	p, err := s.mappedUser(ctx, tx, t, user)
	if err != nil {
		return err
	}
	problems := t.derive(p, group, false, &c.value)
	if !begun && !differs(&before, &c.value) && c.doc.Value.Scope == model.ScopeGroup {
		return nil
	}
	// No client waits for a response about this user: an unusable user name becomes the error of the app user and does not reject the change
	// of the group.
	problem, err := s.nameProblem(ctx, tx, t, &c.value)
	if err != nil {
		return err
	}
	t.updateSyncState(&c.value, cmp.Or(problem, joinProblems(problems)), true)
	_, err = s.store(ctx, tx, t, user, c)
	return err
}

// nameProblem returns the reason why an app user cannot be provisioned with its user name, or "" if it can.
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

// differs reports whether two versions of an app user differ in what the application or API clients can see.
func differs(a, b *model.AppUser) bool {
	return a.Group != b.Group || a.Scope != b.Scope || a.UserName != b.UserName || !sameProfile(a.Profile, b.Profile)
}

// sameProfile reports whether two profiles have the same values.
func sameProfile(a, b map[string]any) bool {
	return maps.EqualFunc(a, b, func(x, y any) bool { return reflect.DeepEqual(x, y) })
}

// joinProblems returns the errors in a profile in one line, or "".
func joinProblems(problems map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		lines = append(lines, name+": "+problems[name])
	}
	return strings.Join(lines, "; ")
}
