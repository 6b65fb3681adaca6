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
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// AppUser is the assignment of a user to an application in the API.
type AppUser struct {
	ID          string    `json:"id" readOnly:"true" doc:"Id of the user."`
	ExternalID  *string   `json:"externalId" readOnly:"true" doc:"Id of the account on the target."`
	Created     rest.Time `json:"created" readOnly:"true" doc:"Time of the assignment."`
	LastUpdated rest.Time `json:"lastUpdated" readOnly:"true" doc:"Time of the last change."`

	Scope model.AppUserScope `json:"scope" readOnly:"true" enum:"USER,GROUP" doc:"Whether the assignment is the user's own or from a group."`

	Status          model.AppUserStatus `json:"status" readOnly:"true" doc:"Status."`
	StatusChanged   *rest.Time          `json:"statusChanged" readOnly:"true" doc:"Time of the last change of the status."`
	PasswordChanged *rest.Time          `json:"passwordChanged" readOnly:"true" doc:"Time of the last change of the password."`
	LastSync        *rest.Time          `json:"lastSync" readOnly:"true" doc:"Time of the last successful provisioning."`
	SyncState       model.SyncState     `json:"syncState" readOnly:"true" doc:"State of provisioning. DISABLED: no request is needed."`
	Credentials     *UserCredentials    `json:"credentials,omitempty" readOnly:"true" doc:"Credentials in the application."`
	Profile         map[string]any      `json:"profile" readOnly:"true" doc:"Attributes in the application."`
	Embedded        *Embedded           `json:"_embedded,omitempty" readOnly:"true" doc:"The user, if requested by expand, and a failed task."`
	Links           rest.Links          `json:"_links" readOnly:"true" doc:"Links."`
}

// Embedded holds the objects that are returned with an assignment.
type Embedded struct {
	User any   `json:"user,omitempty" doc:"The user."`
	Task *Task `json:"task,omitempty" doc:"The provisioning that failed."`
}

// Task is a failed provisioning of an assignment.
type Task struct {
	ErrorSummary string `json:"errorSummary" doc:"The error."`
}

// UserCredentials are the credentials of a user in an application.
type UserCredentials struct {
	UserName string    `json:"userName,omitempty" empty:"absent" max:"255" doc:"User name."`
	Password *Password `json:"password,omitempty" doc:"Password. A response has the empty object if a password is set."`
}

// Password is a secret that requests contain and responses omit.
type Password struct {
	Value string `json:"value,omitempty" writeOnly:"true" max:"255" doc:"The password."`
}

// given reports whether a password was sent.
func (p *Password) given() bool { return p != nil && p.Value != "" }

// syncState returns the sync state that responses show. It calls Syncing to find out whether the account is being provisioned, because a
// state stored at the start of an attempt would be wrong after a crash.
func (s *Slice) syncState(ctx context.Context, u *model.AppUser) model.SyncState {
	switch {
	case s.Syncing == nil, u.SyncState == model.SyncDisabled:
	case s.Syncing(ctx, u):
		return model.SyncSyncing
	case u.SyncState == model.SyncSyncing:
		return model.SyncOutOfSync // the attempt has ended without a result
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

// supplied holds the members of an assignment that a client can set.
type supplied struct {
	Scope       model.AppUserScope `json:"scope" empty:"absent" enum:"USER,GROUP" doc:"GROUP restores the values of the assigned group."`
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

// write changes an assignment. It creates a missing one only if assign is true.
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
		err = rest.NotUnique("userName") // a concurrent request stored the name first
	}
	if err != nil {
		return AppUser{}, err
	}
	return s.renderUser(ctx, written), nil
}

// apply derives the values of an app user from the user, the mapping and the group, overrides them with those that a client supplied, and
// stores the assignment.
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
	p, err := s.mappedUser(ctx, tx, t, user)
	if err != nil {
		return none, err
	}
	if name != "" {
		c.value.UserName, c.value.UserNameGiven = name, name != t.userName(p)
	}
	if c.value.Overrides, err = t.overrides(&c.value, given.Profile, p, group); err != nil {
		return none, err
	}
	if err := model.CheckSize(before.Overrides, c.value.Overrides); err != nil {
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
	t.updateSyncState(&c.value, "", begun || differs(&before, &c.value))
	return s.store(ctx, tx, t, user, c)
}

// checkCredentials validates the credentials for the scheme of the application and returns the supplied user name, or "". The user name is
// also an app attribute and may be part of the profile.
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
		return "", rest.Fail(rest.CodeAppCredentials, "credentials.password: Users have no separate password in the application")
	}
	return userName, nil
}

