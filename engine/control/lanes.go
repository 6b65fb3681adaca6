package control

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/internal/outage"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) laneRoutes() []rest.Route {
	return []rest.Route{
		all(a, "listEngineApps", "GET /engine/apps", "List the apps with their state in the engine", a.listApps),
		rest.Needs(all(a, "haltAllApps", "POST /engine/halt", "Disable operations for all apps",
			func(ctx context.Context, r *haltAllRequest) ([]engine.Halt, error) {
				return a.halt(ctx, "", r.haltBody)
			}), engine.AccessFleet),
		rest.Needs(all(a, "resumeAllApps", "POST /engine/resume", "Enable operations again that were disabled for all apps",
			func(ctx context.Context, r *haltAllRequest) ([]engine.Halt, error) {
				return a.resume(ctx, "", r.haltBody)
			}), engine.AccessFleet),
		row(a, "getEngineApp", "GET /engine/apps/{app}", "Show an app with its state in the engine", 0,
			func(ctx context.Context, r *appRequest) (client.App, error) { return a.showApp(ctx, r.App) }),
		rest.Needs(row(a, "haltApp", "POST /apps/{app}/halt", "Disable operations for an app", 0,
			func(ctx context.Context, r *haltRequest) ([]engine.Halt, error) {
				return a.halt(ctx, r.App, r.haltBody)
			}), engine.AccessApps),
		rest.Needs(row(a, "resumeApp", "POST /apps/{app}/resume", "Enable operations again that were disabled for an app", 0,
			func(ctx context.Context, r *haltRequest) ([]engine.Halt, error) {
				return a.resume(ctx, r.App, r.haltBody)
			}), engine.AccessApps),
		rest.Needs(row(a, "approveRemovals", "POST /apps/{app}/approve",
			"Approve the deactivations and deletions that the deletion guard blocks", 204,
			func(ctx context.Context, r *approveRequest) (rest.NoContent, error) {
				return rest.NoContent{}, Rejected(a.o.Engine.Apps().Approve(ctx, r.App, r.Body.Expected), "AppInstance", r.App)
			}), engine.AccessApprove),
		rest.Needs(row(a, "releaseApp", "POST /apps/{app}/release",
			"Resume an app that sends nothing after a 429, repeated failures or rejected credentials", 204,
			func(ctx context.Context, r *appRequest) (rest.NoContent, error) {
				return rest.NoContent{}, a.o.Engine.Apps().Kick(ctx, r.App)
			}), engine.AccessApps),
		rest.Needs(row(a, "waitForApp", "POST /apps/{app}/wait", "Wait until nothing of an app is pending", 0, a.waitForApp), engine.AccessRead),
		rest.Needs(row(a, "testApp", "POST /apps/{app}/test", "Read the first users of an app's SCIM server with its stored credentials", 204,
			a.test), engine.AccessApps),
		rest.Needs(row(a, "probeApp", "POST /apps/{app}/probe", "Probe the features of an app's SCIM server with temporary objects", 0,
			a.probe), engine.AccessApps),
		row(a, "getProfile", "GET /apps/{app}/profile", "Show the result of the last probe", 0,
			func(ctx context.Context, r *appRequest) (engine.Profile, error) {
				p, err := a.o.Engine.Targets().Profile(ctx, r.App)
				return p, Rejected(err, "Profile", r.App)
			}),
		rest.Needs(row(a, "unlearn", "POST /apps/{app}/unlearn", "Reset what the engine has learned about an app's SCIM server", 204,
			func(ctx context.Context, r *appRequest) (rest.NoContent, error) {
				return rest.NoContent{}, a.o.Engine.Targets().ResetLearned(ctx, r.App)
			}), engine.AccessApps),
		row(a, "listLifecycleEvents", "GET /apps/{app}/events", "List the lifecycle events of an app and its users and groups, in order", 0,
			a.listEvents),
		row(a, "streamLifecycleEvents", "GET /apps/{app}/events/stream",
			"Send the lifecycle events of an app and its users and groups as server-sent events, in order, as they are stored", 0, a.streamEvents),
	}
}

type haltBody struct {
	Body *struct {
		Operations []engine.Operation `json:"operations" enum:"create,link,update,reactivate,deactivate,members,delete" doc:"default: all"`
		Reason     string             `json:"reason" max:"1000" doc:"for operators"`
	} `body:"optional"`
}

