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
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/scim"
)

func (a *api) principalRoutes() []rest.Route {
	const one = "/apps/{app}/principals/{kind}/{principal}"
	return []rest.Route{
		row(a, "listPrincipals", "GET /apps/{app}/principals", "List the users and groups of an app with their state in the engine", 0,
			a.principals),
		row(a, "getPrincipal", "GET "+one, "Show the state of a user or group", 0,
			func(ctx context.Context, r *principalRequest) (client.Principal, error) { return a.principal(ctx, r) }),
		row(a, "rehearsePrincipal", "GET "+one+"/trace", "Show the requests that would be sent now for a user or group, without sending them", 0,
			a.dryRun),
		row(a, "provisionPrincipal", "POST "+one+"/provision", "Provision a user or group now, and show the requests", 0, a.provision),
		row(a, "verifyPrincipal", "GET "+one+"/proof", "Read a user or group on the SCIM server and compare it with the desired state", 0,
			a.verify),
		row(a, "explainPrincipal", "GET "+one+"/explanation",
			"Explain why a user or group is in an app, and where its attribute values come from", 0, a.explain),
		rest.Needs(row(a, "waitForPrincipal", "POST "+one+"/wait",
			"Wait until the last change of a user or group has succeeded or failed, or is on hold", 0, a.waitForPrincipal), engine.AccessRead),
		row(a, "listPrincipalEvents", "GET "+one+"/events", "List the lifecycle events of a user or group", 0,
			func(ctx context.Context, r *principalEventsRequest) ([]client.Event, error) {
				return a.events(ctx, r.App, r.about(), r.eventPage)
			}),
	}
}

type principalsRequest struct {
	appRequest
	Kind   string `query:"kind" enum:"user,group" doc:"only those of this kind"`
	Status string `query:"status" enum:"dirty,clean,skipped,waiting,retrying,pending,failed,held,dismissed" doc:"only those with this status"`
	After  string `query:"after" doc:"position of the last principal of the previous page as kind:id"`
	Limit  int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}

func (r principalsRequest) where() (app, kind string) { return r.App, r.Kind }

type principalRequest struct {
	appRequest
	Kind      string `path:"kind" doc:"user or group"`
	Principal string `path:"principal" doc:"id of the user or group"`
}

func (r principalRequest) where() (app, kind string) { return r.App, r.Kind }

func (r *principalRequest) about() engine.Principal {
	return engine.Principal{Kind: engine.Kind(r.Kind), ID: r.Principal}
}

// resourceNames is the resource name in a not-found error, by the kind of principal.
var resourceNames = map[engine.Kind]string{engine.User: "User", engine.Group: "UserGroup"}

// rejected calls Rejected with the kind and the id of the principal in the request.
func (r *principalRequest) rejected(err error) error {
	return Rejected(err, resourceNames[engine.Kind(r.Kind)], r.Principal)
}

type provisionRequest struct {
	principalRequest
	within
	Body *struct {
		ForceSync  bool `json:"forceSync" doc:"also send attributes that the target has ignored before"`
		AllMembers bool `json:"allMembers" doc:"push the complete membership of a group, not only its changes"`
	} `body:"optional"`
}

type waitRequest struct {
	principalRequest
	within
}

type principalEventsRequest struct {
	principalRequest
	eventPage
}

// position parses the start of a page: kind:id, or empty for the first page.
func position(text string) (p engine.Principal, err error) {
	if text == "" {
		return p, nil
	}
	kind, id, ok := strings.Cut(text, ":")
	p = engine.Principal{Kind: engine.Kind(kind), ID: id}
	if !ok || p.Kind != engine.User && p.Kind != engine.Group {
		return p, rest.Invalid("after", "The position has the form kind:id; kind is user or group")
	}
	return p, nil
}

func (a *api) principals(ctx context.Context, r *principalsRequest) ([]client.Principal, error) {
	query := engine.StateQuery{App: r.App, Kind: engine.Kind(r.Kind), Status: engine.Status(r.Status), Limit: r.Limit}
	after, err := position(r.After)
	if err != nil {
		return nil, err
	}
	if after.ID != "" {
		query.After = &engine.State{App: r.App, Kind: after.Kind, ID: after.ID}
	}
	states, err := a.o.Engine.States(ctx, query)
	if err != nil {
		return nil, err
	}
	return a.describePrincipals(ctx, r.App, states)
}