// overrides returns the stored overrides, updated with the given values. An override is a supplied value that differs from the derived
// value. While profiles are pushed, clients cannot override an attribute that has a mapping rule.
func (t *target) overrides(u *model.AppUser, given map[string]any, p *mappedUser, group *model.AppGroup) (map[string]any, error) {
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
			// unchanged
		case property.Mutability == model.ReadOnly && !model.NoValue(value):
			readOnly = append(readOnly, "profile."+name+": The attribute is read-only")
		case property.Mutability == model.Immutable && u.Profile[name] != nil:
			immutable = append(immutable, "profile."+name+": The attribute has a value and is immutable")
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

// checkValue reports whether app users can have a value, and records the error if not. The user name is checked with the credentials.
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

// maxAttribute is the maximum length of a value of an attribute without its own limit, in bytes.
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

// findUser reads the assignment of a user, or returns a 404 error.
func (s *Slice) findUser(ctx context.Context, q docstore.Reader, app, user string) (docstore.Doc[model.AppUser], error) {
	doc, err := s.AppUsers.Get(ctx, q, model.AppUserID(app, user))
	if errors.Is(err, docstore.ErrNotFound) || err == nil && !doc.Value.Listed() {
		return doc, rest.NotFound("AppUser", user)
	}
	return doc, err
}

// Show returns the assignment of a user to an application in the form of the API.
func (s *Slice) Show(ctx context.Context, q docstore.Reader, app, user string) (any, error) {
	doc, err := s.findUser(ctx, q, app, user)
	if err != nil {
		return nil, err
	}
	return s.renderUser(ctx, doc), nil
}

type getUserRequest struct {
	userRequest
	Expand string `query:"expand" enum:"user" doc:"Embeds the user."`
}

func (s *Slice) getUser(ctx context.Context, req *getUserRequest) (AppUser, error) {
	return s.expanded(ctx, s.Store.Reader(), req.doc, req.Expand)
}

// expanded renders an assignment with the objects that expand requests.
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
	SendEmail bool `query:"sendEmail" default:"false" doc:"Whether to notify the administrator by email."`
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

// mailUnassigned notifies the administrator that a user was removed from an application.
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
		Text:    fmt.Sprintf("%s is no longer assigned to %s.", user.Value.Login(), t.app.Label),
	})
}

type listUsersRequest struct {
	AppID  string `path:"appId" doc:"Id of the application."`
	Q      string `query:"q"`
	Expand string `query:"expand" enum:"user" doc:"Embeds the users."`
	Limit  int    `query:"limit" default:"50" min:"1" max:"500" clamp:"true" doc:"Size of the page."`
	After  string `query:"after" doc:"Cursor of the page."`

	app docstore.Doc[model.App]
}

// MoreTags implements rest.Described.
func (listUsersRequest) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"q": `doc:"Prefix of the user name, first name, last name or email address, case-insensitive. For an OPENID_CONNECT ` +
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
	found, err := search.Page(ctx, s.AppUsers, s.Store.Reader(), query)
	if err == nil && req.Expand != "" { // ends the page early if the users are too large for one page
		_, err = search.Join(ctx, s.AppUsers, s.Users, s.Store.Reader(), query, &found,
			func(doc *docstore.Doc[model.AppUser]) string { return doc.Value.UserID })
	}
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
