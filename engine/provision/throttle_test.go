package provision_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// held waits until the lane is on hold and released.
func (w *world) held() engine.Lane {
	w.t.Helper()
	var l engine.Lane
	w.poll("a hold", func() bool { l = w.lane(); return l.Hold.Kind != "" && l.Owner == "" })
	return l
}

func TestThrottle_Bounds(t *testing.T) {
	for name, c := range map[string]struct {
		fallback engine.Fallback
		fault    enginetest.Fault
		pause    time.Duration // maximum
		tries    int           // 0: no limit
	}{
		"none, 1h":                  {engine.FallbackNone, enginetest.Fault{Status: 429, RetryAfter: "3600"}, 30 * time.Second, 3},
		"none, 5s":                  {engine.FallbackNone, enginetest.Fault{Status: 429, RetryAfter: "5"}, 5 * time.Second, 3},
		"none, without Retry-After": {engine.FallbackNone, enginetest.Fault{Status: 429}, 30 * time.Second, 3},
		"none, unavailable for 1h":  {engine.FallbackNone, enginetest.Fault{Status: 503, RetryAfter: "3600"}, 30 * time.Second, 3},
		"learn, 1m":                 {engine.FallbackLearn, enginetest.Fault{Status: 429, RetryAfter: "60"}, time.Minute, 0},
		"learn, 24h":                {engine.FallbackLearn, enginetest.Fault{Status: 429, RetryAfter: "86400"}, time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			clk := &clock{}
			o := provision.Options{Now: clk.Now, RetryInitial: time.Second, RetryMax: 20 * time.Second}
			w := newWorld(t, sqldbtest.SQLite(t), o)
			w.as(func(t *engine.Target) { t.Fallback = c.fallback })
			c.fault.Times, c.fault.Method = -1, http.MethodPost
			w.fake.Inject(c.fault)
			w.set("u-1", user("u-1", "ann"))
			const enough = 6
			tries := 0
			for ; tries < enough; tries++ {
				l := w.held()
				w.poll("a try", func() bool { return !w.state(engine.User, "u-1").UpdatedAt.IsZero() && w.lane().Owner == "" })
				require.Len(t, w.writes(), 1)
				require.LessOrEqual(t, l.Hold.Until.Sub(clk.Now()), c.pause)
				require.Greater(t, l.Hold.Until.Sub(clk.Now()), 100*time.Millisecond)
				s := w.state(engine.User, "u-1")
				if s.Status == engine.StatusFailed {
					tries++
					break
				}
				require.Equal(t, engine.StatusDirty, s.Status)
				require.Equal(t, l.Hold.Until, w.tasks()[0].NextAt)
				w.advance(clk, l.Hold.Until.Sub(clk.Now())+10*time.Millisecond, o)
				w.poll("the next try", func() bool {
					return len(w.fake.Users()) == 0 && w.lane().Hold.Until.After(clk.Now()) && w.lane().Owner == ""
				})
			}
			if c.tries == 0 {
				require.Equal(t, enough, tries)
				return
			}
			require.Equal(t, c.tries, tries)
			s := w.state(engine.User, "u-1")
			require.Equal(t, engine.StatusFailed, s.Status)
			require.Contains(t, s.LastError, "tried 3 times")
			require.Contains(t, s.LastError, "injected")
			w.fake.ClearFaults()
			require.NoError(t, w.engine.Tasks().Retry(t.Context(), app, engine.User, "u-1"))
			w.wait()
			require.Len(t, w.fake.Users(), 1, "a retry starts again")
		})
	}
}

// TestThrottle_DeactivationAlwaysRetried checks that deactivations are retried without a limit.
func TestThrottle_DeactivationAlwaysRetried(t *testing.T) {
	clk := &clock{}
	o := provision.Options{Now: clk.Now}
	w := newWorld(t, sqldbtest.SQLite(t), o)
	w.as(func(t *engine.Target) { t.Fallback = engine.FallbackNone })
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.fake.Inject(enginetest.Fault{Method: http.MethodPatch, Status: 429, RetryAfter: "3600", Times: 8})
	w.set("u-1", off("u-1", "ann"))
	w.fake.Requests()
	tries := 0
	for w.state(engine.User, "u-1").Status != engine.StatusClean {
		l := w.held()
		tries++
		require.Less(t, tries, 20)
		require.LessOrEqual(t, l.Hold.Until.Sub(clk.Now()), 30*time.Second)
		w.advance(clk, 31*time.Second, o)
		w.poll("the next try", func() bool {
			return w.state(engine.User, "u-1").Status == engine.StatusClean || w.lane().Hold.Until.After(clk.Now()) && w.lane().Owner == ""
		})
	}
	require.Equal(t, 8, tries)
	is, _ := w.fake.Users()[0].Bool("active")
	require.False(t, is)
}
