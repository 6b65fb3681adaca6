package users

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

// UpdateUser is the body of a changed user. Read-only members are ignored, so that a client can send back a user as it was read.
type UpdateUser struct {
	Profile     *Profile          `json:"profile" doc:"Attributes of the user."`
	Credentials *CredentialsInput `json:"credentials" doc:"Credentials to set, without a check of the old ones."`
	Type        *Type             `json:"type" doc:"User type."`
}

// change holds the parameters that updateUser and replaceUser have in common.
type change struct {
	target
	Strict  bool       `query:"strict" default:"false" doc:"Whether to check the password history and the minimum age as well."`
	IfMatch string     `header:"If-Match" doc:"Entity tag of the user as it was read."`
	Body    UpdateUser `body:"required"`

	// shown and changeable report which attributes the caller may see and change; nil means all.
	shown, changeable func(attribute string) bool
}

type updateRequest struct{ change }

type replaceRequest struct{ change }

func (c *change) self() *change { return c }

func (s *Slice) findForChange(ctx context.Context, q docstore.Reader, c *change) (err error) {
	c.found, err = callers.FindUser(ctx, s.Deps, q, c.User)
	if err == nil {
		c.shown, err = authz.Shown(ctx, q, s.Deps, c.found.ID)
	}
	if err == nil {
		c.changeable, err = authz.Changeable(ctx, q, s.Deps, c.found.ID)
	}
	return err
}

// hides reports whether the caller cannot see the attribute.
func (c *change) hides(name string) bool { return c.shown != nil && !c.shown(name) }

// replaces reports whether a replacement may remove the attribute by omitting it.
func (c *change) replaces(name string) bool {
	return !c.hides(name) && (c.changeable == nil || c.changeable(name))
}

// sent returns the profile of the body. An attribute that the caller cannot see is null in responses, so null does not remove it.
func (c *change) sent() map[string]any {
	out := maps.Clone(*c.Body.Profile)
	maps.DeleteFunc(out, func(name string, value any) bool { return value == nil && c.hides(name) })
	return out
}

// unseen returns the attributes that have a value in the body and that the caller cannot see. Each counts as changed, even if the value is
// the same: otherwise the response would reveal whether a guessed value is correct.
func (c *change) unseen() (names []string) {
	if c.Body.Profile == nil {
		return nil
	}
	for name, value := range *c.Body.Profile {
		if value != nil && c.hides(name) {
			names = append(names, name)
		}
	}
	return names
}

// profileOf returns the profile after a partial update.
func (r *updateRequest) profileOf(_ *model.UserSchema, old map[string]any) map[string]any {
	if r.Body.Profile == nil {
		return old
	}
	return merge(old, r.sent())
}

// checkUpdate validates the user that results from the update.
func (s *Slice) checkUpdate(ctx context.Context, r *updateRequest, causes *rest.Causes) error {
	err := s.checkChange(ctx, &r.change, r.profileOf, causes)
	if t := r.Body.Type; t != nil && t.ID != "" && t.ID != r.found.Value.Type {
		causes.Add("type", "The user type can only be changed with PUT")
	}
	return err
}

// profileOf returns the profile after a replacement.
func (r *replaceRequest) profileOf(schema *model.UserSchema, old map[string]any) map[string]any {
	if r.Body.Profile == nil {
		return defined(schema, old)
	}
	return merge(retained(schema, old, r.replaces), r.sent())
}

// defined returns the profile without attributes that the schema does not define: the user may have had another type before.
func defined(schema *model.UserSchema, profile map[string]any) map[string]any {
	out := map[string]any{}
	for name := range schema.All() {
		if value, ok := profile[name]; ok {
			out[name] = value
		}
	}
	return out
}

// checkReplace validates the user that results from the replacement.
func (s *Slice) checkReplace(ctx context.Context, r *replaceRequest, causes *rest.Causes) error {
	return s.checkChange(ctx, &r.change, r.profileOf, causes)
}

// profiler computes the new profile from the old one.
type profiler func(schema *model.UserSchema, old map[string]any) map[string]any

func (s *Slice) checkChange(ctx context.Context, c *change, profileOf profiler, causes *rest.Causes) error {
	found, err := s.schemaFor(ctx, s.Store.Reader(), c.Body.Type, c.found.Value.Type)
	if err != nil {
		return err
	}
	schema := &found.Value
	profile := profileOf(schema, c.found.Value.Profile)
	if c.Body.Profile != nil {
		checkNulls(c.sent(), causes)
	}
	checkProfile(schema, profile, causes)
	c.Body.Credentials.dropRead(c.found.Value.Recovery)
	policy, err := s.policyFor(ctx, c.Body.Credentials)
	if err != nil {
		return err
	}
	c.Body.Credentials.check(&policy, profile, c.found.Value.Provider, causes)
	enroll, err := s.PasswordEnrollment(ctx, s.Store.Reader())
	if err != nil {
		return err
	}
	c.Body.Credentials.checkEnrollment(enroll, causes)
	if value, given := c.Body.Credentials.password(); given && c.Strict && !causes.Has("password") {
		if broken := s.historyProblems(&policy, &c.found.Value, value); len(broken) > 0 {
			causes.Add("password", "%s", password.DescribeBroken(broken))
		}
	}
	return nil
}

