package spans

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/scimwright/scimwright/engine"
)

// The names of the instrumentation scopes of packages webhooks and pull.
const (
	webhooksScope = "github.com/scimwright/scimwright/engine/webhooks"
	pullScope     = "github.com/scimwright/scimwright/engine/pull"
)

// Directory returns a directory that creates a span for each query of a user, a group or members. Without a Tracer it returns d.
func (t *Tracer) Directory(d engine.Directory) engine.Directory {
	if t == nil {
		return d
	}
	return directory{d, t.tracer}
}

// directory has no spans for queries of targets, because the engine queries the target of an app at each claim of its lane.
type directory struct {
	engine.Directory
	tracer trace.Tracer
}

func (d directory) start(ctx context.Context, what, app string, kind engine.Kind, id string) (context.Context, trace.Span) {
	return d.tracer.Start(ctx, "directory "+what, trace.WithAttributes(
		attributeApp.String(app), attributeKind.String(string(kind)), attributeID.String(id)))
}

// User implements engine.Directory.
func (d directory) User(ctx context.Context, app, user string) (engine.UserState, error) {
	ctx, span := d.start(ctx, "user", app, engine.User, user)
	s, err := d.Directory.User(ctx, app, user)
	endSpan(span, err)
	return s, err
}

// Group implements engine.Directory.
func (d directory) Group(ctx context.Context, app, group string) (engine.GroupState, error) {
	ctx, span := d.start(ctx, "group", app, engine.Group, group)
	s, err := d.Directory.Group(ctx, app, group)
	endSpan(span, err)
	return s, err
}

// Members implements engine.Directory.
func (d directory) Members(ctx context.Context, app, group, after string, limit int) ([]string, error) {
	ctx, span := d.start(ctx, "members", app, engine.Group, group)
	ids, err := d.Directory.Members(ctx, app, group, after, limit)
	endSpan(span, err)
	return ids, err
}

// IsMember implements engine.Directory.
func (d directory) IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error) {
	ctx, span := d.start(ctx, "is-member", app, engine.Group, group)
	in, err := d.Directory.IsMember(ctx, app, group, users)
	endSpan(span, err)
	return in, err
}

// Pull starts the span of a query of package pull, with the provider of the span in ctx. Without a span in ctx, it creates none. The span
// has the host of the URL and the path of the query, but not the path of the URL, which may contain a secret. end ends the span; a status
// of 0 means that there was no response.
func Pull(ctx context.Context, query string, u *url.URL) (_ context.Context, end func(status int)) {
	return call(ctx, trace.SpanFromContext(ctx).TracerProvider().Tracer(pullScope), "pull "+query, u)
}

// NewWebhooks returns a Tracer for package webhooks, nil without a provider.
func NewWebhooks(provider trace.TracerProvider) *Tracer {
	if provider == nil {
		return nil
	}
	return &Tracer{tracer: provider.Tracer(webhooksScope)}
}

// Message is an attempt to deliver an event to an endpoint of webhooks.
type Message struct {
	App, Endpoint string
	Kind          engine.Kind
	ID            string
	Type          engine.EventType
	Seq           int64
	Attempt       int // from 1
}

// Webhook starts the span of an attempt to deliver a message. It is the root of a trace. u and end are as in Pull.
func (t *Tracer) Webhook(ctx context.Context, m Message, u *url.URL) (_ context.Context, end func(status int)) {
	if t == nil {
		return ctx, func(int) {}
	}
	attributes := []attribute.KeyValue{
		attributeApp.String(m.App), attribute.String("scimwright.event.type", string(m.Type)), attribute.Int64("scimwright.event.seq", m.Seq),
		attribute.String("scimwright.webhook", m.Endpoint), attributeAttempt.Int(m.Attempt),
	}
	if m.ID != "" {
		attributes = append(attributes, attributeKind.String(string(m.Kind)), attributeID.String(m.ID))
	}
	return call(ctx, t.tracer, "webhook", u, trace.WithNewRoot(), trace.WithAttributes(attributes...))
}

func call(ctx context.Context, t trace.Tracer, name string, u *url.URL, o ...trace.SpanStartOption) (
	_ context.Context, end func(status int),
) {
	ctx, span := t.Start(ctx, name, append(o, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attributeMethod.String(http.MethodPost), attribute.String("server.address", u.Hostname()), attribute.Int("server.port", port(u)),
		attribute.String("url.scheme", u.Scheme)))...)
	return ctx, func(status int) {
		defer span.End()
		switch {
		case status == 0:
			span.SetAttributes(attributeError.String("_OTHER"))
			span.SetStatus(codes.Error, "no response")
			return
		case status/100 != 2:
			span.SetAttributes(attributeError.String(strconv.Itoa(status)))
			span.SetStatus(codes.Error, "")
		}
		span.SetAttributes(attributeHTTP.Int(status))
	}
}
