package assignments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

// AppUser is the assignment of a user to an application as callers see it.
type AppUser struct {
	ID          string    `json:"id" readOnly:"true" doc:"Id of the user."`
	ExternalID  *string   `json:"externalId" readOnly:"true" doc:"Id of the account in the target."`
	Created     rest.Time `json:"created" readOnly:"true" doc:"Time of the assignment."`
	LastUpdated rest.Time `json:"lastUpdated" readOnly:"true" doc:"Time of the last change."`

	Scope model.AppUserScope `json:"scope" readOnly:"true" enum:"USER,GROUP" doc:"Whether the assignment is the user's own or from a group."`

	Status          model.AppUserStatus `json:"status" readOnly:"true" doc:"Status."`
	StatusChanged   *rest.Time          `json:"statusChanged" readOnly:"true" doc:"Time of the last change of the status."`
	PasswordChanged *rest.Time          `json:"passwordChanged" readOnly:"true" doc:"Time of the last change of the password."`
	LastSync        *rest.Time          `json:"lastSync" readOnly:"true" doc:"Time of the last successful provisioning."`
	SyncState       model.SyncState     `json:"syncState" readOnly:"true" doc:"How the account in the target compares with the assignment."`
	Credentials     *UserCredentials    `json:"credentials,omitempty" readOnly:"true" doc:"Credentials in the application."`
	Profile         map[string]any      `json:"profile" readOnly:"true" doc:"Attributes in the application."`
	Embedded        *Embedded           `json:"_embedded,omitempty" readOnly:"true" doc:"The user, when expand asks for it, and what failed."`
	Links           rest.Links          `json:"_links" readOnly:"true" doc:"Links."`
}

// Embedded is what is read along with an assignment.
type Embedded struct {
	User any   `json:"user,omitempty" doc:"The user."`
	Task *Task `json:"task,omitempty" doc:"The provisioning that failed."`
}

// Task is a provisioning that failed.
type Task struct {
	ErrorSummary string `json:"errorSummary" doc:"What went wrong."`
}

// UserCredentials are the credentials of a user in an application.
type UserCredentials struct {
	UserName string    `json:"userName,omitempty" empty:"absent" max:"255" doc:"User name."`
	Password *Password `json:"password,omitempty" doc:"Password. An answer has the empty object when there is one."`
}

// Password is a secret that goes in and never comes out.
type Password struct {
	Value string `json:"value,omitempty" writeOnly:"true" max:"255" doc:"The password."`
}

// given says whether a password was sent.
func (p *Password) given() bool { return p != nil && p.Value != "" }

// syncState is the state to be shown. That an account is being provisioned is not stored when it begins, so that a crash leaves nothing
// behind.
func (s *Slice) syncState(ctx context.Context, u *model.AppUser) model.SyncState {
	switch {
	case s.Syncing == nil, u.SyncState == model.SyncDisabled:
	case s.Syncing(ctx, u):
		return model.SyncSyncing
	case u.SyncState == model.SyncSyncing:
		return model.SyncOutOfSync // what was begun was given up
	}
	return u.SyncState
}

func (s *Slice) renderUser(ctx context.Context, doc docstore.Doc[model.AppUser]) AppUser {
	u := doc.Value
	u.SyncState = s.syncState(ctx, &u)
	out := AppUser{
		ID: u.UserID, Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated),
		Scope: u.Scope, Status: u.Status, SyncState: u.SyncState,
		StatusChanged: rest.TimePtr(u.StatusChanged), PasswordChanged: rest.TimePtr(u.PasswordChanged), LastSync: rest.TimePtr(u.LastSync),
		Profile: u.Profile,
		Links: rest.Links{
			"app":  rest.To(rest.URL(ctx, "api", "v1", "apps", u.AppID)),
			"user": rest.To(rest.URL(ctx, "api", "v1", "users", u.UserID)),
		},
	}
	if u.ExternalID != "" {
		out.ExternalID = &u.ExternalID
	}
	if u.SyncState == model.SyncError && u.ErrorSummary != "" {
		out.Embedded = &Embedded{Task: &Task{ErrorSummary: u.ErrorSummary}}
	}
	if out.Profile == nil {
		out.Profile = map[string]any{}
	}
	if len(u.Hidden) > 0 {
		out.Profile = maps.Clone(out.Profile)
		for _, name := range u.Hidden {
			delete(out.Profile, name)
		}
	}
	if u.UserName != "" || u.SealedPassword != "" {
		out.Credentials = &UserCredentials{UserName: u.UserName}
		if u.SealedPassword != "" {
			out.Credentials.Password = &Password{}
		}
	}
	if u.Scope == model.ScopeGroup {
		out.Links["group"] = rest.To(rest.URL(ctx, "api", "v1", "groups", u.Group))
	}
	return out
}

