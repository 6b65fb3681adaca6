package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
)

func TestRankOf_Quarantine(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name  string
		until time.Time
		due   int
		rank  int
		what  string
	}{
		{"changes wait", now.Add(time.Minute), 1, rankRejected, "The target rejects the credentials. Nothing is sent. 1 change rejected."},
		{"no change waits", now.Add(time.Minute), 0, rankRejected, "The target rejects the credentials. Nothing is sent. 1 change rejected."},
		{"the next change would be sent", now.Add(-time.Second), 0, rankRejected, "The target rejects the credentials. 1 change rejected."},
		{"released, and changes wait", time.Time{}, 1, rankRejected, "The target rejects the credentials. Nothing is sent. 1 change rejected."},
		{"released", time.Time{}, 0, rankFailed, "1 change rejected by the target."},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := engine.Lag{App: "crm", Failed: 1, Due: test.due, Hold: engine.Hold{Kind: engine.HoldQuarantine, Until: test.until}}
			require.Equal(t, test.rank, rankOf(&l, now))
			need, ok := needOf(&ranked{lag: l, rank: rankOf(&l, now)}, now)
			require.True(t, ok)
			require.Equal(t, test.what, need.What)
		})
	}
}
