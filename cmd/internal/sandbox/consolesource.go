package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

const (
	// consolePrincipals, consoleExchanges and consoleLatest are the maximum numbers of entries on a page: the principals of an application,
	// the exchanges of a principal, and the exchanges of an application.
	consolePrincipals = 200
	consoleExchanges  = 100
	consoleLatest     = 30
)

// consoleSource reads the content of the console from the management API's documents and the engine's state.
type consoleSource struct {
	engine *provision.Engine
	bridge *bridge
	base   string
}

var _ console.Source = (*consoleSource)(nil)

// Overview implements console.Source.
func (c *consoleSource) Overview(ctx context.Context) (console.Overview, error) {
	o := console.Overview{Endpoints: []console.Endpoint{
		{Name: "Management API", URL: c.base + "/api/v1"},
		{Name: "SCIM server", URL: c.base + tenants.Prefix(tenants.Default)},
		{Name: "Second SCIM server", URL: c.base + tenants.Prefix(chatTarget)},
		{Name: "OpenAPI document", URL: c.base + "/openapi.json"},
	}}
	var err error
	if o.Users, err = c.bridge.wanted.Count(ctx, mgmtapi.User); err != nil {
		return o, err
	}
	if o.Groups, err = c.bridge.wanted.Count(ctx, mgmtapi.Group); err != nil {
		return o, err
	}
	err = c.bridge.wanted.Apps(ctx, func(a mgmtapi.App) error {
		app, err := c.describe(ctx, a)
		o.Apps = append(o.Apps, app)
		return err
	})
	return o, err
}