// supplied is what callers give of an assignment.
type supplied struct {
	Scope       model.AppUserScope `json:"scope" empty:"absent" enum:"USER,GROUP" doc:"GROUP goes back to what an assigned group gives."`
	Credentials UserCredentials    `json:"credentials" doc:"Credentials in the application."`

	Profile map[string]any `json:"profile" doc:"Attributes in the application that differ from the mapping. Null restores the mapped value."`
}

type assignBody struct {
	ID string `json:"id" required:"true" doc:"Id of the user."`
	supplied
}

type assignRequest struct {
	AppID string     `path:"appId" doc:"Id of the application."`
	Body  assignBody `body:"required"`
}

func (r *assignRequest) at() (string, *docstore.Doc[model.App]) { return r.AppID, nil }

func (s *Slice) assign(ctx context.Context, req *assignRequest) (AppUser, error) {
	return s.write(ctx, req.AppID, req.Body.ID, req.Body.supplied, true)
}

type updateRequest struct {
	userRequest
	Body supplied `body:"required"`
}

func (s *Slice) update(ctx context.Context, req *updateRequest) (AppUser, error) {
	return s.write(ctx, req.AppID, req.UserID, req.Body, false)
}

// write makes or changes an assignment. An update does not make one.
func (s *Slice) write(ctx context.Context, app, userID string, given supplied, assign bool) (AppUser, error) {
	var written docstore.Doc[model.AppUser]
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		t, err := s.target(ctx, tx, app)
		if err != nil {
			return err
		}
		if t == nil {
			return rest.NotFound("AppInstance", app)
		}
		user, err := s.Users.Get(ctx, tx, userID)
		if errors.Is(err, docstore.ErrNotFound) {
			return rest.NotFound("User", userID)
		}
		if err != nil {
			return err
		}
		if assign {
			if err := authz.AssignUser(ctx, tx, s.Deps, user.ID); err != nil {
				return err
			}
		}
		if user.Value.Status == model.UserDeprovisioned {
			return rest.Fail(rest.CodeInactiveUser)
		}
		c, err := s.load(ctx, tx, app, userID)
		if err != nil {
			return err
		}
		if !assign && !c.value.Listed() {
			return rest.NotFound("AppUser", userID)
		}
		if assign && given.Scope == "" {
			given.Scope = model.ScopeUser
		}
		written, err = s.apply(ctx, tx, t, user, c, given)
		return err
	})
	if unique, ok := errors.AsType[*docstore.UniqueError](err); ok && unique.Index == model.AppUserByUserName {
		err = rest.NotUnique("userName") // someone else was faster
	}
	if err != nil {
		return AppUser{}, err
	}
	return s.renderUser(ctx, written), nil
}

