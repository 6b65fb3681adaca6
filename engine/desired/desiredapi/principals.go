package desiredapi

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/scim"
)

func (a *api) userRoutes() []rest.Route {
	const tag, one = "Users", "/apps/{app}/users/{user}"
	return []rest.Route{
		row(a, tag, "listUsers", "GET /apps/{app}/users", "List the users of an app, deleted ones included", a.listUsers),
		row(a, tag, "putUser", "PUT "+one, "Create or replace the desired state of a user", a.putUser),
		row(a, tag, "getUser", "GET "+one, "Show the desired state of a user, without the password", a.getUser),
		row(a, tag, "deleteUser", "DELETE "+one, "Delete a user: its account is deactivated", a.deleteUser),
	}
}

func (a *api) groupRoutes() []rest.Route {
	const tag, one = "Groups", "/apps/{app}/groups/{group}"
	return []rest.Route{
		row(a, tag, "listGroups", "GET /apps/{app}/groups", "List the groups of an app, deleted ones included", a.listGroups),
		row(a, tag, "putGroup", "PUT "+one, "Create or replace the desired state of a group", a.putGroup),
		row(a, tag, "getGroup", "GET "+one, "Show the desired state of a group", a.getGroup),
		row(a, tag, "deleteGroup", "DELETE "+one, "Delete a group", a.deleteGroup),
	}
}

// User is the desired state of a user.
type User struct {
	ID              string         `json:"id" readOnly:"true" doc:"id of the user"`
	Version         int64          `json:"version" required:"true" min:"1" max:"9007199254740992" doc:"increases with each change"`
	Want            string         `json:"want" required:"true" enum:"active,inactive,absent,keep" doc:"keep: no change of the account"`
	Resource        map[string]any `json:"resource,omitempty" doc:"attributes of the account, without id, meta, active, groups and password"`
	OnCreate        map[string]any `json:"onCreate,omitempty" doc:"attributes that are only sent when the account is created"`
	Profile         map[string]any `json:"profile,omitempty" doc:"attributes from which the rules of the app derive a resource"`
	Manager         string         `json:"manager,omitempty" max:"256" doc:"id of the manager"`
	RemoteID        string         `json:"remoteId,omitempty" max:"1024" doc:"id of the account on the target to link. Default: a lookup"`
	Password        string         `json:"password,omitempty" writeOnly:"true" max:"1024" doc:"never returned; a write without it removes it"`
	PasswordVersion string         `json:"passwordVersion,omitempty" max:"1024" doc:"changes with the password; empty: it is never set"`
	HasPassword     bool           `json:"hasPassword" readOnly:"true" doc:"a password is stored"`
	ChangedAt       time.Time      `json:"changedAt" readOnly:"true" doc:"time of the last write"`
}

// Group is the desired state of a group.
type Group struct {
	ID           string    `json:"id" readOnly:"true" doc:"id of the group"`
	Version      int64     `json:"version" required:"true" min:"1" max:"9007199254740992" doc:"increases with each change"`
	Want         string    `json:"want" required:"true" enum:"active,inactive,absent" doc:"desired state; inactive: nothing is sent"`
	DisplayName  string    `json:"displayName,omitempty" max:"1024" doc:"name of the group; required if active"`
	RemoteID     string    `json:"remoteId,omitempty" max:"1024" doc:"id of the group on the target to link. Default: a lookup"`
	DeleteRemote bool      `json:"deleteRemote,omitempty" doc:"if absent: delete the group on the target. Default: only the link is removed"`
	ChangedAt    time.Time `json:"changedAt" readOnly:"true" doc:"time of the last write"`
}

type listPrincipalsRequest struct {
	appPath
	position
}

type userPath struct {
	appPath
	User string `path:"user" doc:"id of the user"`
}

type putUserRequest struct {
	userPath
	Body User `body:"required"`
}

type deleteUserRequest struct {
	userPath
	versionQuery
}

type groupPath struct {
	appPath
	Group string `path:"group" doc:"id of the group"`
}

type putGroupRequest struct {
	groupPath
	Body Group `body:"required"`
}

type deleteGroupRequest struct {
	groupPath
	versionQuery
	DeleteRemote bool `query:"deleteRemote" default:"false" doc:"delete the group on the target. Default: only the link is removed"`
}

