package daemon_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/engine/enginetest"
)

// otlp is a collector for OTLP over HTTP.
type otlp struct {
	t       *testing.T
	url     string
	mu      sync.Mutex
	spans   []*tracepb.Span
	service string
	header  http.Header
}

func newOTLP(t *testing.T) *otlp {
	t.Helper()
	c := &otlp{t: t}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// ServeHTTP implements http.Handler.
func (c *otlp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	assert.Equal(c.t, "/v1/traces", r.URL.Path)
	body, err := io.ReadAll(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	var export collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &export)
	}
	assert.NoError(c.t, err)
	c.header = r.Header
	for _, resource := range export.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				c.service = a.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// of returns the exported spans of a trace by name.
func (c *otlp) of(trace string) map[string]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]*tracepb.Span{}
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) == trace {
			found[s.Name] = s
		}
	}
	return found
}

const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
)

// TestTraces_CallerToTarget checks that the traceparent of a caller continues through the request, the mark and the sequence to the
// requests to the target, that the target does not get it, and that the log has it.
func TestTraces_CallerToTarget(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		target, _ := newTarget(t)
		var mu sync.Mutex
		var received []string
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			received = append(received, r.Header.Get("traceparent"))
			mu.Unlock()
			target.ServeHTTP(w, r)
		}))
		t.Cleanup(front.Close)
		c := newOTLP(t)
		d, stop := start(t, daemon.Options{DB: databaseURL, Traces: daemon.TraceOptions{
			Endpoint: c.url, Headers: map[string]string{"x-key": "k"},
		}})
		admin := callerOf(t, d)
		admin.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, front.URL))
		admin.header = http.Header{"Traceparent": {"00-" + callerTrace + "-" + callerSpan + "-01"}}
		admin.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
		admin.header = nil
		admin.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
		stop()

		spans := c.of(callerTrace)
		require.Contains(t, spans, http.MethodPost)
		parent := hex.EncodeToString
		assert.Equal(t, callerSpan, parent(spans["putUser"].ParentSpanId))
		assert.Equal(t, spans["putUser"].SpanId, spans["mark"].ParentSpanId)
		assert.Equal(t, spans["mark"].SpanId, spans["provision user"].ParentSpanId)
		assert.Equal(t, spans["provision user"].SpanId, spans[http.MethodPost].ParentSpanId)
		assert.Equal(t, "scimwright-engine", c.service)
		assert.Equal(t, "k", c.header.Get("X-Key"))
		mu.Lock()
		defer mu.Unlock()
		require.NotEmpty(t, received)
		assert.Empty(t, slices.DeleteFunc(received, func(s string) bool { return s == "" }))
	})
}

// TestTraces_PullAndWebhooks checks that the trace of a caller contains the queries to its endpoint, and that webhooks have spans.
func TestTraces_PullAndWebhooks(t *testing.T) {
	_, url := newTarget(t)
	idp, box, c := newProvider(t), newInbox(t), newOTLP(t)
	idp.set("u-1", "active", "A")
	d, stop := start(t, daemon.Options{Traces: daemon.TraceOptions{Endpoint: c.url}})
	admin := callerOf(t, d)
	var endpoint hook
	admin.do(http.StatusCreated, http.MethodPost, "/webhooks", `{"url":"`+box.url+`"}`, &endpoint)
	box.set(false, endpoint.Secret)
	admin.do(http.StatusOK, http.MethodPut, "/apps/crm", pullBody(1, url, idp.URL))
	admin.header = http.Header{"Traceparent": {"00-" + callerTrace + "-" + callerSpan + "-01"}}
	admin.do(http.StatusOK, http.MethodPost, "/apps/crm/marks", `{"marks":[{"kind":"user","id":"u-1"}]}`)
	admin.header = nil
	admin.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
	eventually(t, "the webhook arrives", func() bool { return box.has("user.created", "u-1") })
	stop()

	spans := c.of(callerTrace)
	require.Contains(t, spans, "pull /user")
	assert.Equal(t, spans["provision user"].SpanId, spans["directory user"].ParentSpanId)
	assert.Equal(t, spans["directory user"].SpanId, spans["pull /user"].ParentSpanId)
	c.mu.Lock()
	defer c.mu.Unlock()
	assert.True(t, slices.ContainsFunc(c.spans, func(s *tracepb.Span) bool { return s.Name == "webhook" && len(s.ParentSpanId) == 0 }))
}