// apply puts what a caller supplied over what is derived, and stores it.
func (s *Slice) apply(
	ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User], c change, given supplied,
) (none docstore.Doc[model.AppUser], err error) {
	begun := !c.value.Listed()
	if begun {
		s.begin(tx, t, user, &c)
	}
	before := c.value
	if given.Scope != "" {
		c.value.Scope = given.Scope
	}
	var group *model.AppGroup
	if c.value.Scope == model.ScopeGroup {
		if group, err = s.effectiveGroup(ctx, tx, t.id, user); err != nil {
			return none, err
		}
		if group == nil {
			return none, rest.Invalid("scope", "No group that is assigned to the application contains the user")
		}
	}
	if given.Scope == model.ScopeGroup {
		c.value.Overrides, c.value.UserNameGiven, c.value.UserName = nil, false, ""
	}
	name, err := t.checkCredentials(given)
	if err != nil {
		return none, err
	}
	p, err := s.person(ctx, tx, t, user)
	if err != nil {
		return none, err
	}
	if name != "" {
		c.value.UserName, c.value.UserNameGiven = name, name != t.userName(p)
	}
	if c.value.Overrides, err = t.overrides(&c.value, given.Profile, p, group); err != nil {
		return none, err
	}
	problems := t.derive(p, group, c.value.Blocked, &c.value)
	var causes rest.Causes
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		causes.Add("profile."+name, "%s", problems[name])
	}
	if err := causes.Err(); err != nil {
		return none, err
	}
	if c.value.UserName == "" && t.app.Credentials.Scheme.AcceptsUserName() {
		var causes rest.Causes
		causes.Blank("userName")
		return none, causes.Err()
	}
	if taken, err := s.nameTaken(ctx, tx, &c.value); err != nil {
		return none, err
	} else if taken {
		return none, rest.NotUnique("userName")
	}
	if given.Credentials.Password.given() {
		binding := model.AppUserPasswordBinding(t.id, user.ID)
		if c.value.SealedPassword, err = s.Secrets.Seal(given.Credentials.Password.Value, binding); err != nil {
			return none, err
		}
		c.value.PasswordChanged = tx.Now()
	}
	t.judge(&c.value, "", begun || differs(&before, &c.value))
	return s.store(ctx, tx, t, user, c)
}

// checkCredentials checks the credentials against the scheme of the
// application and returns the user name that was supplied, "" for none. The
// user name is an app attribute as well and may stand in the profile.
func (t *target) checkCredentials(given supplied) (userName string, err error) {
	userName = given.Credentials.UserName
	if value, ok := given.Profile[model.AppUserName]; ok && value != nil && value != "" {
		text, isText := value.(string)
		switch {
		case !isText:
			return "", rest.Invalid("profile.userName", "The value must be a string")
		case userName != "" && userName != text:
			return "", rest.Invalid("profile.userName", "The value differs from credentials.userName")
		}
		userName = text
	}
	scheme := t.app.Credentials.Scheme
	if userName != "" && !scheme.AcceptsUserName() {
		return "", rest.Fail(rest.CodeAppCredentials, "credentials.userName: The application has one user name for all")
	}
	if given.Credentials.Password.given() && !scheme.AcceptsPassword() {
		return "", rest.Fail(rest.CodeAppCredentials, "credentials.password: Users have no password of their own in the application")
	}
	return userName, nil
}

// overrides returns the supplied values that differ from the derived ones: the
// ones known before, changed by what is given now. A value that the mapping
// rules over cannot differ while profiles are pushed.
func (t *target) overrides(u *model.AppUser, given map[string]any, p *person, group *model.AppGroup) (map[string]any, error) {
	made := t.derived(p, group, u)
	derived := appprofile.Overlay(made.Profile, made.group)
	mapping := t.mapping(p.Value.Type)
	var causes rest.Causes
	var readOnly, immutable []string
	out := maps.Clone(u.Overrides)
	if out == nil {
		out = map[string]any{}
	}
	differing := ""
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := model.PlainValue(given[name])
		if name == model.AppUserName || !t.checkValue(name, value, &causes) {
			continue
		}
		property, _ := t.property(name)
		switch {
		case reflect.DeepEqual(value, u.Profile[name]) && u.Profile[name] != nil:
			// as it was read
		case property.Mutability == model.ReadOnly && !model.NoValue(value):
			readOnly = append(readOnly, "profile."+name+": The attribute is read-only")
		case property.Mutability == model.Immutable && u.Profile[name] != nil:
			immutable = append(immutable, "profile."+name+": The attribute cannot change after it got a value")
		}
		if model.NoValue(value) || reflect.DeepEqual(value, derived[name]) {
			delete(out, name)
			continue
		}
		out[name] = value
		if t.conn.PushesProfiles() && mapping.HasRule(name) && differing == "" {
			differing = name
		}
	}
	switch err := causes.Err(); {
	case err != nil:
		return nil, err
	case len(readOnly) > 0:
		return nil, rest.Fail(rest.CodeReadOnly, append(readOnly, immutable...)...)
	case len(immutable) > 0:
		return nil, rest.Fail(rest.CodeImmutable, immutable...)
	case differing != "":
		return nil, rest.Failf(rest.CodeMappedDiffers,
			"Cannot modify the attribute %q because it has a field mapping and profile push is enabled.", differing)
	case len(out) == 0:
		return nil, nil
	}
	return out, nil
}

