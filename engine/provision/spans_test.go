package provision_test

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// collector collects the spans of several providers.
type collector struct{ spans *tracetest.InMemoryExporter }

func newCollector() *collector { return &collector{tracetest.NewInMemoryExporter()} }

func (c *collector) provider(o ...sdktrace.TracerProviderOption) trace.TracerProvider {
	return sdktrace.NewTracerProvider(append(o, sdktrace.WithSyncer(c.spans))...)
}

// named returns the ended spans with a name.
func (c *collector) named(name string) tracetest.SpanStubs {
	return slices.DeleteFunc(c.spans.GetSpans(), func(s tracetest.SpanStub) bool { return s.Name != name })
}

// one returns the only ended span with a name.
func (c *collector) one(t *testing.T, name string) tracetest.SpanStub {
	t.Helper()
	found := c.named(name)
	require.Len(t, found, 1, name)
	return found[0]
}

func attributeOf(s tracetest.SpanStub, key attribute.Key) any {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.AsInterface()
		}
	}
	return nil
}

// markIn marks principals as part of a request, and returns the context of its span.
func (w *world) markIn(p trace.TracerProvider, e *provision.Engine, marks ...engine.Mark) trace.SpanContext {
	w.t.Helper()
	ctx, span := p.Tracer("test").Start(w.t.Context(), "request")
	defer span.End()
	require.NoError(w.t, w.db.Update(ctx, func(tx *sqldb.Tx) error { return e.Mark(ctx, tx.Execer(), marks...) }))
	e.Wake(app)
	return span.SpanContext()
}

// TestTracing_MarkToTarget checks that the request of a caller, the mark, the sequence and the requests to the target are one trace, also
// if another process runs the sequence: after a restart, and in another engine that shares the database.
func TestTracing_MarkToTarget(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		first, second := newCollector(), newCollector()
		w := newWorld(t, db, provision.Options{TracerProvider: first.provider()})
		w.dir.SetUser(app, "u-1", user("u-1", "ann"))
		var caller trace.SpanContext
		w.as(func(t *engine.Target) { t.Paused = true })
		marked := first.provider()
		caller = w.markIn(marked, w.engine, userMark("u-1"))
		mark := first.one(t, "mark")
		if db.Dialect() == sqldb.SQLite { // one process at a time
			w.stop(w.engine)
		}
		other := w.start(provision.Options{TracerProvider: second.provider()})
		if db.Dialect() == sqldb.Postgres {
			w.stop(w.engine)
		}
		w.engine = other
		w.as(func(t *engine.Target) { t.Paused = false })
		require.NoError(t, other.Apps().Kick(t.Context(), app))
		w.wait()
		w.stop(other)

		assert.Equal(t, caller.TraceID(), mark.SpanContext.TraceID())
		assert.Equal(t, caller.SpanID(), mark.Parent.SpanID())
		assert.Equal(t, "u-1", attributeOf(mark, "scimwright.principal.id"))
		sequence := second.one(t, "provision user")
		assert.Equal(t, caller.TraceID(), sequence.SpanContext.TraceID())
		assert.Equal(t, mark.SpanContext.SpanID(), sequence.Parent.SpanID())
		assert.Equal(t, "create", attributeOf(sequence, "scimwright.operation"))
		require.Len(t, sequence.Links, 1, "the lane")
		assert.NotEqual(t, caller.TraceID(), sequence.Links[0].SpanContext.TraceID())
		post := second.one(t, http.MethodPost)
		assert.Equal(t, caller.TraceID(), post.SpanContext.TraceID())
		assert.Equal(t, sequence.SpanContext.SpanID(), post.Parent.SpanID())
		assert.Equal(t, "/Users", attributeOf(post, "url.path"))
		assert.EqualValues(t, http.StatusCreated, attributeOf(post, "http.response.status_code"))
		for _, get := range second.named(http.MethodGet) {
			for _, a := range get.Attributes {
				assert.NotContains(t, a.Value.String(), "ann", "a filter contains the name of the user")
			}
		}
		left, err := w.store.MarkTraces(t.Context(), app, engine.Principal{Kind: engine.User, ID: "u-1"})
		require.NoError(t, err)
		assert.Empty(t, left)
	})
}

