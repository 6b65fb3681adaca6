package spans

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

type transport struct {
	*Tracer
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper. The span has the path of the URL and not its query, which contains names of users. It ends with
// the body of the response.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := t.tracer.Start(r.Context(), r.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attributeMethod.String(r.Method), attribute.String("server.address", r.URL.Hostname()), attribute.Int("server.port", port(r.URL)),
		attribute.String("url.scheme", r.URL.Scheme), attribute.String("url.path", r.URL.Path)))
	if t.propagates(r.URL.Hostname()) {
		r = r.Clone(ctx)
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	} else {
		r = r.WithContext(ctx)
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		span.SetAttributes(attributeError.String("_OTHER"))
		span.SetStatus(codes.Error, "no response")
		span.End()
		return res, err
	}
	span.SetAttributes(attributeHTTP.Int(res.StatusCode))
	if res.StatusCode >= http.StatusBadRequest {
		span.SetAttributes(attributeError.String(strconv.Itoa(res.StatusCode)))
		span.SetStatus(codes.Error, "")
	}
	res.Body = &body{ReadCloser: res.Body, end: sync.OnceFunc(func() { span.End() })}
	return res, nil
}

// propagates reports whether requests to a host have a traceparent.
func (t *Tracer) propagates(host string) bool {
	return slices.ContainsFunc(t.hosts, func(h string) bool { return h == AnyHost || strings.EqualFold(h, host) })
}

func port(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}

// body is the body of a response.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *body) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
