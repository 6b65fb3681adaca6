package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/mgmtapi"
)

// bridge connects the engine and the management API. It reads the desired state from the documents of the management API for the engine,
// and reports the engine's results to the management API. The two packages do not depend on each other; bridge translates between their
// types.
type bridge struct {
	wanted  *mgmtapi.Wanted
	timeout time.Duration
	guard   engine.Guard
	log     *slog.Logger
}

var (
	_ engine.Directory = (*bridge)(nil)
	_ engine.Observer  = (*bridge)(nil)
)

// Target implements engine.Directory.
func (b *bridge) Target(ctx context.Context, app string) (engine.Target, error) {
	t, err := b.wanted.Target(ctx, app)
	if errors.Is(err, mgmtapi.ErrNoTarget) {
		return engine.Target{}, engine.ErrUnknownApp
	}
	if err != nil {
		return engine.Target{}, err
	}
	return b.targetOf(t), nil
}

func (b *bridge) targetOf(t mgmtapi.Target) engine.Target {
	return engine.Target{
		BaseURL: t.BaseURL, Auth: authOf(t.Credentials), Style: styles[t.Style], Fallback: fallbacks[t.Fallback],
		UserNameAttribute: t.UserNameAttribute, CreateUsers: t.CreateUsers, UpdateUsers: t.UpdateUsers, DeactivateUsers: t.DeactivateUsers,
		PushGroups:    t.PushGroups,
		SyncPasswords: t.SyncPasswords, Paused: t.Paused, Timeout: b.timeout, Guard: b.guard, OnMissing: engine.Fail,
		OnRecycled: engine.LinkAuto, // the management API links every object that the lookup finds
	}
}

// styles maps the update styles of connections in the management API to those of the engine.
var styles = map[mgmtapi.UpdateStyle]engine.Style{
	mgmtapi.StyleCatalog: engine.Catalog, mgmtapi.StyleWizard: engine.Wizard, mgmtapi.StyleAuto: engine.Auto,
}

// fallbacks maps the fallbacks of connections in the management API to those of the engine.
var fallbacks = map[mgmtapi.Fallback]engine.Fallback{
	mgmtapi.FallbackLearn: engine.FallbackLearn, mgmtapi.FallbackNone: engine.FallbackNone,
}

// User implements engine.Directory.
func (b *bridge) User(ctx context.Context, app, user string) (engine.UserState, error) {
	u, err := b.wanted.User(ctx, app, user)
	return engine.UserState{
		Want: wants[u.Want], UserName: u.UserName, Resource: u.Resource, Activating: u.Activating, Password: u.Password,
		PasswordVersion: u.PasswordVersion,
	}, err
}

// Group implements engine.Directory.
func (b *bridge) Group(ctx context.Context, app, group string) (engine.GroupState, error) {
	g, err := b.wanted.Group(ctx, app, group)
	return engine.GroupState{Want: wants[g.Want], DisplayName: g.DisplayName, RemoteID: g.RemoteID, DeleteRemote: g.DeleteRemote}, err
}

// Members implements engine.Directory.
func (b *bridge) Members(ctx context.Context, app, group, after string, limit int) ([]string, error) {
	return b.wanted.Members(ctx, app, group, after, limit)
}

// IsMember implements engine.Directory.
func (b *bridge) IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error) {
	return b.wanted.IsMember(ctx, app, group, users)
}

// wants maps the desired states of the management API to those of the engine.
var wants = map[mgmtapi.Want]engine.Want{
	mgmtapi.Active: engine.Active, mgmtapi.Inactive: engine.Inactive, mgmtapi.Absent: engine.Absent, mgmtapi.Keep: engine.Keep,
}

// wanted is the inverse of wants.
var wanted = inverse(wants)

func inverse[K, V comparable](m map[K]V) map[V]K {
	back := make(map[V]K, len(m))
	for k, v := range m {
		back[v] = k
	}
	return back
}

