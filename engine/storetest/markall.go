package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// testMarkAll compares MarkAll with a Mark of each matching principal, on states and lanes of all kinds.
func testMarkAll(t *testing.T, s *suite) {
	all := []engine.Status{
		engine.StatusDirty, engine.StatusClean, engine.StatusSkipped, engine.StatusWaiting,
		engine.StatusRetrying, engine.StatusFailed, engine.StatusHeld, engine.StatusPending,
	}
	holds := []engine.HoldKind{engine.HoldNone, engine.HoldPause, engine.HoldBreaker, engine.HoldQuarantine}
	base, begin := s.app, s.now
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		m := engine.MarkAll{Retry: r.IntN(2) == 0, AllMembers: r.IntN(2) == 0, Kind: []engine.Kind{"", engine.User, engine.Group}[r.IntN(3)]}
		for _, status := range all {
			if r.IntN(3) == 0 {
				m.Status = append(m.Status, status)
			}
		}
		hold := engine.Hold{Kind: holds[r.IntN(len(holds))]}
		if hold.Kind != engine.HoldNone {
			hold.Until = begin.Add(time.Duration(r.IntN(3)) * time.Hour)
		}
		released := r.IntN(2) == 0
		var outcome [2][]engine.State
		var lanes [2]engine.Lane
		for way := range 2 {
			s.app, s.now = fmt.Sprintf("%s %d %d", base, seed, way), begin
			lease := s.states(all, rand.New(rand.NewPCG(seed, 8)))
			if released {
				s.release(lease, hold, time.Time{})
			}
			s.now = begin.Add(time.Hour)
			fitting := slices.DeleteFunc(s.all(), func(p engine.State) bool {
				return m.Kind != "" && p.Kind != m.Kind || len(m.Status) > 0 && !slices.Contains(m.Status, p.Status)
			})
			m.App = s.app
			require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error {
				if way == 0 {
					n, err := s.can.markAll.MarkAll(t.Context(), tx, s.now, m)
					require.EqualValues(t, len(fitting), n)
					return err
				}
				var marks []engine.Mark
				for _, p := range fitting {
					marks = append(marks,
						engine.Mark{App: s.app, Kind: p.Kind, ID: p.ID, Retry: m.Retry, AllMembers: m.AllMembers && p.Kind == engine.Group})
				}
				return s.store.Mark(t.Context(), tx, s.now, marks)
			}))
			outcome[way] = s.all()
			var err error
			lanes[way], err = s.store.Lane(t.Context(), s.app)
			require.NoError(t, err)
			lanes[way].App, lanes[way].Owner = "", ""
			for i := range outcome[way] {
				outcome[way][i].App = ""
			}
		}
		require.Empty(t, cmp.Diff(outcome[1], outcome[0]), "seed %d: %+v", seed, m)
		require.Empty(t, cmp.Diff(lanes[1], lanes[0]), "seed %d: %+v", seed, m)
	}
	s.app = base + " nobody"
	require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error {
		n, err := s.can.markAll.MarkAll(t.Context(), tx, s.now, engine.MarkAll{App: s.app})
		require.Zero(t, n)
		return err
	}))
	_, err := s.store.Lane(t.Context(), s.app)
	require.ErrorIs(t, err, engine.ErrNotFound, "MarkAll creates no lane without principals")
}

// states gives some principals random statuses.
func (s *suite) states(statuses []engine.Status, r *rand.Rand) engine.Lease {
	s.t.Helper()
	kinds := []engine.Kind{engine.User, engine.Group}
	var marks []engine.Mark
	for n := range 12 {
		marks = append(marks, engine.Mark{Kind: kinds[n%2], ID: fmt.Sprint("p", n)})
	}
	s.mark(marks...)
	lease := s.claim()
	for _, m := range marks {
		f := store.Finish{Kind: m.Kind, ID: m.ID, Gen: 1, Status: statuses[r.IntN(len(statuses))], Attempts: r.IntN(4), At: s.now}
		if f.Status == engine.StatusPending {
			f.Pending = &engine.Pending{Txn: "t"}
		}
		if f.Status == engine.StatusRetrying || f.Status == engine.StatusDirty || f.Status == engine.StatusPending {
			f.NextAt = s.now.Add(time.Duration(r.IntN(120)) * time.Minute)
		}
		_, err := s.store.Finish(s.t.Context(), lease, f)
		require.NoError(s.t, err)
	}
	return lease
}

func (s *suite) all() []engine.State {
	s.t.Helper()
	all, err := s.store.States(s.t.Context(), engine.StateQuery{App: s.app})
	require.NoError(s.t, err)
	return all
}
