package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// User implements engine.Directory.
func (d *Directory) User(ctx context.Context, app, user string) (engine.UserState, error) {
	q := query{d, "/user", app, user}
	var r UserResponse
	if err := q.send(ctx, UserRequest{App: app, ID: user}, &r); err != nil {
		return engine.UserState{}, err
	}
	if err := q.about(r.App, r.ID); err != nil {
		return engine.UserState{}, err
	}
	want, err := q.want(r.State, engine.Active, engine.Inactive, engine.Absent, engine.Keep)
	if err != nil {
		return engine.UserState{}, err
	}
	out := engine.UserState{
		Want: want, Manager: r.Manager, RemoteID: r.RemoteID, Activating: r.Activating, Password: r.Password, PasswordVersion: r.PasswordVersion,
	}
	if out.Resource, err = q.resource("resource", r.Resource); err != nil {
		return engine.UserState{}, err
	}
	if out.OnCreate, err = q.resource("onCreate", r.OnCreate); err != nil {
		return engine.UserState{}, err
	}
	if out.Resource != nil {
		out.UserName = out.Resource.Text("userName")
	}
	if want == engine.Active && out.UserName == "" {
		return engine.UserState{}, q.incomplete("an active user has a resource with a userName")
	}
	return out, nil
}

// resource decodes a member of a response that contains a SCIM resource. It returns nil if the member is absent or null.
func (q query) resource(member string, text json.RawMessage) (*scim.Resource, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil //nolint:nilnil // no attributes
	}
	r, err := scim.DecodeResource(text)
	if err != nil {
		return nil, q.incomplete(member + " is not a JSON object with SCIM attributes")
	}
	return r, nil
}

// Group implements engine.Directory.
func (d *Directory) Group(ctx context.Context, app, group string) (engine.GroupState, error) {
	q := query{d, "/group", app, group}
	var r GroupResponse
	if err := q.send(ctx, GroupRequest{App: app, ID: group}, &r); err != nil {
		return engine.GroupState{}, err
	}
	if err := q.about(r.App, r.ID); err != nil {
		return engine.GroupState{}, err
	}
	want, err := q.want(r.State, engine.Active, engine.Inactive, engine.Absent)
	switch {
	case err != nil:
		return engine.GroupState{}, err
	case want == engine.Active && r.DisplayName == "":
		return engine.GroupState{}, q.incomplete("an active group has a displayName")
	}
	return engine.GroupState{Want: want, DisplayName: r.DisplayName, RemoteID: r.RemoteID, DeleteRemote: r.DeleteRemote}, nil
}

// Members implements engine.Directory.
func (d *Directory) Members(ctx context.Context, app, group, after string, limit int) ([]string, error) {
	q := query{d, "/members", app, group}
	return q.list(after, limit, func(after string, limit int) ([]string, *bool, error) {
		var r MembersResponse
		if err := q.send(ctx, MembersRequest{App: app, ID: group, After: after, Limit: limit}, &r); err != nil {
			return nil, nil, err
		}
		if err := q.about(r.App, r.ID); err != nil {
			return nil, nil, err
		}
		switch {
		case r.Total == nil || *r.Total < len(r.Members):
			return nil, nil, q.incomplete("the response has no total, or a total that is less than the number of its members")
		case after == "" && r.More != nil && !*r.More && *r.Total != len(r.Members):
			return nil, nil, q.incomplete("the list ends before its total")
		}
		return r.Members, r.More, nil
	})
}

// IsMember implements engine.Directory.
func (d *Directory) IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error) {
	q := query{d, "/is-member", app, group}
	var r IsMemberResponse
	if err := q.send(ctx, IsMemberRequest{App: app, ID: group, Users: users}, &r); err != nil {
		return nil, err
	}
	if err := q.about(r.App, r.ID); err != nil {
		return nil, err
	}
	out := make(map[string]bool, len(users))
	for _, u := range users {
		is := r.Members[u]
		if is == nil {
			return nil, q.incomplete("the response lacks a user of the request")
		}
		out[u] = *is
	}
	if len(r.Members) != len(out) {
		return nil, q.fail(OtherObject, http.StatusOK, "the response has other users than the request")
	}
	return out, nil
}

// Principals implements engine.Lister.
func (d *Directory) Principals(ctx context.Context, app string, kind engine.Kind, after string, limit int) ([]string, error) {
	q := query{d, "/principals", app, ""}
	return q.list(after, limit, func(after string, limit int) ([]string, *bool, error) {
		var r PrincipalsResponse
		if err := q.send(ctx, PrincipalsRequest{App: app, Kind: string(kind), After: after, Limit: limit}, &r); err != nil {
			return nil, nil, err
		}
		if err := q.about(r.App, ""); err != nil {
			return nil, nil, err
		}
		if r.Kind != string(kind) {
			return nil, nil, q.fail(OtherObject, http.StatusOK, "the response is about another kind")
		}
		return r.IDs, r.More, nil
	})
}

// list reads up to limit ids by several requests, because fewer ids than the limit mean the end of the list to the engine.
func (q query) list(after string, limit int, page func(after string, limit int) (ids []string, more *bool, err error)) ([]string, error) {
	out := []string{}
	for range MaxPages {
		ids, more, err := page(after, limit-len(out))
		switch {
		case err != nil:
			return nil, err
		case ids == nil || more == nil:
			return nil, q.incomplete("the response has no list, or does not report whether more follow")
		case len(ids) > limit-len(out):
			return nil, q.incomplete("the list is longer than the limit of the request")
		case len(ids) == 0 && *more:
			return nil, q.fail(Unordered, http.StatusOK, "the list is empty, although more follow")
		}
		for _, id := range ids {
			switch {
			case id <= after:
				return nil, q.fail(Unordered, http.StatusOK, "the ids are not in ascending byte order")
			case len(id) > MaxID || !utf8.ValidString(id):
				return nil, q.incomplete(fmt.Sprintf("an id is longer than %d bytes or not valid UTF-8", MaxID))
			}
			after = id
		}
		out = append(out, ids...)
		if !*more || len(out) == limit {
			return out, nil
		}
	}
	return nil, q.fail(Unordered, http.StatusOK, fmt.Sprintf("the list has more than %d pages", MaxPages))
}