func (a *api) principal(ctx context.Context, r *principalRequest) (client.Principal, error) {
	s, err := a.o.Engine.State(ctx, r.App, engine.Kind(r.Kind), r.Principal)
	if err != nil {
		return client.Principal{}, r.rejected(err)
	}
	shown, err := a.describePrincipals(ctx, r.App, []engine.State{s})
	if err != nil {
		return client.Principal{}, err
	}
	return shown[0], nil
}

func (a *api) describePrincipals(ctx context.Context, app string, states []engine.State) ([]client.Principal, error) {
	about := make([]engine.Principal, 0, len(states))
	for i := range states {
		about = append(about, engine.Principal{Kind: states[i].Kind, ID: states[i].ID})
	}
	names, err := a.names(ctx, app, about)
	if err != nil {
		return nil, err
	}
	shown := make([]client.Principal, 0, len(states))
	for i := range states {
		s := &states[i]
		shown = append(shown, client.Principal{
			Kind: s.Kind, ID: s.ID, Name: cmp.Or(names[about[i]], s.RemoteName), State: s.PrincipalState(),
			WaitingOn: s.WaitingOn, DirtySince: s.DirtySince,
		})
	}
	return shown, nil
}

// assigned reports whether a principal is assigned to an app or pushed to it. If neither the embedder nor the engine has the
// principal, assigned returns a not-found error.
func (a *api) assigned(ctx context.Context, r *principalRequest) (bool, error) {
	p := r.about()
	assigned, err := a.o.Names.Assigned(ctx, r.App, p)
	if err != nil || assigned {
		return assigned, err
	}
	names, err := a.o.Names.Names(ctx, r.App, []engine.Principal{p})
	if _, exists := names[p]; err == nil && !exists {
		_, err = a.o.Engine.State(ctx, r.App, p.Kind, p.ID)
	}
	return false, r.rejected(err)
}

func (a *api) dryRun(ctx context.Context, r *principalRequest) (client.Trace, error) {
	assigned, err := a.assigned(ctx, r)
	if err != nil {
		return client.Trace{}, err
	}
	t, err := a.o.Engine.Traces().DryRun(ctx, r.App, engine.Kind(r.Kind), r.Principal)
	if err != nil {
		return client.Trace{}, r.rejected(err)
	}
	return traced(t, assigned, t.Idle()), nil
}

func (a *api) provision(ctx context.Context, r *provisionRequest) (client.Trace, error) {
	ctx, cancel := r.context(ctx)
	defer cancel()
	if err := a.synced(ctx); err != nil {
		return client.Trace{}, r.rejected(err)
	}
	assigned, err := a.assigned(ctx, &r.principalRequest)
	if err != nil {
		return client.Trace{}, err
	}
	var o engine.ProvisionOptions
	if r.Body != nil {
		o = engine.ProvisionOptions{ForceSync: r.Body.ForceSync, AllMembers: r.Body.AllMembers}
	}
	t, err := a.o.Engine.Traces().Run(ctx, r.App, engine.Kind(r.Kind), r.Principal, o)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return client.Trace{}, r.rejected(err)
	}
	return traced(t, assigned, false), nil // after a timeout, the trace has the exchanges so far and the reason for the wait
}

func traced(t engine.Trace, assigned, idle bool) client.Trace {
	if t.Desired != nil {
		t.Desired = &scim.Resource{Object: *sorted(&t.Desired.Object).(*scim.Object)}
	}
	sortDifferences(t.Diff)
	return client.Trace{App: t.App, Kind: t.Kind, ID: t.ID, Assigned: assigned, Idle: idle, Trace: t}
}

// sorted returns a value with the members of objects ordered by name, so that responses do not depend on the order in which attributes were
// set.
func sorted(v any) any {
	switch v := v.(type) {
	case *scim.Object:
		var members []scim.Member
		for name, value := range v.All() {
			members = append(members, scim.Member{Name: name, Value: sorted(value)})
		}
		slices.SortFunc(members, func(a, b scim.Member) int { return strings.Compare(a.Name, b.Name) })
		return scim.NewObject(members...)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = sorted(v[i])
		}
		return out
	}
	return v
}

func sortDifferences(all []engine.Difference) {
	for i := range all {
		all[i].Before, all[i].After = sorted(all[i].Before), sorted(all[i].After)
	}
}