// TestTraces_Configuration checks the settings of the file, the variables that disable traces, and the errors for invalid values.
func TestTraces_Configuration(t *testing.T) {
	c := newOTLP(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "engine.yaml")
	write := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	env := map[string]string{"OTLP_KEY": "from-variable"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	run := func() int {
		t.Helper()
		c.mu.Lock()
		c.spans = nil
		c.mu.Unlock()
		d, stop := start(t, daemon.Options{Config: file, LookupEnv: lookup})
		callerOf(t, d).do(http.StatusOK, http.MethodGet, "/caller", "")
		stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.spans)
	}
	write("traces: {endpoint: \"" + c.url + "\", headers: {x-key: \"env:OTLP_KEY\"}, hosts: [crm.example.com]}\n")
	assert.NotZero(t, run())
	assert.Equal(t, "from-variable", c.header.Get("X-Key"))
	write("traces: {endpoint: \"" + c.url + "\", sample: 0}\n")
	assert.Zero(t, run(), "no trace is sampled")
	write("traces: {endpoint: \"" + c.url + "\"}\n")
	for _, off := range [][2]string{{"OTEL_SDK_DISABLED", "true"}, {"OTEL_TRACES_EXPORTER", "none"}} {
		env[off[0]] = off[1]
		assert.Zero(t, run(), off[0])
		delete(env, off[0])
	}
	for text, want := range map[string]string{
		"traces: {endpoint: localhost:4318}":             "http or https URL",
		"traces: {sample: 2}":                            "from 0 to 1",
		"traces: {hosts: [\"https://crm.example.com\"]}": "is not a host",
		"traces: {headers: {x: plain}}":                  "1:20",
		"traces: {endpont: x}":                           "did you mean \"endpoint\"",
	} {
		write(text)
		assert.ErrorContains(t, daemon.Options{Config: file, LookupEnv: lookup}.Check(), want, text)
	}
	write("traces: {endpoint: \"" + c.url + "\"}\n")
	env["OTEL_EXPORTER_OTLP_PROTOCOL"] = "grpc"
	require.ErrorContains(t, daemon.Options{Config: file, LookupEnv: lookup}.Check(), "http/protobuf only")
}

// TestTraces_InLog checks that a log record of traced work has the ids of the trace and of the span.
func TestTraces_InLog(t *testing.T) {
	var log logged
	target, url := newTarget(t)
	target.Inject(enginetest.Fault{Status: http.StatusUnauthorized, Times: 1})
	d, stop := start(t, daemon.Options{Logger: log.logger(), Traces: daemon.TraceOptions{Endpoint: newOTLP(t).url}})
	c := callerOf(t, d)
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
	c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
	eventually(t, "the hold is logged", func() bool { return strings.Contains(log.String(), "lane on hold") })
	stop()
	assert.Regexp(t, `"lane on hold".*"trace_id":"[0-9a-f]{32}","span_id":"[0-9a-f]{16}"`, log.String())
}

// TestTraces_CollectorUnavailable checks that an unavailable collector disturbs neither the requests nor the stop.
func TestTraces_CollectorUnavailable(t *testing.T) {
	var log logged
	d, stop := start(t, daemon.Options{Logger: log.logger(), Traces: daemon.TraceOptions{Endpoint: "http://127.0.0.1:1"}})
	callerOf(t, d).do(http.StatusOK, http.MethodGet, "/caller", "")
	stop()
	assert.Contains(t, log.String(), "spans not exported")
}
