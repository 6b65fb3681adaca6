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

// TestOrder_DeactivationsBeforeCreates queues deactivations last, behind 5,000 creates. The engine works on one principal at a time, so
// that the order is known. All deactivations are sent before the first create.
func TestOrder_DeactivationsBeforeCreates(t *testing.T) {
	const creates, leaving = 5000, 100
	s := newLargeWorld(t, sqldbtest.SQLite(t), leaving)
	s.target(func(t *engine.Target) { t.Concurrency = 1 })
	var queued, last []engine.Mark
	for n := leaving; n < leaving+creates; n++ {
		queued = append(queued, userMark(crowdID(n)))
	}
	for n := range leaving {
		s.directory.off[crowdID(n)] = true
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
	stopNow(t, e)
	sent := s.fake.sent()
	sent = sent[:slices.Index(sent, "POST /Users")]
	patches := slices.DeleteFunc(sent, func(r string) bool { return !strings.HasPrefix(r, "PATCH /Users/") })
	require.Len(t, patches, leaving)
}