// TestTracing_MergedMarks checks that a sequence for several marks has a link to each of them, and that a retry continues their trace.
func TestTracing_MergedMarks(t *testing.T) {
	c := newCollector()
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{TracerProvider: c.provider()})
	w.dir.SetUser(app, "u-1", user("u-1", "ann"))
	w.as(func(t *engine.Target) { t.Paused = true })
	p := c.provider()
	first := w.markIn(p, w.engine, userMark("u-1"))
	second := w.markIn(p, w.engine, userMark("u-1"))
	w.markIn(c.provider(sdktrace.WithSampler(sdktrace.NeverSample())), w.engine, userMark("u-1"))
	w.fake.Inject(enginetest.Fault{Method: http.MethodPost, Status: http.StatusServiceUnavailable})
	w.as(func(t *engine.Target) { t.Paused = false })
	require.NoError(t, w.engine.Apps().Kick(t.Context(), app))
	w.wait()
	w.stop(w.engine)
	sequences := c.named("provision user")
	require.Len(t, sequences, 2)
	for i, s := range sequences {
		assert.Equal(t, first.TraceID(), s.SpanContext.TraceID())
		assert.EqualValues(t, i+1, attributeOf(s, "scimwright.attempt"))
		var linked []trace.TraceID
		for _, l := range s.Links {
			linked = append(linked, l.SpanContext.TraceID())
		}
		assert.Contains(t, linked, second.TraceID())
		assert.Len(t, linked, 2, "the second mark and the lane")
	}
	assert.Equal(t, codes.Error, sequences[0].Status.Code)
	assert.Equal(t, "transient", attributeOf(sequences[0], "scimwright.outcome"))
	assert.Equal(t, codes.Unset, sequences[1].Status.Code)
}

// TestTracing_TraceparentOnlyToNamedHosts checks that a target gets the trace context only if its host is in Options.TraceHosts.
func TestTracing_TraceparentOnlyToNamedHosts(t *testing.T) {
	for name, hosts := range map[string][]string{"none": nil, "other": {"crm.example.com"}, "named": {"127.0.0.1"}, "all": {"*"}} {
		t.Run(name, func(t *testing.T) {
			c := newCollector()
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{TracerProvider: c.provider(), TraceHosts: hosts})
			var mu sync.Mutex
			var sent []string
			w.front(func(rw http.ResponseWriter, r *http.Request) {
				mu.Lock()
				sent = append(sent, r.Header.Get("traceparent"))
				mu.Unlock()
				w.fake.ServeHTTP(rw, r)
			})
			w.set("u-1", user("u-1", "ann"))
			w.wait()
			w.stop(w.engine)
			mu.Lock()
			defer mu.Unlock()
			require.NotEmpty(t, sent)
			for _, s := range sent {
				if name == "none" || name == "other" {
					assert.Empty(t, s)
				} else {
					assert.Contains(t, s, c.one(t, "mark").SpanContext.TraceID().String())
				}
			}
		})
	}
}

// BenchmarkMarkTracing measures transactions of 10 marks without a provider, with one that records nothing, and with one that records all.
func BenchmarkMarkTracing(b *testing.B) {
	providers := map[string]trace.TracerProvider{
		"off": nil, "unsampled": sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())),
		"recorded": sdktrace.NewTracerProvider(),
	}
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		for _, name := range slices.Sorted(maps.Keys(providers)) {
			b.Run(name, func(b *testing.B) {
				s, err := enginestore.Open(b.Context(), db, sqlstore.Options{})
				require.NoError(b, err)
				e, err := provision.New(provision.Options{Store: s, Directory: &enginetest.Directory{}, TracerProvider: providers[name]})
				require.NoError(b, err)
				var marks []engine.Mark
				for n := range 10 {
					marks = append(marks, userMark(crowdID(n)))
				}
				for b.Loop() {
					require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error { return e.Mark(b.Context(), tx.Execer(), marks...) }))
				}
			})
		}
	})
}

// TestTracing_DirectoryQueries checks that each query of the directory by a sequence is a child of the span of the sequence.
func TestTracing_DirectoryQueries(t *testing.T) {
	c := newCollector()
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{TracerProvider: c.provider()})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Active, DisplayName: "Sales"})
	w.dir.SetMember(app, "g-1", "u-1", true)
	w.mark(groupMark("g-1"))
	w.wait()
	w.stop(w.engine)
	for name, sequence := range map[string]string{
		"directory user": "provision user", "directory group": "provision group", "directory members": "provision group",
	} {
		parent := c.one(t, sequence).SpanContext.SpanID()
		found := slices.DeleteFunc(c.named(name), func(s tracetest.SpanStub) bool { return s.Parent.SpanID() != parent })
		require.Len(t, found, 1, name)
		assert.Equal(t, app, attributeOf(found[0], "scimwright.app"))
		assert.Contains(t, []any{"u-1", "g-1"}, attributeOf(found[0], "scimwright.principal.id"))
	}
}
