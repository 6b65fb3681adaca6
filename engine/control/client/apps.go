package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/scimwright/scimwright/engine"
)

// Apps returns all apps, sorted by label.
func (c *Client) Apps(ctx context.Context) ([]App, error) { return get[[]App](ctx, c, "/engine/apps") }

// App returns an app.
func (c *Client) App(ctx context.Context, app string) (App, error) {
	return get[App](ctx, c, "/engine/apps/"+url.PathEscape(app))
}

// Halting selects the operations of Halt and Resume.
type Halting struct {
	// Operations are the operations to halt or resume. Default: all.
	Operations []engine.Operation `json:"operations,omitempty"`
	// Reason is for administrators. Resume ignores it.
	Reason string `json:"reason,omitempty"`
}

// Halt disables operations for an app (empty: for all apps), and returns the current halts.
func (c *Client) Halt(ctx context.Context, app string, h Halting) ([]engine.Halt, error) {
	return post[[]engine.Halt](ctx, c, haltPath(app, "halt"), h)
}

// Resume ends halts of an app (empty: those for all apps), and returns the remaining ones.
func (c *Client) Resume(ctx context.Context, app string, h Halting) ([]engine.Halt, error) {
	return post[[]engine.Halt](ctx, c, haltPath(app, "resume"), h)
}

func haltPath(app, verb string) string {
	if app == "" {
		return "/engine/" + verb
	}
	return appPath(app, verb)
}

// Approve allows the deactivations and deletions that the guard of an app blocks, if their number equals expected.
func (c *Client) Approve(ctx context.Context, app string, expected int) error {
	return c.post(ctx, appPath(app, "approve"), map[string]int{"expected": expected})
}

// Release ends a pause, the breaker or a quarantine of an app.
func (c *Client) Release(ctx context.Context, app string) error {
	return c.post(ctx, appPath(app, "release"), nil)
}

// Wait returns an app when none of its principals is pending. After the timeout it returns an *Error with the status 504. Its causes
// contain the pending principals and the reasons.
func (c *Client) Wait(ctx context.Context, app string, o WaitOptions) (App, error) {
	return post[App](ctx, c, appPath(app, "wait")+o.query(), nil)
}

// Test reads the first users of the target of an app with its stored credentials. It returns an error if the target cannot be read.
func (c *Client) Test(ctx context.Context, app string) error {
	return c.post(ctx, appPath(app, "test"), nil)
}

// Probe determines the features of the target of an app with a temporary user and group that it removes again. The zero options work on
// most targets.
func (c *Client) Probe(ctx context.Context, app string, o ProbeOptions) (engine.Profile, error) {
	return post[engine.Profile](ctx, c, appPath(app, "probe"), o)
}

// ProbeOptions configures a probe.
type ProbeOptions struct {
	// Domain is the domain of the user name and email address of the probe's user. Default: example.com.
	Domain string `json:"domain,omitempty"`
}

// Profile returns the result of the last probe of an app.
func (c *Client) Profile(ctx context.Context, app string) (engine.Profile, error) {
	return get[engine.Profile](ctx, c, appPath(app, "profile"))
}

// ResetLearned removes the learned properties of the target of an app, and its profile.
func (c *Client) ResetLearned(ctx context.Context, app string) error {
	return c.post(ctx, appPath(app, "unlearn"), nil)
}

// EventOptions selects events.
type EventOptions struct {
	After int64 // only events with a greater number
	Limit int   // Default: 100. At most 1000
	Wait  int   // seconds to wait for the first event if there is none, at most 60. Events of a principal do not wait. Default: no wait
}

func (o EventOptions) query() string {
	return query("after", o.After, "limit", o.Limit, "waitSeconds", o.Wait)
}

// Events returns lifecycle events of an app and its principals, in order.
func (c *Client) Events(ctx context.Context, app string, o EventOptions) ([]Event, error) {
	return get[[]Event](ctx, c, appPath(app, "events")+o.query())
}

// Tasks returns the principals of an app that failed, or that wait for the target or a decision.
func (c *Client) Tasks(ctx context.Context, app string) ([]Task, error) {
	return get[[]Task](ctx, c, appPath(app, "tasks"))
}

// Retry retries a task. The task has the id of its principal.
func (c *Client) Retry(ctx context.Context, app, task string) error {
	return c.post(ctx, appPath(app, "tasks", task, "retry"), nil)
}

// RetryAll retries all failed tasks of an app and returns their number.
func (c *Client) RetryAll(ctx context.Context, app string) (int, error) {
	n, err := post[struct{ Retried int }](ctx, c, appPath(app, "tasks", "retry"), nil)
	return n.Retried, err
}

// Dismiss marks a failed task as resolved, without changing the target.
func (c *Client) Dismiss(ctx context.Context, app, task string) error {
	return c.post(ctx, appPath(app, "tasks", task, "dismiss"), nil)
}

// AttemptOptions selects recorded exchanges. At most one of User and Group is set.
type AttemptOptions struct {
	User, Group string
	Before      int64 // only exchanges with a smaller id
	Limit       int   // Default: 100. At most 1000
}

// Attempts returns recorded exchanges with the target of an app, newest first.
func (c *Client) Attempts(ctx context.Context, app string, o AttemptOptions) ([]Attempt, error) {
	return list[Attempt](ctx, c, appPath(app, "attempts"), o.Limit, "userId", o.User, "groupId", o.Group, "before", o.Before)
}

// DriftOptions configures a comparison of a target with the directory.
type DriftOptions struct {
	Kind   engine.Kind // Default: engine.User
	Repair bool        // mark principals that differ
	// Limit is the maximum number of findings in the response. Zero returns no findings. The counts always cover all findings.
	Limit int
}

