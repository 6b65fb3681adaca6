package sequence

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
)

// haltLedger counts the reads of the halts. Its other methods are not called.
type haltLedger struct {
	Ledger
	reads int
	err   error
}

func (l *haltLedger) Halts(context.Context, string) ([]engine.Halt, error) {
	l.reads++
	return []engine.Halt{{Operation: engine.OpMembers}}, l.err
}

// TestReadHaltsAhead checks that halts are read when a response arrives, used for the next request once, and read again if they are old.
func TestReadHaltsAhead(t *testing.T) {
	for name, c := range map[string]struct {
		busy  time.Duration // between the response and the next request
		reads int
	}{
		"current": {haltsAge, 1},
		"old":     {haltsAge + 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &haltLedger{}
				r := &run{Deps: Deps{Ledger: l}}
				arrived := r.readHaltsAhead(t.Context())
				time.Sleep(time.Minute) // the target takes its time
				synctest.Wait()
				require.Zero(t, l.reads, "before the response")
				arrived()
				arrived()
				time.Sleep(c.busy)
				h, err := r.halted(t.Context(), engine.OpMembers)
				require.NoError(t, err)
				require.NotNil(t, h)
				require.Equal(t, c.reads, l.reads)
				_, err = r.halted(t.Context(), engine.OpMembers)
				require.NoError(t, err)
				require.Equal(t, c.reads+1, l.reads, "the next request reads the halts again")
			})
		})
	}
}

// TestReadHaltsAhead_Fails checks that a request is not sent if the read that has begun for it fails.
func TestReadHaltsAhead_Fails(t *testing.T) {
	l := &haltLedger{err: errors.New("no database")}
	r := &run{Deps: Deps{Ledger: l}}
	r.readHaltsAhead(t.Context())()
	_, err := r.halted(t.Context(), engine.OpMembers)
	require.ErrorIs(t, err, l.err)
}
