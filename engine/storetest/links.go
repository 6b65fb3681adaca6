package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func (s *suite) link(links ...engine.Link) error {
	return s.inTx(s.t.Context(), func(tx engine.Execer) error { return s.can.links.Link(s.t.Context(), tx, s.now, s.app, links) })
}

// refused checks that err is a LinkError, and returns its reasons by principal.
func (s *suite) refused(err error) map[string]string {
	s.t.Helper()
	refusal, ok := errors.AsType[*engine.LinkError](err)
	require.True(s.t, ok, "%v", err)
	out := map[string]string{}
	for _, c := range refusal.Conflicts {
		out[c.Link.ID] = c.Reason
	}
	return out
}

func testLinks(t *testing.T, s *suite) {
	ann := engine.Link{Kind: engine.User, ID: "ann", RemoteID: "r1", RemoteName: "Ann", Origin: engine.Created}
	bob := engine.Link{Kind: engine.User, ID: "bob", RemoteID: "r2"}
	tea := engine.Link{Kind: engine.Group, ID: "tea", RemoteID: "r1"} // user and group ids are independent
	require.NoError(t, s.link(bob, tea, ann))
	require.NoError(t, s.link(ann), "the link exists")
	bob.Origin, tea.Origin = engine.Imported, engine.Imported
	all, err := s.can.links.Links(t.Context(), s.app, engine.Link{}, 2)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]engine.Link{tea, ann}, all))
	all, err = s.can.links.Links(t.Context(), s.app, all[1], 2)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]engine.Link{bob}, all))
	state := s.state(engine.User, "ann")
	state.UpdatedAt = time.Time{}
	require.Empty(t,
		cmp.Diff(engine.State{App: s.app, Kind: engine.User, ID: "ann", Desired: 1, Synced: 1, Status: engine.StatusClean, MayExist: true,
			RemoteID: "r1", RemoteName: "Ann", Origin: engine.Created, LastOperation: engine.OpLink}, state))
	require.Empty(t, s.due(), "a link sends nothing")
	s.mark(engine.Mark{Kind: engine.Group, ID: "tea"})
	group := s.state(engine.Group, "tea")
	require.Greater(t, group.Full, group.Synced, "the members of a linked group are unknown")

	err = s.link(
		engine.Link{Kind: engine.User, ID: "cat", RemoteID: "r3"}, // valid
		engine.Link{Kind: engine.User, ID: "dan", RemoteID: "r1"},
		engine.Link{Kind: engine.User, ID: "ann", RemoteID: "r9"},
		engine.Link{Kind: engine.User, ID: "eve", RemoteID: "r5"},
		engine.Link{Kind: engine.User, ID: "eve2", RemoteID: "r5"},
		engine.Link{Kind: engine.User, ID: "fay"},
		engine.Link{Kind: engine.User, ID: "gil", RemoteID: "r6", Origin: engine.Unconfirmed},
		engine.Link{Kind: "role", ID: "hal", RemoteID: "r7"},
	)
	require.Empty(t, cmp.Diff(map[string]string{
		"dan": "the account already belongs to ann", "ann": "the principal already has the account r1", "eve2": "the account occurs twice",
		"fay": "the link has no account", "gil": `unknown origin "unconfirmed"`, "hal": "the link has no valid principal",
	}, s.refused(err)))
	all, err = s.can.links.Links(t.Context(), s.app, engine.Link{}, 0)
	require.NoError(t, err)
	require.Len(t, all, 3, "no link was created")
}

func testLinkStopped(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "due"}, engine.Mark{ID: "failed"}, engine.Mark{ID: "idle"},
		engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"idle"}})
	l := s.claim()
	s.finish(l, store.Finish{ID: "failed", Status: engine.StatusFailed})
	s.finish(l, store.Finish{ID: "idle"})
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 0, []store.MemberAnswer{{User: "idle", Want: true, Asked: 1}}))
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Status: engine.StatusWaiting, RemoteID: "rg"})
	s.release(l, engine.Hold{}, time.Time{})

	refused := s.refused(s.link(engine.Link{Kind: engine.User, ID: "due", RemoteID: "r1"}))
	require.Contains(t, refused["due"], "has a pending change", "the sequence of the pending user may find an account")
	require.NoError(t,
		s.link(engine.Link{Kind: engine.User, ID: "failed", RemoteID: "r2"}, engine.Link{Kind: engine.User, ID: "idle", RemoteID: "r3"}))
	require.ElementsMatch(t, []string{"user due", "user failed", "group g"}, s.due(),
		"the link requeues the waiting group and the user whose last attempt failed")
}

func testLinkRace(t *testing.T, s *suite) {
	var all sync.WaitGroup
	linked, ids := make([]error, 20), make([]string, 20)
	for i := range ids {
		ids[i] = fmt.Sprintf("u%02d", i)
		all.Go(func() { linked[i] = s.link(engine.Link{Kind: engine.User, ID: ids[i], RemoteID: "r-" + ids[i]}) })
		all.Go(func() {
			err := s.inTx(t.Context(), func(tx engine.Execer) error {
				return s.store.Mark(t.Context(), tx, s.now, []engine.Mark{{App: s.app, Kind: engine.User, ID: ids[i]}})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i, id := range ids {
		state := s.state(engine.User, id)
		require.Equal(t, engine.StatusDirty, state.Status, "no mark is lost")
		_, refused := errors.AsType[*engine.LinkError](linked[i])
		switch {
		case linked[i] == nil:
			require.Equal(t, "r-"+id, state.RemoteID)
		case refused, errors.Is(linked[i], engine.ErrStale):
			require.Empty(t, state.RemoteID, "the sequence that the mark starts may already search for an account")
		default:
			require.NoError(t, linked[i])
		}
	}
}
