package desired

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
)

// ErrUnknownApp reports that the application does not exist or never had a provisioning connection.
var ErrUnknownApp = errors.New("desired: the application has no provisioning target")

// Want is the desired state of a user or group on the target.
type Want string

// The desired states.
const (
	Active   Want = "active"
	Inactive Want = "inactive"
	// Absent: the user has no assignment, not even a tombstone, or the group has no push mapping or only a tombstone.
	Absent Want = "absent"
	// Keep: the account or group on the target stays unchanged, and no request may be sent. An event is emitted when the desired state is no
	// longer Keep.
	Keep Want = "keep"
)

// Target describes where and how an application is provisioned.
type Target struct {
	BaseURL string
	Header  model.HeaderFormat
	Token   string // in plaintext; it must not be logged
	// OAuth names the token endpoint and the client; Token is then the client secret. Nil: Token is sent as it is.
	OAuth             *model.ConnectionOAuth
	UserNameAttribute string // attribute by which the engine searches for a user
	// Style selects the requests that update users and groups.
	Style model.UpdateStyle
	// Fallback states whether the engine may try other forms of a request.
	Fallback model.Fallback

	CreateUsers, UpdateUsers, DeactivateUsers, PushGroups bool
	// SyncPasswords: existing accounts also receive User.Password.
	SyncPasswords bool
	// Paused: the application is INACTIVE or its connection is not enabled. Nothing may be sent; pending changes stay pending.
	Paused bool
}

// String returns the base URL, so that a printed target does not contain the token.
func (t Target) String() string { return t.BaseURL }

// GoString returns the same as String, for %#v.
func (t Target) GoString() string { return t.BaseURL }

// User is the desired state of a user on the target.
type User struct {
	Want     Want
	UserName string
	// Resource holds the mapped attributes including externalId, without id, meta, active, groups and password. Nil for Absent and Keep.
	Resource *scim.Resource
	// RemoteID is the id on the target, empty if unknown.
	RemoteID string
	// Activating reports that the account belongs to an earlier assignment and may now belong to another user.
	Activating bool
	// Password is a pending password for the account, in plaintext; it must not be logged. PasswordVersion identifies the password.
	// PasswordVersion is empty if only a new account receives the password.
	Password, PasswordVersion string
}

// String omits the password, so that a printed user does not contain it.
func (u User) String() string { return string(u.Want) + " " + u.UserName }

// GoString returns the same as String, for %#v.
func (u User) GoString() string { return u.String() }

// Group is the desired state of a pushed group on the target. Inactive means that pushes are paused.
type Group struct {
	Want        Want
	DisplayName string
	// RemoteID is the id on the target, empty if unknown.
	RemoteID string
	// DeleteRemote reports, for Absent, that the group on the target must be deleted, too.
	DeleteRemote bool
}

// State reads the desired state and stores results.
type State struct {
	model.Deps
	secrets seal.Secrets
}

// New returns the state in the store. Default for now: time.Now.
func New(m *model.Model, store *docstore.Store, secrets seal.Secrets, now func() time.Time) *State {
	if now == nil {
		now = time.Now
	}
	return &State{Deps: model.Deps{Model: m, Store: store, Now: now}, secrets: secrets}
}

// Target returns where and how an application is provisioned, or ErrUnknownApp.
func (s *State) Target(ctx context.Context, app string) (Target, error) {
	q := s.Store.Reader()
	a, err := model.Optional(ctx, q, s.Apps, app)
	if err != nil {
		return Target{}, err
	}
	c, err := model.Optional(ctx, q, s.Connections, app)
	if err != nil {
		return Target{}, err
	}
	if a == nil || c == nil {
		return Target{}, ErrUnknownApp
	}
	conn := &c.Value
	token, err := s.secrets.Open(conn.SealedToken, model.ConnectionBinding(app))
	if err != nil {
		return Target{}, err
	}
	return Target{
		BaseURL: conn.BaseURL, Header: conn.HeaderFormat, Token: token, OAuth: conn.OAuth, UserNameAttribute: conn.UserNameAttribute,
		Style:       conn.Style(&a.Value),
		Fallback:    conn.FallsBack(),
		CreateUsers: conn.Creates(), UpdateUsers: conn.Updates(), DeactivateUsers: conn.OwesDeactivations(), PushGroups: conn.PushesGroups(),
		SyncPasswords: conn.SyncsPasswords(),
		Paused:        a.Value.Status != model.AppActive || !conn.Enabled,
	}, nil
}

// User returns the desired state of a user on the target of an application.
func (s *State) User(ctx context.Context, app, user string) (User, error) {
	q := s.Store.Reader()
	assignment, err := model.Optional(ctx, q, s.AppUsers, model.AppUserID(app, user))
	if err != nil {
		return User{}, err
	}
	if assignment == nil {
		return User{Want: Absent}, nil
	}
	u := &assignment.Value
	out := User{Want: Active, UserName: u.UserName, RemoteID: u.ExternalID}
	if out.Want, err = s.wanted(ctx, q, u); err != nil {
		return User{}, err
	}
	if out.Want == Keep {
		return out, nil
	}
	schema, err := s.AppSchema(ctx, q, app)
	if err != nil {
		return User{}, err
	}
	out.Resource = resource(u, &schema)
	if out.Want == Active {
		out.Activating = u.Status == model.AppUserStaged && u.ExternalID != ""
		err = s.password(ctx, q, app, user, &out)
	}
	return out, err
}

