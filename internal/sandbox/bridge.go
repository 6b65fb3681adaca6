package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/mgmtapi/desired"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/provisioning"
)

// bridge lets the engine ask the management API's documents for what is desired, and writes down there what came
// of it. Neither side knows the other; this is the translation.
type bridge struct {
	desired *desired.State
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
	t, err := b.desired.Target(ctx, app)
	if errors.Is(err, desired.ErrUnknownApp) {
		return engine.Target{}, engine.ErrUnknownApp
	}
	if err != nil {
		return engine.Target{}, err
	}
	return b.targetOf(t), nil
}

// targetOf translates a target.
func (b *bridge) targetOf(t desired.Target) engine.Target {
	return engine.Target{
		BaseURL: t.BaseURL, Auth: authOf(t.Header, t.Token, t.OAuth), Style: styles[t.Style], Fallback: fallbacks[t.Fallback],
		UserNameAttribute: t.UserNameAttribute, CreateUsers: t.CreateUsers, UpdateUsers: t.UpdateUsers, DeactivateUsers: t.DeactivateUsers, PushGroups: t.PushGroups,
		SyncPasswords: t.SyncPasswords, Paused: t.Paused, Timeout: b.timeout, Guard: b.guard, OnMissing: engine.Fail,
		OnRecycled: engine.LinkAuto, // the management API links whatever the lookup finds
	}
}

// styles translates the update styles of connections.
var styles = map[model.UpdateStyle]engine.Style{
	model.StyleCatalog: engine.Catalog, model.StyleWizard: engine.Wizard, model.StyleAuto: engine.Auto,
}

// fallbacks translates the fallbacks of connections.
var fallbacks = map[model.Fallback]engine.Fallback{model.FallbackLearn: engine.FallbackLearn, model.FallbackNone: engine.FallbackNone}

// User implements engine.Directory.
func (b *bridge) User(ctx context.Context, app, user string) (engine.UserState, error) {
	u, err := b.desired.User(ctx, app, user)
	return engine.UserState{Want: wants[u.Want], UserName: u.UserName, Resource: u.Resource, Anew: u.Anew, Password: u.Password, PasswordVersion: u.PasswordVersion}, err
}

// Group implements engine.Directory.
func (b *bridge) Group(ctx context.Context, app, group string) (engine.GroupState, error) {
	g, err := b.desired.Group(ctx, app, group)
	return engine.GroupState{Want: wants[g.Want], DisplayName: g.DisplayName, RemoteID: g.RemoteID, DeleteRemote: g.DeleteRemote}, err
}

// Members implements engine.Directory.
func (b *bridge) Members(ctx context.Context, app, group, after string, limit int) ([]string, error) {
	return b.desired.Members(ctx, app, group, after, limit)
}

// IsMember implements engine.Directory.
func (b *bridge) IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error) {
	return b.desired.IsMember(ctx, app, group, users)
}

// wants translates the wanted states.
var wants = map[desired.Want]engine.Want{
	desired.Active: engine.Active, desired.Inactive: engine.Inactive, desired.Absent: engine.Absent, desired.Keep: engine.Keep,
}

// wanted translates them back.
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
	report := b.desired.ReportUser
	if r.Kind == engine.Group {
		report = b.desired.ReportGroup
	}
	err := report(ctx, r.App, r.ID, desired.Result{
		Want: wanted[r.Want], Outcome: outcomeOf(r.Outcome), RemoteID: r.RemoteID, More: r.Status == engine.StatusDirty, Error: r.Error,
		Operation: operations[r.Operation], Confirmed: confirmed[r.Confirmed], Lapsed: r.Lapsed, Steps: steps(r.Steps),
		PasswordVersion: r.PasswordVersion,
	})
	if err != nil {
		b.log.ErrorContext(ctx, "report a result", "app", r.App, "kind", r.Kind, "id", r.ID, "err", err)
	}
}

// operations translates what a sequence did. What is not told apart in the log has no translation.
var operations = map[engine.Operation]desired.Operation{
	engine.OpCreate: desired.Created, engine.OpLink: desired.Linked, engine.OpUpdate: desired.Updated,
	engine.OpReactivate: desired.Reactivated, engine.OpDeactivate: desired.Deactivated,
}

// confirmed translates what a target has carried out after it had accepted it.
var confirmed = map[engine.Operation]desired.Operation{
	engine.OpCreate: desired.Created, engine.OpUpdate: desired.Updated, engine.OpReactivate: desired.Reactivated,
	engine.OpDeactivate: desired.Deactivated, engine.OpMembers: desired.Updated, engine.OpDelete: desired.Removed,
}

func steps(sent []engine.Step) []desired.Step {
	out := make([]desired.Step, len(sent))
	for i, s := range sent {
		out[i] = desired.Step{Method: s.Method, Path: s.Path, Status: s.Status, Message: s.Message, Alternative: s.Alternative}
	}
	return out
}

func outcomeOf(c engine.Class) desired.Outcome {
	switch c {
	case engine.Done:
		return desired.Done
	case engine.Skipped:
		return desired.Skipped
	case engine.Accepted:
		return desired.Started // the target has yet to carry it out
	default:
		return desired.Failed
	}
}

// connections verifies connections with the engine's client.
type connections struct {
	engine  *provision.Engine
	timeout time.Duration
}

var _ provisioning.ConnectionTester = (*connections)(nil)

// TestConnection implements provisioning.ConnectionTester.
func (c *connections) TestConnection(ctx context.Context, e provisioning.Endpoint) error {
	return c.engine.TestApp(ctx, e.App, engine.Target{BaseURL: e.BaseURL, Auth: authOf(e.Header, e.Token, e.OAuth), Timeout: c.timeout})
}

func authOf(header model.HeaderFormat, token string, oauth *model.ConnectionOAuth) engine.Auth {
	auth := engine.Auth{Scheme: engine.Bearer, Secret: token}
	if oauth != nil {
		auth.Scheme = engine.ClientCredentials
		auth.OAuth = engine.OAuth{TokenURL: oauth.TokenURL, ClientID: oauth.ClientID, Scope: oauth.Scope}
		return auth
	}
	switch header {
	case model.HeaderRaw:
		auth.Scheme = engine.Raw
	case model.HeaderBasic:
		auth.Scheme = engine.Basic
	}
	return auth
}