// checkValue records why app users cannot have a value, and says whether they
// can have it. The user name is looked at with the credentials.
func (t *target) checkValue(name string, value any, causes *rest.Causes) bool {
	path := "profile." + name
	property, known := t.property(name)
	text, isText := value.(string)
	switch {
	case name == model.AppUserName:
		return true
	case !known:
		causes.Add(path, "The attribute is not defined in the profile of the application")
	case property.NoValue(value):
		return true
	case isText && len(text) > maxAttribute && property.MaxLength == nil:
		causes.Add(path, "The value is longer than %d bytes", maxAttribute)
	default:
		if problem := property.Problem(value); problem != "" {
			causes.Add(path, "%s", problem)
			return false
		}
		return true
	}
	return false
}

// maxAttribute is the length of the longest value of an attribute without a
// bound of its own, in bytes.
const maxAttribute = 1024

type userRequest struct {
	AppID  string `path:"appId" doc:"Id of the application."`
	UserID string `path:"userId" doc:"Id of the user."`

	doc docstore.Doc[model.AppUser]
}

func (t *userRequest) self() *userRequest { return t }

func (s *Slice) findForUser(ctx context.Context, q docstore.Reader, req *userRequest) (err error) {
	if _, err := s.findApp(ctx, q, req.AppID); err != nil {
		return err
	}
	req.doc, err = s.findUser(ctx, q, req.AppID, req.UserID)
	return err
}

// findUser reads the assignment of a user, or answers that there is none.
func (s *Slice) findUser(ctx context.Context, q docstore.Reader, app, user string) (docstore.Doc[model.AppUser], error) {
	doc, err := s.AppUsers.Get(ctx, q, model.AppUserID(app, user))
	if errors.Is(err, docstore.ErrNotFound) || err == nil && !doc.Value.Listed() {
		return doc, rest.NotFound("AppUser", user)
	}
	return doc, err
}

// Show is the assignment of a user to an application as callers see it.
func (s *Slice) Show(ctx context.Context, q docstore.Reader, app, user string) (any, error) {
	doc, err := s.findUser(ctx, q, app, user)
	if err != nil {
		return nil, err
	}
	return s.renderUser(ctx, doc), nil
}

type getUserRequest struct {
	userRequest
	Expand string `query:"expand" enum:"user" doc:"user embeds the user."`
}

func (s *Slice) getUser(ctx context.Context, req *getUserRequest) (AppUser, error) {
	return s.expanded(ctx, s.Store.Reader(), req.doc, req.Expand)
}

// expanded renders an assignment with what is to be read along with it.
func (s *Slice) expanded(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.AppUser], expand string) (AppUser, error) {
	out := s.renderUser(ctx, doc)
	if expand == "" {
		return out, nil
	}
	user, err := s.User(ctx, q, doc.Value.UserID)
	if err != nil {
		return out, err
	}
	if out.Embedded == nil {
		out.Embedded = &Embedded{}
	}
	out.Embedded.User = user
	return out, nil
}

type unassignRequest struct {
	userRequest
	SendEmail bool `query:"sendEmail" default:"false" doc:"Tells the administrator by e-mail."`
}

