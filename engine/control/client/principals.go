package client

import (
	"context"
	"net/http"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// WaitOptions has the timeout of operations that wait.
type WaitOptions struct {
	// Timeout is rounded to seconds, between MinWait and MaxWait. Default: 30s.
	Timeout time.Duration
}

func (o WaitOptions) query() string { return query("timeoutSeconds", timeoutSeconds(o.Timeout)) }

// PrincipalOptions selects users and groups of an app. Empty fields do not restrict the result.
type PrincipalOptions struct {
	Kind   engine.Kind
	Status engine.Status
	After  engine.Principal // last principal of the previous page
	Limit  int              // Default: 100. At most 1000
}

// Principals returns users and groups of an app, groups first.
func (c *Client) Principals(ctx context.Context, app string, o PrincipalOptions) ([]Principal, error) {
	after := ""
	if o.After.ID != "" {
		after = string(o.After.Kind) + ":" + o.After.ID
	}
	return get[[]Principal](ctx, c, appPath(app, "principals")+query("kind", o.Kind, "status", o.Status, "after", after, "limit", o.Limit))
}

func principalPath(app string, p engine.Principal, segments ...string) string {
	return appPath(app, append([]string{"principals", string(p.Kind), p.ID}, segments...)...)
}

// Principal returns the state of a user or group.
func (c *Client) Principal(ctx context.Context, app string, p engine.Principal) (Principal, error) {
	return get[Principal](ctx, c, principalPath(app, p))
}

// DryRun returns the requests that the engine would send now for a user or group. Nothing is sent to the target except reads.
func (c *Client) DryRun(ctx context.Context, app string, p engine.Principal) (Trace, error) {
	return get[Trace](ctx, c, principalPath(app, p, "trace"))
}

// ProvisionOptions configures Provision.
type ProvisionOptions struct {
	engine.ProvisionOptions
	WaitOptions
}

// Provision provisions a user or group now, and returns the requests that were sent.
func (c *Client) Provision(ctx context.Context, app string, p engine.Principal, o ProvisionOptions) (Trace, error) {
	body := map[string]bool{"forceSync": o.ForceSync, "allMembers": o.AllMembers}
	return post[Trace](ctx, c, principalPath(app, p, "provision")+o.query(), body)
}

// Verify reads a user or group on the target and compares it with the desired state.
func (c *Client) Verify(ctx context.Context, app string, p engine.Principal) (Verification, error) {
	return get[Verification](ctx, c, principalPath(app, p, "proof"))
}

// Explain returns why a user or group is in an app, and the sources of its attribute values.
func (c *Client) Explain(ctx context.Context, app string, p engine.Principal) (Explanation, error) {
	return get[Explanation](ctx, c, principalPath(app, p, "explanation"))
}

// WaitFor returns a user or group when its changes are synchronized or have failed. After the timeout it returns the same error as Wait.
func (c *Client) WaitFor(ctx context.Context, app string, p engine.Principal, o WaitOptions) (Principal, error) {
	return post[Principal](ctx, c, principalPath(app, p, "wait")+o.query(), nil)
}

// PrincipalEvents returns lifecycle events of a user or group, in order.
func (c *Client) PrincipalEvents(ctx context.Context, app string, p engine.Principal, o EventOptions) ([]Event, error) {
	return get[[]Event](ctx, c, principalPath(app, p, "events")+o.query())
}

// Mark reports that the desired state of principals of an app may have changed, and returns their number. It ignores Mark.App. At most
// 10,000 marks are allowed, with 10,000 members.
func (c *Client) Mark(ctx context.Context, app string, marks []engine.Mark) (int, error) {
	type mark struct {
		Kind       engine.Kind `json:"kind"`
		ID         string      `json:"id"`
		Members    []string    `json:"members,omitempty"`
		AllMembers bool        `json:"allMembers,omitempty"`
		Retry      bool        `json:"retry,omitempty"`
	}
	var body struct {
		Marks []mark `json:"marks"`
	}
	for _, m := range marks {
		body.Marks = append(body.Marks, mark{m.Kind, m.ID, m.Members, m.AllMembers, m.Retry})
	}
	var result struct {
		Marked int `json:"marked"`
	}
	err := c.Do(ctx, http.MethodPost, appPath(app, "marks"), body, &result)
	return result.Marked, err
}
