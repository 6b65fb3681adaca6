package scimserver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestActivity_Neighbors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, one, two := newActivity(), &turns{}, &turns{}
		a.note(one)
		a.note(one)
		require.False(t, a.others(one), "a server alone")
		require.True(t, a.others(two), "a server that has had no request yet")
		a.note(two)
		require.True(t, a.others(one))
		require.True(t, a.others(two))
		for range 3 {
			time.Sleep(neighborTime / 2)
			a.note(one)
		}
		require.False(t, a.others(one), "only this server had requests")
		require.True(t, a.others(two), "a long request of this server may be in progress")
		time.Sleep(neighborTime)
		require.False(t, a.others(two), "no server had requests")
		a.note(two)
		require.False(t, a.others(two), "the requests of the other server were before")
	})
}

// TestTurns_OnlyWithNeighbors enters more turns than there are.
func TestTurns_OnlyWithNeighbors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(before *activity) { served = before }(served)
		served = newActivity()
		all := newTurns(defaultTurnTime())
		enterAll := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), neighborTime/2)
			defer cancel()
			for range cap(all.slots) + 1 {
				turn, err := all.enterShared(ctx)
				if err != nil {
					return err
				}
				defer turn.leave() // at the end: the turns are held at the same time
			}
			return nil
		}
		served.note(all)
		require.NoError(t, enterAll(), "a server alone")
		for range 3 {
			served.note(&turns{})
			require.ErrorIs(t, enterAll(), context.DeadlineExceeded)
			require.Empty(t, all.slots, "each turn is free again after an error")
		}
	})
}

// TestTurns_Rest measures how long all turns take to begin after one has ended. The processor time of the process does not count in the
// test: the clock of synctest stands still meanwhile.
func TestTurns_Rest(t *testing.T) {
	const perSecond = 100 * time.Millisecond
	moved := func(spent time.Duration) func(*turn) {
		return func(one *turn) { one.moves(int(spent / moveTime)) }
	}
	for name, test := range map[string]struct {
		alone, scan bool
		ends        []func(*turn)
		want        time.Duration
	}{
		"short":            {ends: []func(*turn){moved(shortTurn - moveTime)}},
		"within the burst": {ends: []func(*turn){moved(turnBurst)}},
		"beyond the burst": {ends: []func(*turn){moved(turnBurst + 20*time.Millisecond)}, want: 200 * time.Millisecond},
		"in parts":         {ends: []func(*turn){moved(turnBurst), moved(20 * time.Millisecond)}, want: 200 * time.Millisecond},
		"short after a rest": {
			ends: []func(*turn){moved(turnBurst + 20*time.Millisecond), moved(0)}, want: 200 * time.Millisecond,
		},
		"longest":        {ends: []func(*turn){moved(10 * turnBurst)}, want: maxRest},
		"a server alone": {alone: true, ends: []func(*turn){moved(10 * turnBurst)}},
		"a scan":         {scan: true, ends: []func(*turn){moved(10 * turnBurst)}},
		"a scan that decodes": {scan: true, want: maxRest, ends: []func(*turn){func(one *turn) {
			one.decodes()
			moved(10 * turnBurst)(one)
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer func(before *activity) { served = before }(served)
				served = newActivity()
				all := newTurns(perSecond)
				served.note(all)
				if !test.alone {
					served.note(&turns{})
				}
				enter := all.enter
				if test.scan {
					enter = all.enterScan
				}
				began := time.Now()
				for _, end := range test.ends {
					one, err := enter(t.Context())
					require.NoError(t, err)
					end(&one)
					one.leave()
				}
				for range cap(all.slots) {
					one, err := all.enter(t.Context())
					require.NoError(t, err)
					defer one.leave()
				}
				require.InDelta(t, test.want, time.Since(began), float64(100*time.Microsecond))
			})
		})
	}
}

func TestTurns_Pause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(before *activity) { served = before }(served)
		served = newActivity()
		all := newTurns(time.Second)
		pauses := func() bool {
			began := time.Now()
			all.pause()
			return time.Since(began) == pauseTime
		}
		spend := func() {
			one, err := all.enter(t.Context())
			require.NoError(t, err)
			one.moves(int(turnBurst / moveTime))
			one.leave()
		}
		served.note(all)
		spend()
		require.False(t, pauses(), "a server alone")
		served.note(&turns{})
		require.False(t, pauses(), "a server that has spent nothing since then")
		spend()
		require.True(t, pauses())
		time.Sleep(turnBurst)
		require.False(t, pauses(), "the time is available again")
	})
}
