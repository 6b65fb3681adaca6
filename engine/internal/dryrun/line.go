package dryrun

import (
	"context"
	"fmt"
	"net/http"

	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/rehearse"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// line implements sequence.Line with a client that simulates writes.
type line struct {
	client *rehearse.Client
	redact func(string) string
}

func (x *App) newLine(secrets []string) *line {
	client := x.connection.Client
	redact := client.Record(func(wirelog.Exchange) {}, secrets...).Redact
	return &line{redact: redact, client: rehearse.New(limited{client, x.limiter}, rehearse.Options{
		Secrets: secrets, Redact: client.Redact, MaxBody: wirelog.DefaultMaxBody,
	})}
}

// Turn does not wait: simulated requests need no slot of the lane, and reads are limited by package lane.
func (l *line) Turn(context.Context) (done func(), err error) { return func() {}, nil }

func (l *line) Do(ctx context.Context, r plan.Request) plan.Response { return l.client.Do(ctx, r) }

func (l *line) Redact(text string) string { return l.redact(text) }

// limited is a target whose reads are limited to its rate.
type limited struct {
	client  *connect.Client
	limiter *lane.RateLimiter
}

// Do implements rehearse.Target.
func (p limited) Do(ctx context.Context, r plan.Request) plan.Response {
	if r.Method != http.MethodGet {
		return plan.Response{Err: fmt.Errorf("engine: a dry run sends no %s", r.Method)}
	}
	if err := p.limiter.Wait(ctx); err != nil {
		return plan.Response{Err: err}
	}
	return p.client.Do(ctx, r)
}