// historyProblems returns the rules about earlier passwords that a password violates.
func (s *Slice) historyProblems(policy *model.PasswordSettings, u *model.User, value string) []string {
	return append(password.TooYoung(policy, u, s.Now()), password.Reused(policy, u, value)...)
}

func (s *Slice) update(ctx context.Context, r *updateRequest) (User, error) {
	return s.write(ctx, &r.change, r.profileOf)
}

func (s *Slice) replace(ctx context.Context, r *replaceRequest) (User, error) {
	return s.write(ctx, &r.change, r.profileOf)
}

// write changes a user. It computes the profile from the user as the transaction reads it.
func (s *Slice) write(ctx context.Context, c *change, profileOf profiler) (User, error) {
	secrets, err := s.hashSecrets(ctx, c.Body.Credentials)
	if err != nil {
		return User{}, err
	}
	var doc docstore.Doc[model.User]
	unseen := c.unseen()
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if doc, err = s.reread(ctx, tx, &c.target); err != nil {
			return err
		}
		if err := rest.CheckMatch(c.IfMatch, rest.WeakTag(doc.Updated, doc.Rev)); err != nil {
			return err
		}
		user, before := doc.Value, doc.Value
		if user.Status == model.UserDeprovisioned && c.Body.Credentials.given() {
			return rest.Fail(rest.CodeStatus)
		}
		if user.Status != model.UserStaged && secrets.imported != nil {
			return rest.Fail(rest.CodeStatus)
		}
		found, err := s.schemaFor(ctx, tx, c.Body.Type, user.Type)
		if err != nil {
			return err
		}
		schema := &found.Value
		user.Type, user.Profile = schema.Type, profileOf(schema, user.Profile)
		if err := s.permit(ctx, tx, doc.ID, &before, &user, secrets, unseen); err != nil {
			return err
		}
		if err := s.enforce(ctx, tx, schema, doc.ID, before.Profile, &user, unseen...); err != nil {
			return err
		}
		now := s.Now()
		secrets.set(&user, now)
		if secrets.password != "" {
			switch user.Status {
			case model.UserProvisioned, model.UserRecovery, model.UserPasswordExpired:
				user.Enter(model.UserActive, now)
			}
		}
		if doc, err = s.Users.Update(ctx, tx, doc.ID, doc.Rev, user); err != nil {
			return err
		}
		if err := audit.Write(ctx, tx, s.Deps, updateEntries(doc, &before, secrets)...); err != nil {
			return err
		}
		if err := s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID}); err != nil {
			return err
		}
		return s.passwordSet(ctx, tx, doc.ID, c.Body.Credentials)
	})
	if err != nil {
		return User{}, err
	}
	return s.single(ctx, s.Store.Reader(), doc)
}

// permit checks whether the caller may make the changes of a body to a user's profile and credentials.
func (s *Slice) permit(
	ctx context.Context, tx *docstore.Tx, id string, before, after *model.User, given secrets, unseen []string,
) error {
	changed := changedAttributes(before.Profile, after.Profile, unseen...)
	if after.Type != before.Type {
		changed = append(changed, "type")
	}
	if err := authz.ChangeProfile(ctx, tx, s.Deps, id, changed); err != nil {
		return err
	}
	if given.password == "" && given.imported == nil && given.recovery == nil {
		return nil
	}
	return authz.SetCredentials(ctx, tx, s.Deps, id)
}

// updateEntries returns the log entries for a changed user: the names of the changed attributes, never their values. It returns no entries
// if nothing has changed.
func updateEntries(doc docstore.Doc[model.User], before *model.User, given secrets) []audit.Entry {
	user := []model.LogParty{audit.User(doc)}
	var entries []audit.Entry
	changed := changedAttributes(before.Profile, doc.Value.Profile)
	if given.recovery != nil {
		changed = append(changed, "recovery_question")
	}
	if len(changed) > 0 {
		entries = append(entries, audit.Entry{
			Type: audit.UserUpdateProfile, Targets: user, Debug: map[string]string{"changedAttributes": strings.Join(changed, ",")},
		})
	}
	if doc.Value.Type != before.Type {
		entries = append(entries, audit.Entry{Type: audit.UserUpdateType, Targets: user})
	}
	if given.password != "" || given.imported != nil {
		entries = append(entries, audit.Entry{Type: audit.UserUpdatePassword, Targets: user})
	}
	return entries
}

// changedAttributes returns the names of the attributes in which two profiles differ. The result also contains the names in extra.
func changedAttributes(a, b map[string]any, extra ...string) []string {
	names := map[string]bool{}
	for _, name := range extra {
		names[name] = true
	}
	for _, profile := range []map[string]any{a, b} {
		for name := range profile {
			if !reflect.DeepEqual(a[name], b[name]) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