func (b haltBody) read() (operations []engine.Operation, reason string) {
	if b.Body == nil {
		return nil, ""
	}
	return b.Body.Operations, b.Body.Reason
}

type haltAllRequest struct{ haltBody }

type haltRequest struct {
	appRequest
	haltBody
}

type approveRequest struct {
	appRequest
	Body struct {
		Expected int `json:"expected" required:"true" min:"1" doc:"number of blocked removals; if it has changed, nothing is approved"`
	} `body:"required"`
}

type waitAppRequest struct {
	appRequest
	within
}

type probeRequest struct {
	appRequest
	Body *struct {
		Domain string `json:"domain" max:"253" doc:"domain of the user name and email address of the probe's user; default: example.com"`
	} `body:"optional"`
}

type eventsRequest struct {
	appRequest
	eventPage
	Wait int `query:"waitSeconds" default:"0" min:"0" max:"60" doc:"maximum time to wait for the first event if there is none"`
}

type eventPage struct {
	After int64 `query:"after" min:"0" doc:"only events with a greater number"`
	Limit int   `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}

func (a *api) listApps(ctx context.Context, _ *rest.NoContent) ([]client.App, error) {
	apps, err := a.o.Names.Apps(ctx)
	if err != nil {
		return nil, err
	}
	tenant := a.o.Tenant(ctx)
	shown := make([]client.App, 0, len(apps))
	for _, app := range apps {
		if !strings.HasPrefix(app.ID, tenant) {
			continue
		}
		s, err := a.describe(ctx, app)
		if err != nil {
			return nil, err
		}
		shown = append(shown, s)
	}
	if tenant != "" {
		withoutTenant(reflect.ValueOf(shown), tenant)
	}
	slices.SortStableFunc(shown, func(a, b client.App) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)), cmp.Compare(a.ID, b.ID))
	})
	return shown, nil
}

func (a *api) showApp(ctx context.Context, id string) (client.App, error) {
	app, err := a.app(ctx, id)
	if err != nil {
		return client.App{}, err
	}
	return a.describe(ctx, app)
}

func (a *api) describe(ctx context.Context, app App) (client.App, error) {
	out := client.App{ID: app.ID, Label: app.Label}
	var err error
	if out.Counts, err = a.o.Engine.Apps().Counts(ctx, app.ID); err != nil {
		return out, err
	}
	if out.Lag, err = a.o.Engine.Apps().Lag(ctx, app.ID); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return out, err
	}
	lane, err := a.o.Engine.Apps().Get(ctx, app.ID)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return out, err
	}
	out.Learned = lane.Learned
	if out.Halts, err = a.halted(ctx, app.ID); err != nil {
		return out, err
	}
	if a.o.Unprovisioned != nil {
		if out.Unprovisioned, err = a.o.Unprovisioned(ctx, app.ID); err != nil {
			return out, err
		}
	}
	target, err := a.o.Directory.Target(ctx, app.ID)
	switch {
	case errors.Is(err, engine.ErrUnknownApp):
		out.Lane = client.Lane{State: string(engine.SuspensionUnknownApp), Reason: "there is no provisioning connection"}
		return out, nil
	case outage.Is(err), ctx.Err() != nil:
		return out, err
	case err != nil: // such as credentials that cannot be decrypted; the other apps are listed nevertheless
		out.Lane = client.Lane{State: client.LaneUnreadable, Reason: errtext.Plain(err)}
		return out, nil
	}
	out.BaseURL = target.BaseURL
	if lane.Learned.BaseURL != target.BaseURL {
		lane.Learned = engine.Learned{} // the stored properties belong to an earlier target
	}
	out.Style, out.Fallback = lane.Learned.Style(target, a.o.Now()), cmp.Or(target.Fallback, engine.FallbackLearn)
	out.Lane = laneOf(target.Paused, lane)
	return out, nil
}

// laneOf returns the state of an app's lane, with the reason if no changes are sent. paused is the current setting of the directory, which
// takes precedence over the stored lane.
func laneOf(paused bool, l engine.Lane) client.Lane {
	switch {
	case paused:
		return client.Lane{State: string(engine.SuspensionPaused), Reason: "the application or its connection is not active"}
	case l.Suspension.Reason == engine.SuspensionMaintenance:
		return client.Lane{State: string(l.Suspension.Reason), Until: l.Suspension.Until}
	case l.Hold.Kind != engine.HoldNone:
		return client.Lane{State: string(l.Hold.Kind), Reason: l.Hold.Reason, Until: l.Hold.Until}
	}
	return client.Lane{State: client.LaneRunning}
}

// halted returns the halts of an app (empty: those of all apps), never nil.
func (a *api) halted(ctx context.Context, app string) ([]engine.Halt, error) {
	halts, err := a.o.Engine.Apps().Halts(ctx, app)
	return append([]engine.Halt{}, halts...), err
}

func (a *api) halt(ctx context.Context, app string, b haltBody) ([]engine.Halt, error) {
	operations, reason := b.read()
	if err := a.o.Engine.Apps().Halt(ctx, app, reason, operations...); err != nil {
		return nil, err
	}
	return a.halted(ctx, app)
}

func (a *api) resume(ctx context.Context, app string, b haltBody) ([]engine.Halt, error) {
	operations, _ := b.read()
	if err := a.o.Engine.Apps().Resume(ctx, app, operations...); err != nil {
		return nil, err
	}
	return a.halted(ctx, app)
}

func (a *api) waitForApp(ctx context.Context, r *waitAppRequest) (client.App, error) {
	waiting, cancel := r.context(ctx)
	defer cancel()
	if err := a.synced(waiting); err != nil {
		return client.App{}, Rejected(err, "AppInstance", r.App)
	}
	if err := a.timeoutError(waiting, a.o.Engine.Wait(waiting, r.App), "AppInstance", r.App, nil); err != nil {
		return client.App{}, err
	}
	return a.showApp(ctx, r.App)
}

// test tests the connection and changes neither the target nor the lane. To end a quarantine, the operator releases the app.
func (a *api) test(ctx context.Context, r *appRequest) (rest.NoContent, error) {
	target, err := a.o.Directory.Target(ctx, r.App)
	if err == nil {
		err = a.o.Engine.Targets().TestApp(ctx, r.App, target)
	}
	return rest.NoContent{}, targetError(err, r.App)
}

func (a *api) probe(ctx context.Context, r *probeRequest) (engine.Profile, error) {
	var o engine.ProbeOptions
	if r.Body != nil {
		o.Domain = r.Body.Domain
	}
	p, err := a.o.Engine.Targets().ProbeApp(ctx, r.App, o)
	return p, targetError(err, r.App)
}

// eventPageSize is the page size of the search for events of one principal.
const eventPageSize = 1000

// events returns the events of an app, or of one principal of the app.
func (a *api) events(ctx context.Context, app string, about engine.Principal, page eventPage) ([]client.Event, error) {
	size := page.Limit
	if about.ID != "" {
		size = eventPageSize
	}
	var found []engine.Event
	for after := page.After; len(found) < page.Limit; {
		some, err := a.o.Engine.Apps().Events(ctx, engine.EventQuery{App: app, After: after, Limit: size})
		if err != nil {
			return nil, err
		}
		for _, e := range some {
			if after = e.Seq; about.ID == "" || (engine.Principal{Kind: e.Kind, ID: e.Principal}) == about {
				found = append(found, e)
			}
		}
		if len(some) < size || about.ID == "" {
			break
		}
	}
	return a.shownEvents(ctx, app, found[:min(page.Limit, len(found))])
}

// shownEvents returns events with the names of their principals.
func (a *api) shownEvents(ctx context.Context, app string, found []engine.Event) ([]client.Event, error) {
	principals := make([]engine.Principal, 0, len(found))
	for _, e := range found {
		principals = append(principals, engine.Principal{Kind: e.Kind, ID: e.Principal})
	}
	names, err := a.names(ctx, app, principals)
	if err != nil {
		return nil, err
	}
	shown := make([]client.Event, 0, len(found))
	for i, e := range found {
		shown = append(shown, client.Event{Event: e, Name: names[principals[i]], EventData: e.Data})
	}
	return shown, nil
}

var laneWords = rest.Words{
	reflect.TypeFor[client.App](): {Name: "EngineApp", Served: true, Members: map[string]reflect.StructTag{
		"id":      "",
		"label":   "",
		"baseUrl": `doc:"base URL of its SCIM server; absent without a connection"`,
		"style": `enum:"catalog,wizard,auto" doc:"which requests update users and groups: catalog: PATCH for activation, deactivation, ` +
			`password and membership, PUT for other updates; wizard: PUT for all; auto: not determined yet for this ` +
			`target; absent without a connection"`,
		"fallback": `enum:"learn,none" doc:"whether another form of a request may be tried after a rejection or a success without effect: ` +
			`learn or none; absent without a connection"`,
		"lane":          "",
		"counts":        `doc:"principals by status"`,
		"lag":           "",
		"unprovisioned": `doc:"assigned users that get no account, by reason"`,
		"learned":       "",
		"halts":         `doc:"operations that are disabled for the app, or for all apps"`,
	}},
	reflect.TypeFor[client.Lane](): {Name: "LaneState", Served: true, Members: map[string]reflect.StructTag{
		"state": `enum:"running,paused,maintenance,unknown-app,pause,breaker,quarantine" doc:"paused: the app or its connection is not ` +
			`active; maintenance: in a maintenance window; unknown-app: no connection; pause: the target requested it with 429 or 503; ` +
			`breaker: consecutive failures; quarantine: the target rejects the credentials"`,
		"reason": "",
		"until":  "",
	}},
	reflect.TypeFor[client.Unprovisioned](): {Served: true, Members: map[string]reflect.StructTag{
		"reason": "",
		"users":  "",
	}},
	reflect.TypeFor[engine.Lag](): {Served: true, Members: map[string]reflect.StructTag{
		"due":         "",
		"retrying":    `doc:"number of pending principals in a backoff"`,
		"accepted":    `doc:"number of pending principals with a change that the target accepted with 202 and has not yet carried out"`,
		"failed":      "",
		"held":        "",
		"oldest":      `doc:"time of the oldest pending change"`,
		"lastSuccess": "",
	}},
	reflect.TypeFor[engine.Learned](): {Served: true, Members: map[string]reflect.StructTag{
		"baseUrl":     `doc:"base URL of the target"`,
		"traits":      `doc:"deviations of the target that provisioning has detected, with the time"`,
		"probed":      `doc:"deviations that the probe found present (true) or absent (false)"`,
		"probedAt":    "",
		"config":      "",
		"memberBatch": `doc:"maximum number of members per request; absent for the default"`,
		"rate":        `doc:"requests per second that the target accepts; absent for the configured rate"`,
	}},
	reflect.TypeFor[engine.Config](): {Name: "TargetConfig", Served: true, Members: map[string]reflect.StructTag{
		"readAt":   "",
		"noPatch":  "",
		"noFilter": "",
	}},
	reflect.TypeFor[engine.Halt](): {Served: true, Members: map[string]reflect.StructTag{
		"app":       `doc:"absent if the halt is for all apps"`,
		"operation": "",
		"reason":    "",
		"since":     "",
	}},
	reflect.TypeFor[engine.Profile](): {Served: true, Members: map[string]reflect.StructTag{
		"at":         "",
		"results":    "",
		"advertised": `doc:"capabilities that the target advertises"`,
		"leftovers":  `doc:"objects that could not be removed"`,
		"requests":   `doc:"number of requests"`,
	}},
	reflect.TypeFor[engine.ProbeResult](): {Served: true, Members: map[string]reflect.StructTag{
		"feature": "",
		"verdict": `enum:"works,refused,lost,unknown"`,
		"status":  "",
		"detail":  "",
	}},
	reflect.TypeFor[engine.Advertised](): {Name: "ProbeAdvertised", Served: true, Members: map[string]reflect.StructTag{
		"present":    "",
		"patch":      "",
		"filter":     "",
		"maxResults": "",
		"bulk":       "",
		"sort":       "",
		"etag":       "",
	}},
	reflect.TypeFor[client.Event](): {Served: true, Members: map[string]reflect.StructTag{
		"name": "",
	}},
	reflect.TypeFor[engine.Event](): {Served: true, Members: map[string]reflect.StructTag{
		"seq":  `doc:"number of the event within the app, without gaps"`,
		"at":   "",
		"type": "",
		"kind": "",
		"id":   "",
	}},
	reflect.TypeFor[engine.EventData](): {Name: "Event", Served: true, Members: map[string]reflect.StructTag{
		"operation": "",
		"status":    "",
		"http":      "",
		"remoteId":  "",
		"run":       `doc:"id of the sequence: the exchanges of one attempt to provision the user or group"`,
		"hold":      "",
		"until":     `doc:"end of the hold, or deadline of the change that the target accepted with 202"`,
		"since":     `doc:"time of the first unsynchronized change, for an overdue deactivation"`,
	}},
}