func (a *api) listUsers(ctx context.Context, r *listPrincipalsRequest) (rest.Page[User], error) {
	read := func(after string, n int) ([]desired.User, error) { return a.s.StoredUsers(ctx, r.App, after, n) }
	users, err := pageOf(ctx, r.position, read, shownUser, func(u *desired.User) string { return u.ID })
	return users, rejected(err, r.App, "", "")
}

func (a *api) getUser(ctx context.Context, r *userPath) (User, error) {
	u, err := a.s.StoredUser(ctx, r.App, r.User)
	return shownUser(&u), rejected(err, r.App, "User", r.User)
}

func (a *api) putUser(ctx context.Context, r *putUserRequest) (Written, error) {
	b := &r.Body
	u := desired.User{
		ID: r.User, Version: b.Version, Want: engine.Want(b.Want), Profile: b.Profile, Manager: b.Manager, RemoteID: b.RemoteID,
		Password: b.Password, PasswordVersion: b.PasswordVersion,
	}
	var err error
	if u.Resource, err = resource("resource", b.Resource); err != nil {
		return Written{}, err
	}
	if u.OnCreate, err = resource("onCreate", b.OnCreate); err != nil {
		return Written{}, err
	}
	result, err := a.s.PutUser(ctx, r.App, u)
	return written(r.User, b.Version, result), rejected(err, r.App, "", "")
}

func (a *api) deleteUser(ctx context.Context, r *deleteUserRequest) (Written, error) {
	result, err := a.s.PutUser(ctx, r.App, desired.User{ID: r.User, Version: r.Version, Want: engine.Absent})
	return written(r.User, r.Version, result), rejected(err, r.App, "", "")
}

// resource converts a JSON object, nil if it is absent.
func resource(member string, attributes map[string]any) (*scim.Resource, error) {
	if attributes == nil {
		return nil, nil
	}
	value, err := scim.Value(attributes)
	if err != nil {
		return nil, rest.Invalid(member, "%s", err)
	}
	o, _ := value.(*scim.Object)
	return &scim.Resource{Object: *o}, nil
}

func shownUser(u *desired.User) User {
	return User{
		ID: u.ID, Version: u.Version, Want: string(u.Want), Resource: attributes(u.Resource), OnCreate: attributes(u.OnCreate),
		Profile: u.Profile, Manager: u.Manager, RemoteID: u.RemoteID, PasswordVersion: u.PasswordVersion, HasPassword: u.HasPassword,
		ChangedAt: u.ChangedAt,
	}
}

// attributes returns the members of a resource, which encoding/json encodes as in the resource.
func attributes(r *scim.Resource) map[string]any {
	if r == nil {
		return nil
	}
	out := make(map[string]any, r.Len())
	for name, value := range r.All() {
		out[name] = value
	}
	return out
}

func (a *api) listGroups(ctx context.Context, r *listPrincipalsRequest) (rest.Page[Group], error) {
	read := func(after string, n int) ([]desired.Group, error) { return a.s.StoredGroups(ctx, r.App, after, n) }
	groups, err := pageOf(ctx, r.position, read, shownGroup, func(g *desired.Group) string { return g.ID })
	return groups, rejected(err, r.App, "", "")
}

func (a *api) getGroup(ctx context.Context, r *groupPath) (Group, error) {
	g, err := a.s.StoredGroup(ctx, r.App, r.Group)
	return shownGroup(&g), rejected(err, r.App, "Group", r.Group)
}

func (a *api) putGroup(ctx context.Context, r *putGroupRequest) (Written, error) {
	b := &r.Body
	result, err := a.s.PutGroup(ctx, r.App, desired.Group{
		ID: r.Group, Version: b.Version, Want: engine.Want(b.Want), DisplayName: b.DisplayName, RemoteID: b.RemoteID,
		DeleteRemote: b.DeleteRemote,
	})
	return written(r.Group, b.Version, result), rejected(err, r.App, "", "")
}

func (a *api) deleteGroup(ctx context.Context, r *deleteGroupRequest) (Written, error) {
	result, err := a.s.PutGroup(ctx, r.App, desired.Group{
		ID: r.Group, Version: r.Version, Want: engine.Absent, DeleteRemote: r.DeleteRemote,
	})
	return written(r.Group, r.Version, result), rejected(err, r.App, "", "")
}

func shownGroup(g *desired.Group) Group {
	return Group{
		ID: g.ID, Version: g.Version, Want: string(g.Want), DisplayName: g.DisplayName, RemoteID: g.RemoteID, DeleteRemote: g.DeleteRemote,
		ChangedAt: g.ChangedAt,
	}
}
