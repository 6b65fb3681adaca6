package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/scimwright/scimwright/engine/desired/desiredapi"
)

// TraceOptions define the OpenTelemetry traces of a daemon. Variables with the names of the OpenTelemetry specification (OTEL_*) take
// precedence. Default: no traces.
type TraceOptions struct {
	// Endpoint is the base URL of a collector for OTLP over HTTP, such as http://127.0.0.1:4318. It enables the traces, as
	// OTEL_EXPORTER_OTLP_ENDPOINT does.
	Endpoint string
	// Headers are sent with each export.
	Headers map[string]string
	// Sample is the part of the traces without a recorded parent that is recorded, from 0 to 1. Default: 1.
	Sample *float64
	// Hosts are the hosts of targets to which the daemon sends the trace context; "*" stands for all. Default: none.
	Hosts []string
}

// The variables of the OpenTelemetry specification that the daemon reads. The SDK reads those of the exporter, the sampler, the batches and
// the resource itself.
const (
	variableDisabled       = "OTEL_SDK_DISABLED"
	variableExporter       = "OTEL_TRACES_EXPORTER"
	variableEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	variableTraces         = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	variableHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	variableTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	variableProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	variableTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	variableSampler        = "OTEL_TRACES_SAMPLER"
	variableService        = "OTEL_SERVICE_NAME"
	variableResource       = "OTEL_RESOURCE_ATTRIBUTES"
)

// service is the default of the attribute service.name.
const service = "scimwright-engine"

// enabled reports whether spans are exported.
func (o TraceOptions) enabled(lookupEnv func(string) (string, bool)) bool {
	variable := func(name string) string { v, _ := lookupEnv(name); return v }
	if strings.EqualFold(variable(variableDisabled), "true") || variable(variableExporter) == "none" {
		return false
	}
	return o.Endpoint != "" || variable(variableExporter) == "otlp" || variable(variableEndpoint) != "" ||
		variable(variableTraces) != ""
}

func (o TraceOptions) check(lookupEnv func(string) (string, bool)) error {
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return errors.New("the endpoint of traces must be the http or https URL of a collector, such as http://127.0.0.1:4318")
		}
	}
	if o.Sample != nil && (*o.Sample < 0 || *o.Sample > 1) {
		return errors.New("the part of the traces to record must be a number from 0 to 1")
	}
	for _, h := range o.Hosts {
		if h == "" || strings.ContainsAny(h, "/ ") || h != "*" && strings.Contains(h, "*") {
			return fmt.Errorf("%q is not a host to which the trace context can be sent: a name such as crm.example.com, without scheme and port, "+
				"or * for all", h)
		}
	}
	if !o.enabled(lookupEnv) {
		return nil
	}
	if v, _ := lookupEnv(variableExporter); v != "" && v != "otlp" {
		return fmt.Errorf("%s is %q: use otlp or none", variableExporter, v)
	}
	for _, name := range []string{variableProtocol, variableTracesProtocol} {
		if v, _ := lookupEnv(name); v != "" && v != "http/protobuf" {
			return fmt.Errorf("%s is %q: the daemon exports with http/protobuf only", name, v)
		}
	}
	return nil
}

// traces are the spans of a daemon; nil without traces.
type traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// openTraces creates the exporter. It connects to the collector only when the first spans are exported.
func openTraces(ctx context.Context, o Options) (*traces, error) {
	if !o.Traces.enabled(o.LookupEnv) {
		return nil, nil
	}
	set := func(name string) bool { v, _ := o.LookupEnv(name); return v != "" }
	var export []otlptracehttp.Option
	if o.Traces.Endpoint != "" && !set(variableEndpoint) && !set(variableTraces) {
		export = append(export, otlptracehttp.WithEndpointURL(strings.TrimRight(o.Traces.Endpoint, "/")+"/v1/traces"))
	}
	if len(o.Traces.Headers) > 0 && !set(variableHeaders) && !set(variableTracesHeaders) {
		export = append(export, otlptracehttp.WithHeaders(o.Traces.Headers))
	}
	exporter, err := otlptracehttp.New(ctx, export...)
	if err != nil {
		return nil, fmt.Errorf("open the exporter of traces: %w", err)
	}
	described, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", service)), resource.WithTelemetrySDK(),
		resource.WithFromEnv())
	if err != nil {
		o.Logger.WarnContext(ctx, "a part of "+variableService+" or "+variableResource+" is ignored", "error", err)
	}
	with := []sdktrace.TracerProviderOption{sdktrace.WithBatcher(exporter), sdktrace.WithResource(described)}
	if o.Traces.Sample != nil && !set(variableSampler) {
		with = append(with, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(*o.Traces.Sample))))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		o.Logger.WarnContext(context.WithoutCancel(ctx), "spans not exported", "error", err)
	}))
	t := &traces{provider: sdktrace.NewTracerProvider(with...)}
	t.tracer = t.provider.Tracer("github.com/scimwright/scimwright/cmd/internal/daemon")
	return t, nil
}

// close exports the remaining spans.
func (t *traces) close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err) // the collector may be unavailable, which is no failure of the daemon
	}
	return nil
}

// providerOf returns the provider for the engine, nil without traces.
func (t *traces) providerOf() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// handler creates a span for each request of the API, which continues the trace of the caller. The operation sets its name.
func (t *traces) handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, desiredapi.DefaultPrefix+"/") {
			next.ServeHTTP(w, r)
			return
		}
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", r.URL.Path)))
		defer span.End()
		answer := &statusWriter{ResponseWriter: w, stopping: context.WithoutCancel(ctx)}
		next.ServeHTTP(answer, r.WithContext(ctx))
		span.SetAttributes(attribute.Int("http.response.status_code", answer.status))
		if answer.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	})
}

// nameSpan gives the span of a request the name of its operation.
func nameSpan(ctx context.Context, operation, tenant string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetName(operation)
		span.SetAttributes(attribute.String("scimwright.tenant", tenant))
	}
}

// traceLog adds the ids of the trace and the span to log records.
type traceLog struct{ slog.Handler }

// Handle implements slog.Handler.
func (l traceLog) Handle(ctx context.Context, r slog.Record) error {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", c.TraceID().String()), slog.String("span_id", c.SpanID().String()))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l traceLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceLog{l.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (l traceLog) WithGroup(name string) slog.Handler { return traceLog{l.Handler.WithGroup(name)} }