func (a *api) verify(ctx context.Context, r *principalRequest) (client.Verification, error) {
	assigned, err := a.assigned(ctx, r)
	if err != nil {
		return client.Verification{}, err
	}
	v, err := a.o.Engine.Traces().Verify(ctx, r.App, engine.Kind(r.Kind), r.Principal)
	if err != nil {
		return client.Verification{}, r.rejected(err)
	}
	sortDifferences(v.Diff)
	return client.Verification{
		App: v.App, Kind: v.Kind, ID: v.ID, Assigned: assigned, Verification: v, Converged: v.Converged(), Summary: v.String(),
	}, nil
}

func (a *api) explain(ctx context.Context, r *principalRequest) (client.Explanation, error) {
	assigned, err := a.assigned(ctx, r)
	if err != nil {
		return client.Explanation{}, err
	}
	x, err := a.o.Engine.Traces().Explain(ctx, r.App, engine.Kind(r.Kind), r.Principal)
	if err != nil {
		return client.Explanation{}, r.rejected(err)
	}
	for i := range x.Values {
		x.Values[i].Value = sorted(x.Values[i].Value)
	}
	return client.Explanation{App: x.App, Kind: x.Kind, ID: x.ID, Assigned: assigned, PrincipalExplanation: x}, nil
}

func (a *api) waitForPrincipal(ctx context.Context, r *waitRequest) (client.Principal, error) {
	waiting, cancel := r.context(ctx)
	defer cancel()
	if err := a.synced(waiting); err != nil {
		return client.Principal{}, r.rejected(err)
	}
	p := r.about()
	_, err := a.o.Engine.WaitFor(waiting, r.App, p.Kind, p.ID)
	if err := a.timeoutError(waiting, err, resourceNames[p.Kind], r.App, &p); err != nil {
		return client.Principal{}, err
	}
	return a.principal(ctx, &r.principalRequest)
}

