package applane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLeavers_ClockMoved(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name       string
		ended, now time.Duration // since the beginning of the search
		resting    bool
	}{
		{"at once", 50 * time.Millisecond, 60 * time.Millisecond, true},
		{"after the pause", 50 * time.Millisecond, 2 * time.Second, false},
		{"within ten times a long search", 10 * time.Second, 50 * time.Second, true},
		{"moved forward during the search, within the longest pause", 40 * 24 * time.Hour, 40*24*time.Hour + time.Minute, true},
		{"moved forward during the search, after the longest pause", 40 * 24 * time.Hour, 40*24*time.Hour + 6*time.Minute, false},
		{"moved back after the search", time.Second, -40 * 24 * time.Hour, false},
		{"moved back during the search", -40 * 24 * time.Hour, -40*24*time.Hour + 2*time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l leavers
			l.end(start, start.Add(c.ended))
			require.Equal(t, c.resting, l.pausing(start.Add(c.now)))
		})
	}
}