// App implements console.Source.
func (c *consoleSource) App(ctx context.Context, id string) (console.AppPage, error) {
	app, err := c.app(ctx, id)
	if err != nil {
		return console.AppPage{}, err
	}
	page := console.AppPage{App: app}
	states, more, err := c.principals(ctx, id)
	if err != nil {
		return page, err
	}
	page.More = more
	names, err := c.names(ctx, id, states)
	if err != nil {
		return page, err
	}
	for _, s := range states {
		page.Principals = append(page.Principals, principal(s, names[s.ID]))
	}
	slices.SortStableFunc(page.Principals, func(a, b console.Principal) int {
		return cmp.Or(cmp.Compare(urgency(a.Status), urgency(b.Status)), cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	page.Exchanges, err = c.latest(ctx, id)
	return page, err
}

// principals returns the states that the page of an app shows. If there are more than consolePrincipals, failed and held principals come
// first.
func (c *consoleSource) principals(ctx context.Context, app string) (states []engine.State, more bool, err error) {
	seen := map[string]bool{}
	for _, status := range []engine.Status{engine.StatusFailed, engine.StatusHeld, ""} {
		found, err := c.engine.States(ctx, engine.StateQuery{App: app, Status: status, Limit: consolePrincipals + 1})
		if err != nil {
			return nil, false, err
		}
		for _, s := range found {
			if key := string(s.Kind) + " " + s.ID; !seen[key] {
				seen[key] = true
				states = append(states, s)
			}
		}
	}
	if len(states) > consolePrincipals {
		return states[:consolePrincipals], true, nil
	}
	return states, false, nil
}

// urgency returns the sort order of principals: those that need attention come first.
func urgency(status string) int {
	return slices.Index([]string{failed, retrying, waiting, skipped, dismissed, inSync}, status)
}

// latest returns the latest exchanges of an app with their principals.
func (c *consoleSource) latest(ctx context.Context, id string) ([]console.Exchange, error) {
	attempts, err := c.engine.Traces().Attempts(ctx, engine.AttemptQuery{App: id, Limit: consoleLatest})
	if err != nil {
		return nil, err
	}
	var about []engine.State
	for _, a := range attempts {
		about = append(about, engine.State{Kind: a.Kind, ID: a.Principal})
	}
	names, err := c.names(ctx, id, about)
	if err != nil {
		return nil, err
	}
	var all []console.Exchange
	for _, a := range attempts {
		e := exchange(a)
		if a.Principal != "" {
			e.Of = &console.Principal{Kind: string(a.Kind), ID: a.Principal, Name: cmp.Or(names[a.Principal], a.Principal)}
		}
		all = append(all, e)
	}
	return all, nil
}

func exchange(a engine.Attempt) console.Exchange {
	return console.Exchange{
		At: a.At, Method: a.Method, Path: control.RelativePath(a.URL), Status: a.Status, Duration: a.Duration.Round(10 * time.Microsecond),
		Request: a.RequestBody, Response: a.ResponseBody, Error: a.Error, Curl: a.Curl(true),
	}
}

// History implements console.Source.
func (c *consoleSource) History(ctx context.Context, id, kind, who string) (console.HistoryPage, error) {
	app, err := c.app(ctx, id)
	if err != nil {
		return console.HistoryPage{}, err
	}
	state, err := c.engine.State(ctx, id, engine.Kind(kind), who)
	if errors.Is(err, engine.ErrNotFound) {
		return console.HistoryPage{}, console.ErrNotFound
	}
	if err != nil {
		return console.HistoryPage{}, err
	}
	names, err := c.names(ctx, id, []engine.State{state})
	if err != nil {
		return console.HistoryPage{}, err
	}
	attempts, err := c.engine.Traces().Attempts(ctx, engine.AttemptQuery{App: id, Kind: state.Kind, Principal: who, Limit: consoleExchanges})
	if err != nil {
		return console.HistoryPage{}, err
	}
	why, err := c.bridge.Explain(ctx, id, state.Kind, who)
	if err != nil {
		return console.HistoryPage{}, err
	}
	page := console.HistoryPage{App: app, Principal: principal(state, names[who]), Wanted: state.Desired, Reached: state.Synced,
		Reasons: why.Reasons}
	for _, v := range why.Values {
		page.Values = append(page.Values, console.Value{Path: v.Path, Value: fmt.Sprint(v.Value), Rule: v.Rule, Source: v.Source})
	}
	for _, a := range attempts {
		page.Exchanges = append(page.Exchanges, exchange(a))
	}
	return page, nil
}

func (c *consoleSource) app(ctx context.Context, id string) (console.App, error) {
	a, err := c.bridge.wanted.App(ctx, id)
	if errors.Is(err, mgmtapi.ErrNotFound) {
		return console.App{}, console.ErrNotFound
	}
	if err != nil {
		return console.App{}, err
	}
	return c.describe(ctx, a)
}

// requestsOf describes the requests that update the users of an application.
func requestsOf(style mgmtapi.UpdateStyle, fallback mgmtapi.Fallback) string {
	text := map[mgmtapi.UpdateStyle]string{
		mgmtapi.StyleCatalog: "PATCH for activation, deactivation and password, PUT for other updates",
		mgmtapi.StyleWizard:  "PUT for every update",
		mgmtapi.StyleAuto:    "PATCH for activation, deactivation and password if the target supports it, PUT for other updates",
	}[style]
	if fallback == mgmtapi.FallbackLearn {
		text += "; other forms after a rejection"
	}
	return text
}

func (c *consoleSource) describe(ctx context.Context, a mgmtapi.App) (console.App, error) {
	app := console.App{
		ID: a.ID, Label: a.Label, Name: a.Name, Status: string(a.Status), Target: a.BaseURL, Style: requestsOf(a.Style, a.Fallback),
	}
	counts, err := c.engine.Apps().Counts(ctx, a.ID)
	if err != nil {
		return app, err
	}
	for status, n := range counts {
		switch statusName(status) {
		case inSync:
			app.InSync += n
		case failed:
			app.Wrong += n
		case retrying:
			app.Retrying += n
		case skipped:
			app.Skipped += n
		case dismissed:
		default:
			app.Waiting += n
		}
	}
	l, err := c.engine.Apps().Get(ctx, a.ID)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return app, err
	}
	app.Lane, app.Reason = describeLane(a.Status == mgmtapi.AppActive, a.Connected, l)
	lag, err := c.engine.Apps().Lag(ctx, a.ID)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return app, err
	}
	app.WaitingSince = lag.Oldest
	lacking, err := c.bridge.wanted.Unprovisioned(ctx, a.ID)
	if err != nil {
		return app, err
	}
	for _, u := range lacking {
		app.Unprovisioned = append(app.Unprovisioned, console.Unprovisioned{Users: u.Users, Reason: u.Reason})
	}
	halts, err := c.engine.Apps().Halts(ctx, a.ID)
	for _, h := range halts {
		app.Halts = append(app.Halts, h.String())
	}
	return app, err
}

// describeLane returns the state of an app's lane and, unless it is running, the reason.
func describeLane(active, connected bool, l engine.Lane) (word, reason string) {
	switch {
	case !active:
		return "idle", "the application is inactive"
	case !connected:
		return "idle", "provisioning is not connected"
	}
	switch l.Hold.Kind {
	case engine.HoldNone:
		return "running", ""
	case engine.HoldQuarantine:
		return "quarantined", l.Hold.Reason
	case engine.HoldPause, engine.HoldBreaker:
	}
	return "paused", l.Hold.Reason
}

// names returns the names of principals of an app, by id.
func (c *consoleSource) names(ctx context.Context, app string, states []engine.State) (map[string]string, error) {
	about := make([]engine.Principal, 0, len(states))
	for _, s := range states {
		about = append(about, engine.Principal{Kind: s.Kind, ID: s.ID})
	}
	found, err := control.NamesOf(ctx, names{c.bridge}, c.engine, app, about)
	names := make(map[string]string, len(found))
	for p, name := range found {
		names[p.ID] = name
	}
	return names, err
}

func principal(s engine.State, name string) console.Principal {
	return console.Principal{
		Kind: string(s.Kind), ID: s.ID, Name: cmp.Or(name, s.RemoteName, s.ID), Want: string(s.Want), Status: statusName(s.Status),
		RemoteID: s.RemoteID, Attempts: s.Attempts, Error: s.LastError, Updated: s.UpdatedAt,
	}
}

// The names of the engine's statuses in the console.
const (
	inSync   = "in sync"
	waiting  = "waiting"
	retrying = "retrying"
	failed   = "failed"
	// skipped: the options of the app or the status of the user allow no request.
	skipped = "skipped"
	// dismissed: an operator marked the task as resolved. The state on the target is unknown.
	dismissed = "dismissed"
)

func statusName(s engine.Status) string {
	switch s {
	case engine.StatusClean:
		return inSync
	case engine.StatusSkipped:
		return skipped
	case engine.StatusRetrying:
		return retrying
	case engine.StatusDismissed:
		return dismissed
	case engine.StatusFailed, engine.StatusHeld:
		return failed
	case engine.StatusDirty, engine.StatusWaiting, engine.StatusPending:
	}
	return waiting
}
