package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// traceparent returns the trace context number n.
func traceparent(n int) string { return fmt.Sprintf("00-%032x-%016x-01", n+1, n+1) }

func testMarkTraces(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, staff := engine.Principal{Kind: engine.User, ID: "ann"}, engine.Principal{Kind: engine.Group, ID: "staff"}
	save := func(n int, principals ...engine.Principal) {
		t.Helper()
		var marks []engine.Mark
		for _, p := range principals {
			marks = append(marks, engine.Mark{App: s.app, Kind: p.Kind, ID: p.ID})
		}
		s.mark(marks...)
		require.NoError(t, s.inTx(ctx, func(tx engine.Execer) error { return s.can.traces.SaveTrace(ctx, tx, marks, traceparent(n)) }))
	}
	of := func(p engine.Principal) []string {
		t.Helper()
		found, err := s.can.traces.MarkTraces(ctx, s.app, p)
		require.NoError(t, err)
		return found
	}
	require.Empty(t, of(ann))
	save(0, staff, ann, ann)
	save(1, ann)
	save(1, ann)
	require.Equal(t, []string{traceparent(0), traceparent(1)}, of(ann), "each trace is stored once")
	require.Equal(t, []string{traceparent(0)}, of(staff))
	require.Empty(t, of(engine.Principal{Kind: engine.Group, ID: "ann"}))

	save(2, ann)
	require.NoError(t, s.can.traces.EndTraces(ctx, s.app, ann, []string{traceparent(0), traceparent(1)}))
	require.Equal(t, []string{traceparent(2)}, of(ann), "a later trace remains")
	require.NoError(t, s.can.traces.EndTraces(ctx, s.app, ann, []string{traceparent(1)}))
	require.NoError(t, s.can.traces.EndTraces(ctx, s.app, ann, nil))
	require.Equal(t, []string{traceparent(2)}, of(ann), "other traces are not removed")
	require.NoError(t, s.can.traces.EndTraces(ctx, s.app, ann, []string{traceparent(2)}))
	require.Empty(t, of(ann))

	for n := range store.MaxMarkTraces + 2 {
		save(n, ann)
	}
	require.Len(t, of(ann), store.MaxMarkTraces)
	require.Equal(t, traceparent(0), of(ann)[0], "the first traces are stored")

	err := s.inTx(ctx, func(tx engine.Execer) error {
		return s.can.traces.SaveTrace(ctx, tx, []engine.Mark{{App: s.app, Kind: engine.User, ID: "ann"}}, "00-")
	})
	require.Error(t, err)

	crowd := make([]engine.Principal, 250)
	for i := range crowd {
		crowd[i] = engine.Principal{Kind: engine.User, ID: fmt.Sprint("u-", i)}
	}
	save(1, crowd...)
	require.Equal(t, []string{traceparent(1)}, of(crowd[249]))
	require.NoError(t, s.inTx(ctx, func(tx engine.Execer) error { return s.store.Forget(ctx, tx, s.app) }))
	require.Empty(t, of(ann))
	require.Empty(t, of(crowd[0]))
}