func (s *Slice) unassign(ctx context.Context, req *unassignRequest) (rest.Empty, error) {
	var refused audit.Entry
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.findUser(ctx, tx, req.AppID, req.UserID)
		if err != nil {
			return err
		}
		t, err := s.target(ctx, tx, req.AppID)
		if err != nil {
			return err
		}
		if t == nil {
			return rest.NotFound("AppInstance", req.AppID)
		}
		user, err := s.Users.Get(ctx, tx, req.UserID)
		if err != nil {
			return err
		}
		refused = t.entry(audit.AppUserRemove, user, &doc.Value)
		if doc.Value.Scope == model.ScopeGroup {
			return rest.Fail(rest.CodeGroupScope, "scope: The assignment comes from the group "+doc.Value.Group+
				"; remove the user from the group, or the group from the application")
		}
		group, err := s.effectiveGroup(ctx, tx, req.AppID, user)
		if err != nil {
			return err
		}
		if group == nil {
			if err := s.remove(ctx, tx, t, user, doc); err != nil || !req.SendEmail {
				return err
			}
			return s.mailUnassigned(ctx, tx, t, user)
		}
		c := change{doc: &doc, value: doc.Value}
		c.value.Overrides, c.value.UserName, c.value.UserNameGiven, c.value.SealedPassword = nil, "", false, ""
		return s.followGroup(ctx, tx, t, user, group, c)
	})
	return rest.Empty{}, audit.Refused(ctx, s.Deps, refused, err)
}

// mailUnassigned tells the administrator of the organisation that a user has lost an application.
func (s *Slice) mailUnassigned(ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User]) error {
	org, err := s.Org(ctx, tx)
	if err != nil {
		return err
	}
	admin, err := model.Optional(ctx, tx, s.Users, org.Administrator)
	if err != nil || admin == nil || admin.Value.Text("email") == "" {
		return err
	}
	return s.Outbox.Send(ctx, tx, outbox.Message{
		Channel: outbox.Email, To: admin.Value.Text("email"), UserID: admin.ID, Template: "app.user.unassigned",
		Subject: "A user was removed from " + t.app.Label,
		Text:    fmt.Sprintf("%s is not assigned to %s any more.", user.Value.Login(), t.app.Label),
	})
}

type listUsersRequest struct {
	AppID  string `path:"appId" doc:"Id of the application."`
	Q      string `query:"q"`
	Expand string `query:"expand" enum:"user" doc:"user embeds the users."`
	Limit  int    `query:"limit" default:"50" min:"1" max:"500" clamp:"true" doc:"Size of the page."`
	After  string `query:"after" doc:"Cursor of the page."`

	app docstore.Doc[model.App]
}

// MoreTags implements rest.Described.
func (listUsersRequest) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"q": `doc:"Beginning of the user name, first name, last name or email address, case-insensitive. For an OPENID_CONNECT ` +
			`application: of the user name or email address."`,
	}
}

func (r *listUsersRequest) at() (string, *docstore.Doc[model.App]) { return r.AppID, &r.app }

func (s *Slice) listUsers(ctx context.Context, req *listUsersRequest) (rest.Page[AppUser], error) {
	where := docstore.Eq(model.AppUserByListedApp, req.AppID)
	if req.Q != "" {
		where = docstore.Prefix(model.AppUserByPrefix, model.AppUserPrefixKey(req.AppID, req.Q))
	}
	query := docstore.Query[model.AppUser]{Where: where, After: req.After, Limit: req.Limit}
	visible, err := authz.UsersOf(ctx, s.Store.Reader(), s.Deps, req.app)
	if err != nil {
		return rest.Page[AppUser]{}, err
	}
	if visible != nil {
		query.Match = func(doc *docstore.Doc[model.AppUser]) bool { return visible(doc.Value.UserID) }
	}
	found, err := s.AppUsers.Query(ctx, s.Store.Reader(), query)
	if err != nil {
		return rest.Page[AppUser]{}, err
	}
	page := rest.Page[AppUser]{Next: found.Next}
	for _, doc := range found.Docs {
		user, err := s.expanded(ctx, s.Store.Reader(), doc, req.Expand)
		if missing, ok := errors.AsType[*rest.Error](err); ok && missing.Code == rest.CodeNotFound {
			continue // the user has just been deleted
		}
		if err != nil {
			return rest.Page[AppUser]{}, err
		}
		page.Items = append(page.Items, user)
	}
	return page, nil
}
