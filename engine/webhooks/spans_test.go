package webhooks_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestTracing_Attempts checks that each attempt to deliver a message has a span, which does not contain the path of the URL.
func TestTracing_Attempts(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	w := newWorld(t, sqldbtest.SQLite(t), func(o *webhooks.Options) {
		o.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
		o.RetryInitial, o.RetryMax = time.Millisecond, time.Millisecond
	})
	failed := false
	x := newReceiver(t, func(http.ResponseWriter, request) int {
		if !failed {
			failed = true
			return http.StatusServiceUnavailable
		}
		return http.StatusNoContent
	})
	id, _ := w.endpoint(x, func(e *webhooks.Endpoint) { e.URL += "/hooks/s3cret" })
	w.source.user("u-1")
	w.idle(id)
	require.Eventually(t, func() bool { return len(spans.GetSpans()) == 2 }, patience, time.Millisecond)
	for i, s := range spans.GetSpans() {
		require.Equal(t, "webhook", s.Name)
		require.False(t, s.Parent.IsValid())
		has := map[attribute.Key]any{}
		for _, a := range s.Attributes {
			has[a.Key] = a.Value.AsInterface()
			require.NotContains(t, a.Value.String(), "s3cret")
		}
		require.Equal(t, "crm", has["scimwright.app"])
		require.Equal(t, "u-1", has["scimwright.principal.id"])
		require.Equal(t, "user.updated", has["scimwright.event.type"])
		require.EqualValues(t, 1, has["scimwright.event.seq"])
		require.Equal(t, id, has["scimwright.webhook"])
		require.EqualValues(t, i+1, has["scimwright.attempt"])
		require.Equal(t, "127.0.0.1", has["server.address"])
		require.EqualValues(t, []int{http.StatusServiceUnavailable, http.StatusNoContent}[i], has["http.response.status_code"])
		require.Equal(t, []codes.Code{codes.Error, codes.Unset}[i], s.Status.Code)
	}
}
