package pull_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestTracing_Queries checks that a query has a span, by the provider of the span in its context.
func TestTracing_Queries(t *testing.T) {
	p := newProvider(t)
	d := p.open(t)
	spans := tracetest.NewInMemoryExporter()
	ctx, parent := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test").Start(t.Context(), "sequence")
	p.set("/group", `{"app":"crm","id":"g-1","state":"active","displayName":"Sales"}`)
	_, err := d.Group(ctx, "crm", "g-1")
	require.NoError(t, err)
	_, err = d.User(ctx, "crm", "u-1")
	require.Error(t, err, "the endpoint responds 404")
	p.Close()
	_, err = d.User(ctx, "crm", "u-1")
	require.Error(t, err)
	_, err = d.User(t.Context(), "crm", "u-1")
	require.Error(t, err, "no span: the context has none")
	found := spans.GetSpans()
	require.Len(t, found, 3)
	for i, s := range found {
		require.Equal(t, []string{"pull /group", "pull /user", "pull /user"}[i], s.Name)
		require.Equal(t, parent.SpanContext().SpanID(), s.Parent.SpanID())
		require.Equal(t, []codes.Code{codes.Unset, codes.Error, codes.Error}[i], s.Status.Code)
		has := map[attribute.Key]any{}
		for _, a := range s.Attributes {
			has[a.Key] = a.Value.AsInterface()
		}
		require.Equal(t, "127.0.0.1", has["server.address"])
		require.Equal(t, []any{int64(200), int64(404), nil}[i], has["http.response.status_code"])
	}
}