// Drift compares the users or groups on the target of an app with their desired state.
func (c *Client) Drift(ctx context.Context, app string, o DriftOptions) (Drift, error) {
	if o.Kind == "" {
		o.Kind = engine.User
	}
	return post[Drift](ctx, c, appPath(app, "drift"), map[string]any{"kind": o.Kind, "repair": o.Repair, "limit": o.Limit})
}

// Reconcile compares users and groups with the desired state, and marks principals that differ or have no state in the engine.
func (c *Client) Reconcile(ctx context.Context, app string) (map[engine.Kind]Reconciled, error) {
	return post[map[engine.Kind]Reconciled](ctx, c, appPath(app, "reconcile"), nil)
}

// StartImport starts an import of the users or groups of the target of an app, and returns its id.
func (c *Client) StartImport(ctx context.Context, app string, kind engine.Kind) (string, error) {
	types := map[engine.Kind]string{engine.User: "USERS", engine.Group: "GROUPS"}
	started, err := post[struct{ JobID string }](ctx, c, appPath(app, "import"), map[string]string{"type": types[kind]})
	return started.JobID, err
}

// Import returns the progress of an import.
func (c *Client) Import(ctx context.Context, app, id string) (Import, error) {
	return get[Import](ctx, c, appPath(app, "import", id))
}

// ObjectOptions selects objects that an import has found.
type ObjectOptions struct {
	Verdict engine.Verdict
	After   string // remote id of the last object of the previous page
	Limit   int    // Default: 100. At most 1000
}

// ImportedObjects returns accounts or groups that an import has found, by ascending remote id.
func (c *Client) ImportedObjects(ctx context.Context, app, id string, o ObjectOptions) ([]engine.RemoteObject, error) {
	return list[engine.RemoteObject](ctx, c, appPath(app, "import", id, "objects"), o.Limit, "verdict", o.Verdict, "after", o.After)
}

// Consent has the links to create, and the accounts from which users are created.
type Consent struct {
	Links  []engine.Link `json:"links,omitempty"`
	Create []string      `json:"create,omitempty"` // remote ids
}

// ConfirmImport links accounts that an import has found to users, and creates users from accounts, as the consent specifies. If consent is
// nil, it links the accounts with the verdict "matched".
func (c *Client) ConfirmImport(ctx context.Context, app, id string, consent *Consent) (Confirmed, error) {
	var body any
	if consent != nil {
		body = consent
	}
	return post[Confirmed](ctx, c, appPath(app, "import", id, "confirm"), body)
}

// Links returns up to limit links of an app, groups first, starting after the kind and id of the given link. The zero Link selects the
// first page. A limit of 0 means the default of the API, 1000.
func (c *Client) Links(ctx context.Context, app string, after engine.Link, limit int) ([]engine.Link, error) {
	position := ""
	if after.ID != "" {
		position = string(after.Kind) + ":" + after.ID
	}
	return get[[]engine.Link](ctx, c, appPath(app, "links")+query("after", position, "limit", limit))
}

// ImportLinks creates links, all of them or none, and returns their number.
func (c *Client) ImportLinks(ctx context.Context, app string, links []engine.Link) (int, error) {
	n, err := post[struct{ Linked int }](ctx, c, appPath(app, "links"), map[string]any{"links": links})
	return n.Linked, err
}

// NewPlan selects the principals of a plan: users and groups by id, or all that have a state in the engine.
type NewPlan struct {
	Users  []string `json:"userIds,omitempty"`
	Groups []string `json:"groupIds,omitempty"`
	All    bool     `json:"all"`
	Reason string   `json:"reason,omitempty"` // for administrators
}

// CreatePlan computes the requests for the selected principals and stores them as a plan.
func (c *Client) CreatePlan(ctx context.Context, app string, p NewPlan) (engine.Plan, error) {
	return post[engine.Plan](ctx, c, appPath(app, "plans"), p)
}

// Plans returns the plans of an app, newest first.
func (c *Client) Plans(ctx context.Context, app string) ([]engine.Plan, error) {
	return get[[]engine.Plan](ctx, c, appPath(app, "plans"))
}

// Plan returns a plan.
func (c *Client) Plan(ctx context.Context, app, id string) (engine.Plan, error) {
	return get[engine.Plan](ctx, c, appPath(app, "plans", id))
}

// ItemOptions selects items of a plan.
type ItemOptions struct {
	Operation engine.Operation
	Outcome   engine.Class
	After     int // number of the last item of the previous page
	Limit     int // Default: 100. At most 1000
}

// PlanItems returns the items of a plan, in the order in which the engine applies them.
func (c *Client) PlanItems(ctx context.Context, app, id string, o ItemOptions) ([]PlanItem, error) {
	return list[PlanItem](ctx, c, appPath(app, "plans", id, "items"), o.Limit,
		"operation", o.Operation, "outcome", o.Outcome, "after", o.After)
}

// ApplyPlan applies the first remaining items of a plan. first is the number of items; 0 means all.
func (c *Client) ApplyPlan(ctx context.Context, app, id string, first int) (engine.Plan, error) {
	var body any
	if first != 0 {
		body = map[string]int{"first": first}
	}
	return post[engine.Plan](ctx, c, appPath(app, "plans", id, "apply"), body)
}

// DiscardPlan deletes a plan. Items that were applied remain applied.
func (c *Client) DiscardPlan(ctx context.Context, app, id string) error {
	return c.Do(ctx, http.MethodDelete, appPath(app, "plans", id), nil, nil)
}
