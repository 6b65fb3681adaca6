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
		a, one, two := newActivity(), &server{}, &server{}
		a.note(one)
		a.note(one)
		require.False(t, a.recent(), "a server alone")
		a.note(two)
		require.True(t, a.recent())
		time.Sleep(neighborTime / 2)
		a.note(one)
		time.Sleep(neighborTime / 2)
		a.note(one)
		require.True(t, a.recent(), "the other server had a request within the time")
		time.Sleep(neighborTime / 2)
		require.False(t, a.recent(), "only one server had requests")
	})
}

// TestTurns_OnlyWithNeighbors enters more turns than there are.
func TestTurns_OnlyWithNeighbors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(before *activity) { served = before }(served)
		served = newActivity()
		all := newTurns()
		enterAll := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), neighborTime/2)
			defer cancel()
			for range cap(all) + 1 {
				turn, err := all.enterShared(ctx)
				if err != nil {
					return err
				}
				defer turn.leave() // at the end: the turns are held at the same time
			}
			return nil
		}
		served.note(&server{})
		require.NoError(t, enterAll(), "a server alone")
		for range 3 {
			served.note(&server{})
			require.ErrorIs(t, enterAll(), context.DeadlineExceeded)
			require.Empty(t, all, "each turn is free again after an error")
		}
	})
}
