package provision_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestOrder_DeactivationsBeforeCreates queues deactivations last, behind 5,000 creates. With one principal after another, so that
// the order is known, all of them are sent before the first create.
func TestOrder_DeactivationsBeforeCreates(t *testing.T) {
	const creates, leaving = 5000, 100
	s := newStage(t, sqldbtest.SQLite(t), leaving)
	s.target(func(t *engine.Target) { t.Concurrency = 1 })
	var queued, last []engine.Mark
	for n := leaving; n < leaving+creates; n++ {
		queued = append(queued, userMark(crowdID(n)))
	}
	for n := range leaving {
		s.crowd.off[crowdID(n)] = true
		last = append(last, userMark(crowdID(n)))
	}
	s.mark(queued...)
	s.mark(last...)
	e := s.start(provision.Options{}, 0)
	deadline := time.Now().Add(deadline)
	for counts := map[engine.Status]int{}; counts[engine.StatusClean] <= leaving; {
		require.True(t, time.Now().Before(deadline), "%v", counts)
		time.Sleep(time.Millisecond)
		var err error
		counts, err = e.Apps().Counts(t.Context(), app)
		require.NoError(t, err)
	}
	end(t, e)
	sent := s.hall.sent()
	sent = sent[:slices.Index(sent, "POST /Users")]
	patches := slices.DeleteFunc(sent, func(r string) bool { return !strings.HasPrefix(r, "PATCH /Users/") })
	require.Len(t, patches, leaving)
}
