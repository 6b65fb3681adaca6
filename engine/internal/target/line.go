package target

import (
	"context"

	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Line sends the requests of one sequence.
type Line struct {
	connection *Connection
	tenant     string
	pace       *lane.RateLimiter
	client     *connect.Client
}

// Line returns a line for an app of a tenant, which passes each exchange to record; secrets are further values to redact.
func (c *Connection) Line(tenant string, pace *lane.RateLimiter, record func(wirelog.Exchange), secrets ...string) *Line {
	return &Line{connection: c, tenant: tenant, pace: pace, client: c.Client.Record(record, secrets...)}
}

// Turn waits until a request may be sent: for a slot of the app, for its rate limit, and for a slot of all apps, which the tenants share.
// The caller calls done after the request.
func (l *Line) Turn(ctx context.Context) (done func(), err error) {
	c := l.connection
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err := l.pace.Wait(ctx); err != nil {
		c.slots.Release(1)
		return nil, err
	}
	if err := c.sharedSlots.acquire(ctx, l.tenant); err != nil {
		c.slots.Release(1)
		return nil, err
	}
	return func() { c.sharedSlots.release(l.tenant); c.slots.Release(1) }, nil
}

// Do sends a request.
func (l *Line) Do(ctx context.Context, r plan.Request) plan.Response { return l.client.Do(ctx, r) }

// Redact replaces secrets in a string that quotes the target.
func (l *Line) Redact(text string) string { return l.client.Redact(text) }
