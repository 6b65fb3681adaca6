package lane_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
)

// TestDispatcher_ClaimsShare checks the number of lanes that a process claims immediately, if each lane runs until the end of the test. The
// process claims the remaining lanes later, because no other process claims them.
func TestDispatcher_ClaimsShare(t *testing.T) {
	for _, c := range []struct {
		name                    string
		processes, pending, max int
		others                  int // running lanes of the other processes
		first                   int // claimed immediately
	}{
		{name: "all start together", processes: 4, pending: 200, max: 256, first: 50},
		{name: "the others are above", processes: 4, pending: 20, max: 256, others: 60, first: 20},
		{name: "the others have half of their share", processes: 4, pending: 90, max: 256, others: 30, first: 30},
		{name: "a few lanes", processes: 4, pending: 3, max: 256, first: 2},
		{name: "more than the maximum", processes: 4, pending: 200, max: 20, first: 20},
		{name: "one process", processes: 1, pending: 200, max: 256, first: 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f := &divided{unlikely: true, processes: c.processes, others: c.others}, newFleet()
				s.add("t", c.pending)
				d := lane.NewDispatcher(lane.Options{
					Leases: s, Fleet: f, Sweep: sweep, Lanes: c.max, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
				ctx, stop := context.WithCancel(t.Context())
				go d.Run(ctx, func(ctx context.Context, _ *lane.Ownership) (engine.Hold, time.Time) {
					<-ctx.Done()
					return engine.Hold{}, time.Time{}
				})
				pass(sweep / 2)
				require.Equal(t, c.first, s.running()["t"])
				d.Wake()
				synctest.Wait()
				require.Equal(t, c.first, s.running()["t"], "another search claims no more")
				pass(3 * sweep)
				require.Equal(t, min(c.pending, c.max), s.running()["t"], "no other process claims the rest")
				stop()
				synctest.Wait()
				f.end()
			})
		})
	}
}

// TestDispatcher_SearchesWhileReleased checks that a process searches more often while another one releases its lanes, for a limited time
// and not in a large fleet.
func TestDispatcher_SearchesWhileReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f := &leases{nextAt: time.Now().AddDate(1, 0, 0)}, newFleet()
		d := dispatcher(l, f)
		go d.Run(t.Context(), nil)
		searches := func() int {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.due)
		}
		for _, c := range []struct {
			retired   bool
			processes int64
			searches  float64
		}{{false, 4, 10}, {true, 4, 100}, {true, 4, 68}, {true, 4, 10}, {false, 4, 10}, {true, 50, 20}, {false, 50, 10}, {true, 200, 10}} {
			l.mu.Lock()
			l.retired = c.retired
			l.mu.Unlock()
			f.processes.Store(c.processes)
			pass(2 * sweep) // the dispatcher has noticed it
			before := searches()
			pass(10 * sweep)
			require.InDelta(t, c.searches, searches()-before, c.searches/4, "%+v", c)
		}
		d.Drain()
	})
}

// TestDispatcher_RetiredClaimsNothing checks that a process that is about to stop keeps its lanes and claims no more.
func TestDispatcher_RetiredClaimsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := &divided{unlikely: true}, newFleet()
		s.add("t", 1)
		d := dispatcher(s, f)
		go d.Run(t.Context(), func(_ context.Context, o *lane.Ownership) (engine.Hold, time.Time) {
			for !o.Draining() {
				time.Sleep(10 * time.Millisecond)
			}
			return engine.Hold{}, time.Time{}
		})
		pass(sweep)
		d.Retire()
		s.add("other", 1)
		d.Wake()
		pass(5 * sweep)
		require.Equal(t, map[string]int{"t": 1}, s.running())
		d.Drain()
		pass(sweep)
		require.Empty(t, s.running())
		f.end()
	})
}
