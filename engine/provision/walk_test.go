package provision_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// Members of the group of the following tests, and those that the engine has stored when the directory stops to respond.
const walkMembers, walkKnown = 9_500, 7_000

// walkWorld returns a directory with a new group. The directory calls stall instead of returning the members after the first walkKnown.
func walkWorld(t *testing.T, db *sqldb.DB, stall func(context.Context) error) *largeWorld {
	t.Helper()
	s := newLargeWorld(t, db, walkMembers)
	s.directory.first = walkMembers
	s.directory.page = func(ctx context.Context, after string) error {
		if after == crowdID(walkKnown-1) {
			return stall(ctx)
		}
		return nil
	}
	s.mark(groupMark("g"))
	return s
}

// pushedWhole checks that the target has all members, and that the next push is one of differences.
func (s *largeWorld) pushedWhole(t *testing.T, e *provision.Engine) {
	t.Helper()
	s.wait(e, app)
	_, members := s.fake.has(t)
	require.Empty(t, cmp.Diff(s.directory.wanted(), members))
	row := one(t, s, engine.Group, "g")
	require.Equal(t, engine.StatusClean, row.Status)
	require.Zero(t, row.Full)
	s.fake.sent()
	s.directory.set(func() { s.directory.in[crowdID(1)] = false })
	s.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: []string{crowdID(1)}})
	s.wait(e, app)
	require.Equal(t, []string{"PATCH /Groups/rg-1, remove members"}, s.fake.sent())
}

// TestPush_InterruptedDuringWalk interrupts a push after some of its requests, when the directory has not returned all members yet. The
// next engine pushes all members.
func TestPush_InterruptedDuringWalk(t *testing.T) {
	for name, cut := range cuts {
		for _, requests := range []int{2, 3, 4, 25} { // a lookup, a create and member batches
			t.Run(name, func(t *testing.T) {
				sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
					s := walkWorld(t, db, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
					cut(s, requests, requests)
					require.Len(t, s.fake.sent(), requests, "sent before the walk has ended")
					s.directory.set(func() { s.directory.page = nil })
					e := s.start(provision.Options{Owner: "two"}, time.Hour)
					defer s.stop(e)
					s.pushedWhole(t, e)
				})
			})
		}
	}
}

// TestPush_DirectoryFailsDuringWalk checks that a push ends with an error if the directory fails after the first members were sent. The
// next sequence pushes all members.
func TestPush_DirectoryFailsDuringWalk(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		failed := false
		s := walkWorld(t, db, func(context.Context) error {
			if failed {
				return nil
			}
			failed = true
			return errors.New("no members today")
		})
		results := make(chan engine.Result, 100)
		e := s.start(provision.Options{Observer: engine.ObserverFunc(func(_ context.Context, r engine.Result) { results <- r })}, 0)
		defer s.stop(e)
		first := <-results
		require.Equal(t, engine.Transient, first.Outcome)
		require.Contains(t, first.Error, "no members today")
		require.Equal(t, "rg-1", first.RemoteID)
		s.pushedWhole(t, e)
	})
}

// TestPush_ChangedDuringWalk checks that a user who leaves the group after the request that added it is removed.
func TestPush_ChangedDuringWalk(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		sent, changed := make(chan struct{}), make(chan struct{})
		s := walkWorld(t, db, func(ctx context.Context) error {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
		e := s.start(provision.Options{Transport: &countdown{left: 4, done: sent}}, 0)
		defer s.stop(e)
		<-sent
		s.directory.set(func() { s.directory.in[crowdID(2)] = false })
		s.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: []string{crowdID(2)}})
		close(changed)
		s.pushedWhole(t, e)
	})
}

// countdown closes done after a number of responses.
type countdown struct {
	left int
	done chan struct{}
}

func (c *countdown) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if c.left--; c.left == 0 {
		close(c.done)
	}
	return resp, err
}