var principalWords = rest.Words{
	reflect.TypeFor[client.Principal](): {Served: true, Members: map[string]reflect.StructTag{
		"kind":       `enum:"user,group"`,
		"id":         "",
		"name":       `doc:"login or name"`,
		"state":      "",
		"waitingOn":  `doc:"the first users without an account that the principal waits for"`,
		"dirtySince": `doc:"time of the first unsynchronized change"`,
	}},
	reflect.TypeFor[engine.PrincipalState](): {Name: "Known", Served: true, Members: map[string]reflect.StructTag{
		"desired":    `doc:"generation of the last change; 0 if there was none"`,
		"synced":     `doc:"generation that the target is known to have"`,
		"status":     "",
		"want":       "",
		"nextAt":     `doc:"time of the next attempt; absent if nothing is pending"`,
		"attempts":   `doc:"number of consecutive failures"`,
		"remoteId":   "",
		"remoteName": "",
		"origin":     `doc:"origin of the link to the account"`,
		"unkept":     `doc:"attributes that the target ignores, by path"`,
		"operation":  "",
		"http":       "",
		"error":      "",
		"updatedAt":  "",
		"pending":    `doc:"a change that the target accepted with 202, not yet shown by a read"`,
	}},
	reflect.TypeFor[engine.PendingChange](): {Name: "Pending", Served: true, Members: map[string]reflect.StructTag{
		"operation":   "",
		"method":      "",
		"path":        `doc:"relative to the base URL"`,
		"transaction": `doc:"Set-Txn header of the response"`,
		"location":    `doc:"Location header of the response"`,
		"generation":  "",
		"at":          `doc:"time at which the target accepted the change"`,
		"deadline":    `doc:"time limit for the target; afterwards the change is sent again"`,
		"reads":       `doc:"number of reads since the change was accepted"`,
	}},
	reflect.TypeFor[engine.IgnoredAttribute](): {Name: "Unkept", Served: true, Members: map[string]reflect.StructTag{
		"sent":    `doc:"digest of the value"`,
		"rounds":  `doc:"number of times that the value was sent and then missing in a read"`,
		"open":    `doc:"the value was sent, and the account was not read afterwards"`,
		"ignored": `doc:"the engine no longer sends the value, because the target ignores it"`,
	}},
	reflect.TypeFor[client.Trace](): {Served: true, Members: map[string]reflect.StructTag{
		"app":      "",
		"kind":     `enum:"user,group"`,
		"id":       "",
		"assigned": `doc:"the user is assigned to the app, or the group is pushed to it"`,
		"idle":     `doc:"the dry run succeeds and changes nothing on the target"`,
	}},
	reflect.TypeFor[engine.Trace](): {Served: true, Members: map[string]reflect.StructTag{
		"app":       "",
		"kind":      `enum:"user,group"`,
		"id":        "",
		"rehearsed": `doc:"dry run: writes were simulated"`,
		"at":        "",
		"want":      "",
		"desired":   `shape:"any" doc:"the desired attributes"`,
		"state":     `doc:"stored state: before a dry run, or after the requests were sent"`,
		"requests":  "",
		"operation": "",
		"outcome":   `doc:"done, skipped, held, rejected, transient, throttled, denied or accepted"`,
		"http":      `doc:"HTTP status that determined the outcome"`,
		"message":   `doc:"reason if the outcome is not done"`,
		"diff":      "",
		"members":   "",
		"waiting":   `doc:"ids of the first users that the group waits for, because they have no account"`,
		"hold":      `doc:"reason why nothing is sent now"`,
	}},
	reflect.TypeFor[engine.Sent](): {Served: true, Members: map[string]reflect.StructTag{
		"method":    "",
		"path":      `doc:"relative to the base URL, with the query"`,
		"ifMatch":   "",
		"body":      "",
		"pretended": `doc:"simulated, not sent"`,
		"status":    `doc:"0 without a response"`,
		"answer":    "",
		"error":     `doc:"reason for the missing or incomplete response"`,
		"at":        "",
		"took":      `doc:"duration in nanoseconds"`,
	}},
	reflect.TypeFor[engine.Difference](): {Served: true, Members: map[string]reflect.StructTag{
		"path":   "",
		"before": "",
		"after":  "",
	}},
	reflect.TypeFor[engine.MemberDiff](): {Served: true, Members: map[string]reflect.StructTag{
		"added":   "",
		"removed": "",
		"add":     `doc:"the first added members"`,
		"remove":  `doc:"the first removed members"`,
	}},
	reflect.TypeFor[engine.MemberRef](): {Name: "Member", Served: true, Members: map[string]reflect.StructTag{
		"user": `doc:"absent for a member that the engine did not add"`,
		"id":   `doc:"id on the target"`,
		"name": "",
	}},
	reflect.TypeFor[client.Verification](): {Name: "Proof", Served: true, Members: map[string]reflect.StructTag{
		"app":       "",
		"kind":      `enum:"user,group"`,
		"id":        "",
		"assigned":  `doc:"the user is assigned to the app, or the group is pushed to it"`,
		"converged": `doc:"no change is pending"`,
		"summary":   `doc:"one line"`,
	}},
	reflect.TypeFor[engine.Verification](): {Name: "Proof", Served: true, Members: map[string]reflect.StructTag{
		"app":       "",
		"kind":      `enum:"user,group"`,
		"id":        "",
		"desired":   "",
		"confirmed": "",
		"readAt":    `doc:"absent if the target could not be read"`,
		"equal":     `doc:"the target has the desired state, except for ignored attributes"`,
		"differ":    `doc:"paths of the attributes that differ"`,
		"diff":      `doc:"before: what the target has; after: what is desired"`,
		"members":   "",
		"waiting":   "",
		"ignored":   `doc:"paths that the target ignores"`,
		"message":   "",
	}},
	reflect.TypeFor[client.Explanation](): {Served: true, Members: map[string]reflect.StructTag{
		"app":      "",
		"kind":     `enum:"user,group"`,
		"id":       "",
		"assigned": `doc:"the user is assigned to the app, or the group is pushed to it"`,
	}},
	reflect.TypeFor[engine.PrincipalExplanation](): {Name: "Explanation", Served: true, Members: map[string]reflect.StructTag{
		"app":       "",
		"kind":      `enum:"user,group"`,
		"id":        "",
		"state":     "",
		"waiting":   "",
		"exchanges": `doc:"the last exchanges, newest first"`,
	}},
	reflect.TypeFor[engine.Explanation](): {Served: true, Members: map[string]reflect.StructTag{
		"reasons": `doc:"reasons, from cause to effect"`,
		"values":  "",
	}},
	reflect.TypeFor[engine.Value](): {Served: true, Members: map[string]reflect.StructTag{
		"path":   "",
		"source": `doc:"origin of the value, such as profile.firstName or the name of a mapping"`,
		"rule":   `doc:"expression or constant that sets the value"`,
		"value":  "",
		"error":  `doc:"reason for a missing value"`,
	}},
}
