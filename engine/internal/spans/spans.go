package spans

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/scimwright/scimwright/engine"
)

// scope is the name of the instrumentation scope of the spans of an engine.
const scope = "github.com/scimwright/scimwright/engine/provision"

// AnyHost in the hosts of a Tracer stands for all hosts.
const AnyHost = "*"

// Tracer creates spans. A nil Tracer creates none.
type Tracer struct {
	tracer trace.Tracer
	hosts  []string // to which requests have a traceparent
}

// New returns a Tracer, nil without a provider. Requests to the given hosts have a traceparent.
func New(provider trace.TracerProvider, hosts []string) *Tracer {
	if provider == nil {
		return nil
	}
	return &Tracer{tracer: provider.Tracer(scope), hosts: slices.Clone(hosts)}
}

// Attributes of the spans. Their names are stable: queries of operators contain them.
const (
	attributeApp       = attribute.Key("scimwright.app")
	attributeKind      = attribute.Key("scimwright.principal.kind")
	attributeID        = attribute.Key("scimwright.principal.id")
	attributeMarks     = attribute.Key("scimwright.marks")
	attributeEpoch     = attribute.Key("scimwright.epoch")
	attributeAttempt   = attribute.Key("scimwright.attempt")
	attributeOperation = attribute.Key("scimwright.operation")
	attributeOutcome   = attribute.Key("scimwright.outcome")
	attributeStatus    = attribute.Key("scimwright.status")
	attributeMethod    = attribute.Key("http.request.method")
	attributeHTTP      = attribute.Key("http.response.status_code")
	attributeError     = attribute.Key("error.type")
)

// Mark starts the span of a mark of principals. end ends it, and returns the trace context to store: empty if the trace is not recorded.
func (t *Tracer) Mark(ctx context.Context, marks []engine.Mark) (_ context.Context, end func(error)) {
	ctx, span := t.tracer.Start(ctx, "mark", trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attributeMarks.Int(len(marks))))
	if len(marks) > 0 && !slices.ContainsFunc(marks, func(m engine.Mark) bool { return m.App != marks[0].App }) {
		span.SetAttributes(attributeApp.String(marks[0].App))
	}
	if len(marks) == 1 {
		span.SetAttributes(attributeKind.String(string(marks[0].Kind)), attributeID.String(marks[0].ID))
	}
	return ctx, func(err error) { endSpan(span, err) }
}

// Traceparent returns the trace context of ctx, empty if its trace is not recorded.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// spanContext returns the span context of a stored trace context.
func spanContext(traceparent string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	return trace.SpanContextFromContext(ctx)
}

// Lane starts the span of a lane under a lease. It is the root of a trace, because a lane continues many traces.
func (t *Tracer) Lane(ctx context.Context, l engine.Lease) (_ context.Context, end func()) {
	if t == nil {
		return ctx, func() {}
	}
	ctx, span := t.tracer.Start(ctx, "lane", trace.WithNewRoot(),
		trace.WithAttributes(attributeApp.String(l.App), attributeEpoch.Int64(l.Epoch)))
	return ctx, func() { span.End() }
}

// Sequence starts the span of the sequence of a principal. marks are the stored trace contexts.
func (t *Tracer) Sequence(ctx context.Context, row engine.State, marks []string) (_ context.Context, end func(engine.Result, error)) {
	var links []trace.Link
	for i, m := range marks {
		switch cause := spanContext(m); {
		case !cause.IsValid():
		case i > 0:
			links = append(links, trace.Link{SpanContext: cause})
		default:
			links = append(links, trace.LinkFromContext(ctx))
			ctx = trace.ContextWithSpanContext(ctx, cause)
		}
	}
	ctx, span := t.tracer.Start(ctx, "provision "+string(row.Kind), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(links...),
		trace.WithAttributes(attributeApp.String(row.App), attributeKind.String(string(row.Kind)), attributeID.String(row.ID),
			attributeAttempt.Int(row.Attempts+1)))
	return ctx, func(r engine.Result, err error) {
		if r.Outcome != "" {
			span.SetAttributes(attributeOperation.String(string(r.Operation)), attributeOutcome.String(string(r.Outcome)),
				attributeStatus.String(string(r.Status)))
			if r.HTTP != 0 {
				span.SetAttributes(attributeHTTP.Int(r.HTTP))
			}
			if r.Error != "" && r.Outcome != engine.Done {
				span.SetStatus(codes.Error, string(r.Outcome)) // not the message: it may quote data of the user
			}
		}
		endSpan(span, err)
	}
}

func endSpan(span trace.Span, err error) {
	if err != nil {
		kind := "_OTHER"
		if errors.Is(err, engine.ErrLeaseLost) {
			kind = "lease_lost"
		}
		span.SetAttributes(attributeError.String(kind))
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// Transport returns a transport that creates a span for each request. Without a Tracer it returns next.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return &transport{t, next}
}
