package assignments

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Account is an account of a target that an import has found.
type Account struct {
	ID       string // on the target
	UserName string
	// Profile is the desired profile of the account, Shown its profile on the target, both by the names of app attributes.
	Profile, Shown map[string]any
}

// TakeOver assigns the account to a user, and assigns the application to the user if necessary. The values of the account override those of
// the mapping, except for attributes that are pushed by a mapping rule. TakeOver sends nothing to the target and does not change a pending
// or failed push. A rejection is an error for clients that states why the user cannot have the account.
func (s *Slice) TakeOver(ctx context.Context, tx *docstore.Tx, app, userID string, a Account) error {
	t, err := s.target(ctx, tx, app)
	if err != nil {
		return err
	}
	if t == nil {
		return rest.NotFound("AppInstance", app)
	}
	user, err := s.Users.Get(ctx, tx, userID)
	if err != nil {
		return rest.Missing(err, "User", userID)
	}
	if user.Value.Status == model.UserDeprovisioned {
		return rest.Fail(rest.CodeInactiveUser)
	}
	c, err := s.load(ctx, tx, app, userID)
	if err != nil {
		return err
	}
	assigned := c.value.Listed()
	if !assigned {
		s.begin(tx, t, user, &c)
	}
	linked := c.value.ExternalID != a.ID || !c.value.InTarget()
	pending := assigned && c.value.Unsent() && (!linked || t.conn.OwesUpdates())
	c.value.ExternalID, c.value.Account, c.value.Ahead = a.ID, a.Shown, nil
	if linked {
		c.value.Imported = true
		c.value.Enter(model.AppUserActive, tx.Now())
	}
	if !pending {
		c.value.LastSync = tx.Now()
		if linked {
			c.value.SyncState, c.value.ErrorSummary = model.SyncSynchronized, ""
		}
	}
	p, err := s.mappedUser(ctx, tx, t, user)
	if err != nil {
		return err
	}
	var group *model.AppGroup
	if c.value.Scope == model.ScopeGroup {
		if group, err = s.effectiveGroup(ctx, tx, app, user); err != nil {
			return err
		}
		if group == nil {
			c.value.Scope = model.ScopeUser
		}
	}
	if a.UserName != "" && a.UserName != c.value.UserName && t.app.Credentials.Scheme.AcceptsUserName() {
		c.value.UserName, c.value.UserNameGiven = a.UserName, a.UserName != t.userName(p)
	}
	c.value.Overrides = t.importedOverrides(p, group, &c.value, a.Profile)
	problems := t.derive(p, group, false, &c.value)
	problem, err := s.nameProblem(ctx, tx, t, &c.value)
	if err != nil {
		return err
	}
	if problem = cmp.Or(problem, joinProblems(problems)); problem != "" {
		return rest.Invalid("account", "%s", problem)
	}
	c.value.Blocked = false
	if c.doc != nil && same(&c.doc.Value, &c.value) {
		return nil
	}
	if err := audit.Write(ctx, tx, s.Deps, t.entry(audit.AppUserImport, user, &c.value)); err != nil {
		return err
	}
	return s.storeLinked(ctx, tx, t, user, c)
}

// recordAhead records the attributes whose values have changed since the last import. The next import must not treat the account's values
// of these attributes as changes on the target, because the target may not have the new values yet.
func (t *target) recordAhead(before, u *model.AppUser) {
	if u.Account == nil || !u.InTarget() || !t.conn.OwesUpdates() {
		return
	}
	ahead := slices.Clone(u.Ahead)
	if u.UserName != before.UserName {
		ahead = append(ahead, model.AppUserName)
	}
	for _, profile := range []map[string]any{before.Profile, u.Profile} {
		for name := range profile {
			if !reflect.DeepEqual(before.Profile[name], u.Profile[name]) {
				ahead = append(ahead, name)
			}
		}
	}
	slices.Sort(ahead)
	u.Ahead = slices.Compact(ahead)
}

// same reports whether two versions of an app user are equal, except for LastSync.
func same(a, b *model.AppUser) bool {
	before, after := *a, *b
	before.LastSync = after.LastSync
	return reflect.DeepEqual(before, after)
}

// importedOverrides returns the values of an account that differ from the derived values. While profiles are pushed, it omits attributes
// with a mapping rule.
func (t *target) importedOverrides(p *mappedUser, group *model.AppGroup, u *model.AppUser, shows map[string]any) map[string]any {
	made := t.derived(p, group, u)
	mapping := t.mapping(p.Value.Type)
	out := map[string]any{}
	for name, value := range shows {
		property, known := t.property(name)
		derived, given := made.group[name]
		if !given {
			derived = made.Profile[name]
		}
		if !known || property.Problem(value) != "" || reflect.DeepEqual(value, derived) || t.conn.PushesProfiles() && mapping.HasRule(name) {
			continue
		}
		out[name] = value
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// storeLinked stores an app user like store, for an account that was linked by an import and not by the engine.
func (s *Slice) storeLinked(ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User], c change) error {
	if err := audit.Write(ctx, tx, s.Deps, t.entries(user, c)...); err != nil {
		return err
	}
	if _, err := s.put(ctx, tx, c); err != nil {
		return err
	}
	return s.Feed.Emit(ctx, tx, model.AppUserChanged{App: t.id, User: user.ID, Linked: true})
}
