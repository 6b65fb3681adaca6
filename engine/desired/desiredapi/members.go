package desiredapi

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) memberRoutes() []rest.Route {
	const tag, all = "Members", "/apps/{app}/groups/{group}/members"
	return []rest.Route{
		row(a, tag, "putMembers", "PUT "+all, "Replace the members of a group", a.putMembers),
		row(a, tag, "changeMembers", "PATCH "+all, "Add and remove members of a group", a.changeMembers),
		row(a, tag, "getMembers", "GET "+all, "Show the members of a group, in pages", a.getMembers),
	}
}

// Members are the members of a group, or a page of them.
type Members struct {
	Group     string    `json:"group" readOnly:"true" doc:"id of the group"`
	Version   int64     `json:"version" readOnly:"true" doc:"version of the list, 0 if it was never written"`
	Members   []string  `json:"members" readOnly:"true" doc:"ids of users, ascending"`
	Next      string    `json:"next,omitempty" readOnly:"true" doc:"value of the parameter after for the next page; absent on the last page"`
	ChangedAt time.Time `json:"changedAt,omitzero" readOnly:"true" doc:"time of the last write"`
}

type putMembersRequest struct {
	groupPath
	Body struct {
		Version int64     `json:"version" required:"true" min:"1" max:"9007199254740992" doc:"version of the list; increases with each change"`
		Members *[]string `json:"members" required:"true" max:"10000" doc:"ids of all users in the group"`
	} `body:"required"`
}

type changeMembersRequest struct {
	groupPath
	Body struct {
		Base    *int64   `json:"base" required:"true" min:"0" max:"9007199254740992" doc:"version that the change is based on; 0 for a new list"`
		Version int64    `json:"version" required:"true" min:"1" max:"9007199254740992" doc:"version of the changed list"`
		Add     []string `json:"add" max:"10000" doc:"ids of users to add"`
		Remove  []string `json:"remove" max:"10000" doc:"ids of users to remove"`
	} `body:"required"`
}

type getMembersRequest struct {
	groupPath
	position
}

func (a *api) putMembers(ctx context.Context, r *putMembersRequest) (Written, error) {
	m := desired.Members{Group: r.Group, Version: r.Body.Version, Users: *r.Body.Members}
	result, err := a.s.PutMembers(ctx, r.App, m)
	return written(r.Group, r.Body.Version, result), rejected(err, r.App, "", "")
}

func (a *api) changeMembers(ctx context.Context, r *changeMembersRequest) (Written, error) {
	result, err := a.s.ChangeMembers(ctx, r.App, desired.MemberDelta{
		Group: r.Group, Base: *r.Body.Base, Version: r.Body.Version, Add: r.Body.Add, Remove: r.Body.Remove,
	})
	return written(r.Group, r.Body.Version, result), rejected(err, r.App, "", "")
}

func (a *api) getMembers(ctx context.Context, r *getMembersRequest) (Members, error) {
	m, err := a.s.StoredMembers(ctx, r.App, r.Group, r.After, r.Limit)
	out := Members{Group: r.Group, Version: m.Version, Members: m.Users, ChangedAt: m.ChangedAt}
	if out.Members == nil {
		out.Members = []string{}
	}
	if len(m.Users) == r.Limit {
		out.Next = m.Users[r.Limit-1]
	}
	return out, rejected(err, r.App, "", "")
}