// password adds the pending password, unless it is older than model.SyncPasswordLife.
func (s *State) password(ctx context.Context, q docstore.Reader, app, user string, out *User) error {
	p, err := model.Optional(ctx, q, s.SyncPasswords, model.AppUserID(app, user))
	if err != nil || p == nil || s.Now().Sub(p.Created) >= model.SyncPasswordLife {
		return err
	}
	if out.Password, err = s.secrets.Open(p.Value.Sealed, model.SyncPasswordBinding(app, user)); err != nil {
		return err
	}
	if p.Value.Follows {
		out.PasswordVersion = p.Value.Version
	}
	return nil
}

// wanted returns the desired state that follows from an assignment and its user.
func (s *State) wanted(ctx context.Context, q docstore.Reader, u *model.AppUser) (Want, error) {
	switch {
	case !u.Listed() && u.SyncState == model.SyncDisabled:
		return Keep, nil // the assignment was removed while Deactivate Users was off, so the account stays
	case !u.Listed():
		return Inactive, nil
	case !u.Provisioned() || u.Blocked:
		return Keep, nil // the user was assigned while Create Users was off, or has an invalid user name or profile
	}
	user, err := model.Optional(ctx, q, s.Users, u.UserID)
	if err != nil {
		return "", err
	}
	if user == nil {
		return Inactive, nil
	}
	switch user.Value.Status {
	case model.UserStaged, model.UserSuspended:
		return Keep, nil
	case model.UserDeprovisioned:
		return Inactive, nil
	default:
		return Active, nil
	}
}

// Group returns the desired state of a group on the target of an application.
func (s *State) Group(ctx context.Context, app, group string) (out Group, err error) {
	// One snapshot: a mapping is deleted together with its target group, so separate reads could find the mapping without the group.
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		out, err = s.group(ctx, q, app, group)
		return err
	})
	return out, err
}

func (s *State) group(ctx context.Context, q docstore.Reader, app, group string) (Group, error) {
	mapping, err := s.mapping(ctx, q, app, group)
	if err != nil || mapping == nil {
		return Group{Want: Absent}, err
	}
	m := mapping.Value
	if m.Deleted {
		return Group{Want: Absent, DisplayName: m.TargetName, RemoteID: m.RemoteID, DeleteRemote: m.DeleteTarget}, nil
	}
	target, err := s.Groups.Get(ctx, q, m.TargetGroupID)
	if err != nil {
		return Group{}, err
	}
	out := Group{Want: Active, DisplayName: target.Value.Name(), RemoteID: m.RemoteID}
	if m.Status == model.PushInactive {
		out.Want = Inactive
	}
	return out, nil
}

// mapping returns the push mapping of a group: the one that is not deleted, else a tombstone, else nil.
func (s *State) mapping(ctx context.Context, q docstore.Reader, app, group string) (*docstore.Doc[model.PushMapping], error) {
	page, err := s.PushMappings.Query(ctx, q, docstore.Query[model.PushMapping]{
		Where: docstore.Eq(model.PushMappingByPair, docstore.JoinID(app, group)),
	})
	if err != nil || len(page.Docs) == 0 {
		return nil, err
	}
	for i := range page.Docs {
		if !page.Docs[i].Value.Deleted {
			return &page.Docs[i], nil
		}
	}
	return &page.Docs[len(page.Docs)-1], nil
}

// Members returns the users that belong to a pushed group, in ascending order of their ids, starting after the given id (empty for the
// first page). A page with fewer than limit ids is the last one. A user belongs to the group if the user is a member of the source group
// and has an account on the target or will get one. The user may have no id on the target yet.
func (s *State) Members(ctx context.Context, app, group, after string, limit int) ([]string, error) {
	q := s.Store.Reader()
	var members []string
	for len(members) < limit {
		where := docstore.Prefix(docstore.ID, model.MembershipID(group, ""))
		if after != "" {
			where = docstore.All(where, docstore.Gt(docstore.ID, model.MembershipID(group, after)))
		}
		page, err := s.Memberships.Query(ctx, q, docstore.Query[model.Membership]{
			Where: where, OrderBy: docstore.ID, Limit: limit,
		})
		if err != nil {
			return nil, err
		}
		users := make([]string, len(page.Docs))
		for i, m := range page.Docs {
			users[i] = m.Value.User
		}
		in, err := s.provisioned(ctx, q, app, users)
		if err != nil {
			return nil, err
		}
		for _, user := range users {
			after = user
			if in[user] {
				if members = append(members, user); len(members) == limit {
					return members, nil
				}
			}
		}
		if page.Next == "" {
			break
		}
	}
	return members, nil
}

// IsMember reports which of the users belong to a pushed group, as defined at Members.
func (s *State) IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error) {
	q := s.Store.Reader()
	ids := make([]string, len(users))
	for i, user := range users {
		ids[i] = model.MembershipID(group, user)
	}
	memberships, err := s.Memberships.GetMany(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	in := make([]string, len(memberships))
	for i, m := range memberships {
		in[i] = m.Value.User
	}
	return s.provisioned(ctx, q, app, in)
}

// provisioned reports which of the users are provisioned to the target, or will be.
func (s *State) provisioned(ctx context.Context, q docstore.Reader, app string, users []string) (map[string]bool, error) {
	ids := make([]string, len(users))
	for i, user := range users {
		ids[i] = model.AppUserID(app, user)
	}
	assignments, err := s.AppUsers.GetMany(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	in := make(map[string]bool, len(assignments))
	for _, a := range assignments {
		if a.Value.Provisioned() && !a.Value.Blocked {
			in[a.Value.UserID] = true
		}
	}
	return in, nil
}