// Result implements engine.Observer.
func (b *bridge) Result(ctx context.Context, r engine.Result) {
	err := b.wanted.Report(ctx, mgmtapi.Result{
		Principal: principalOf(r.App, r.Kind, r.ID), Want: wanted[r.Want], Outcome: outcomeOf(r.Outcome), RemoteID: r.RemoteID,
		More: r.Status == engine.StatusDirty, Error: r.Error,
		Operation: operations[r.Operation], Confirmed: confirmed[r.Confirmed], Lapsed: r.Lapsed, Steps: steps(r.Steps),
		PasswordVersion: r.PasswordVersion,
	})
	if err != nil {
		b.log.ErrorContext(ctx, "reporting a result failed", "app", r.App, "kind", r.Kind, "id", r.ID, "err", err)
	}
}

// kinds maps the kinds of principals of the engine to those of the management API.
var kinds = map[engine.Kind]mgmtapi.Kind{engine.User: mgmtapi.User, engine.Group: mgmtapi.Group}

func principalOf(app string, kind engine.Kind, id string) mgmtapi.Principal {
	return mgmtapi.Principal{App: app, Kind: kinds[kind], ID: id}
}

// operations maps the operations of sequences to those of the management API. OpMembers and OpDelete are absent: results with these
// operations have no operation in the management API.
var operations = map[engine.Operation]mgmtapi.Operation{
	engine.OpCreate: mgmtapi.Created, engine.OpLink: mgmtapi.Linked, engine.OpUpdate: mgmtapi.Updated,
	engine.OpReactivate: mgmtapi.Reactivated, engine.OpDeactivate: mgmtapi.Deactivated,
}

// confirmed maps the operations that a target first accepted and later carried out to those of the management API.
var confirmed = map[engine.Operation]mgmtapi.Operation{
	engine.OpCreate: mgmtapi.Created, engine.OpUpdate: mgmtapi.Updated, engine.OpReactivate: mgmtapi.Reactivated,
	engine.OpDeactivate: mgmtapi.Deactivated, engine.OpMembers: mgmtapi.Updated, engine.OpDelete: mgmtapi.Removed,
}

func steps(sent []engine.Step) []mgmtapi.Step {
	out := make([]mgmtapi.Step, len(sent))
	for i, s := range sent {
		out[i] = mgmtapi.Step{Method: s.Method, Path: s.Path, Status: s.Status, Message: s.Message, Alternative: s.Alternative}
	}
	return out
}

func outcomeOf(c engine.Class) mgmtapi.Outcome {
	switch c {
	case engine.Done:
		return mgmtapi.Done
	case engine.Skipped:
		return mgmtapi.Skipped
	case engine.Accepted:
		return mgmtapi.Started // the target has accepted the change but not carried it out yet
	case engine.Held, engine.Rejected, engine.Transient, engine.Throttled, engine.Denied:
	}
	return mgmtapi.Failed
}

// connections tests connections with the engine's client.
type connections struct {
	engine  *provision.Engine
	timeout time.Duration
}

var _ mgmtapi.ConnectionTester = (*connections)(nil)

// TestConnection implements mgmtapi.ConnectionTester.
func (c *connections) TestConnection(ctx context.Context, e mgmtapi.Endpoint) error {
	return c.engine.Targets().TestApp(ctx, e.App, engine.Target{BaseURL: e.BaseURL, Auth: authOf(e.Credentials), Timeout: c.timeout})
}

func authOf(c mgmtapi.Credentials) engine.Auth {
	auth := engine.Auth{Scheme: engine.Bearer, Secret: c.Secret}
	if oauth := c.OAuth; oauth != nil {
		auth.Scheme = engine.ClientCredentials
		auth.OAuth = engine.OAuth{TokenURL: oauth.TokenURL, ClientID: oauth.ClientID, Scope: oauth.Scope}
		return auth
	}
	switch c.Header {
	case mgmtapi.HeaderRaw:
		auth.Scheme = engine.Raw
	case mgmtapi.HeaderBasic:
		auth.Scheme = engine.Basic
	}
	return auth
}
