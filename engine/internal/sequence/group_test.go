package sequence_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/scim"
)

// groupRoom is a room for the push of a group with pending members. One PATCH adds one member.
type groupRoom struct {
	room
	members  []store.Member
	target   *enginetest.Target
	mu       sync.Mutex
	notes    int
	progress func(note int) error // stores the note with that number, counted from 1
	patched  func(n int)          // is called after the n-th PATCH
	patches  int
	valid    func() bool
	draining func() bool
}

func newGroupRoom(members int) *groupRoom {
	r := &groupRoom{target: enginetest.NewTarget(), patched: func(int) {}, progress: func(int) error { return nil }}
	r.valid, r.draining = func() bool { return true }, func() bool { return false }
	g := &scim.Resource{}
	g.Set("schemas", []any{scim.GroupSchema})
	g.Set("displayName", "team")
	r.row = engine.State{
		App: "app", Kind: engine.Group, ID: "g", Desired: 3, Want: engine.Active, MayExist: true, Origin: engine.Created,
		RemoteID: r.target.Add("Groups", g), RemoteName: "team", Synced: 1,
	}
	for n := range members {
		u := &scim.Resource{}
		u.Set("schemas", []any{scim.UserSchema})
		u.Set("userName", fmt.Sprintf("user-%02d", n))
		r.members = append(r.members, store.Member{User: fmt.Sprintf("u-%02d", n), Want: true, RemoteID: r.target.Add("Users", u)})
	}
	return r
}

func (r *groupRoom) Members(_ context.Context, _ string, q store.MemberQuery) ([]store.Member, error) {
	if q.Which == store.MembersAsked || q.Which == store.MembersLeaving || q.After != "" {
		return nil, nil
	}
	return r.members, nil
}

func (r *groupRoom) SaveMembers(context.Context, engine.Lease, string, int64, []store.MemberAnswer) error {
	return nil
}

func (r *groupRoom) EndWalk(context.Context, engine.Lease, string, int64, []store.MemberAnswer) error {
	return nil
}

func (r *groupRoom) Progress(context.Context, engine.Lease, store.Progress) error {
	r.mu.Lock()
	r.notes++
	n := r.notes
	r.mu.Unlock()
	return r.progress(n)
}

type groupLine struct {
	*target.Line
	room *groupRoom
}

func (l groupLine) Do(ctx context.Context, q plan.Request) plan.Response {
	if q.Method == http.MethodPatch {
		l.room.patches++
		defer l.room.patched(l.room.patches)
	}
	return l.Line.Do(ctx, q)
}

func (r *groupRoom) run(t *testing.T, ctx context.Context) (sequence.End, error) {
	t.Helper()
	server := httptest.NewServer(r.target)
	defer server.Close()
	d := &enginetest.Directory{}
	d.SetGroup("app", "g", engine.GroupState{Want: engine.Active, DisplayName: "team"})
	for _, m := range r.members {
		d.SetMember("app", "g", m.User, true)
	}
	at := engine.Target{BaseURL: server.URL, PushGroups: true, MemberBatch: 1}
	deps := depsOf(r, d, at, func(l *target.Line) sequence.Line { return groupLine{l, r} })
	deps.Valid, deps.Draining = r.valid, r.draining
	return deps.Run(ctx, r.row, false)
}

// TestRun_DrainedPush checks that a push ends after a request if its lane is to be released, with a result from which the next owner
// continues. It sends at least one request, so that a group whose lane is often handed over is pushed too.
func TestRun_DrainedPush(t *testing.T) {
	for _, at := range []int{0, 5} {
		r := newGroupRoom(30)
		r.draining = func() bool { return r.patches >= at }
		end, err := r.run(t, t.Context())
		require.NoError(t, err)
		require.Equal(t, max(at, 1), r.patches)
		require.True(t, end.Interrupted)
		f := r.finish
		require.Equal(t, []any{engine.StatusDirty, false, "", 0}, []any{f.Status, f.MembersUnknown, f.Error, f.Attempts})
		require.False(t, f.NextAt.After(time.Now()))
	}
}

// TestRun_LateWithLostProgress checks that a group is requeued if a change is sent after the end of the lease, and it is the progress that
// the store rejects.
func TestRun_LateWithLostProgress(t *testing.T) {
	r := newGroupRoom(30)
	r.valid = func() bool { return r.patches < 2 }
	r.progress = func(note int) error {
		if note < 2 {
			return nil
		}
		return engine.ErrLeaseLost
	}
	_, err := r.run(t, t.Context())
	require.Equal(t, 2, r.patches)
	require.ErrorIs(t, err, engine.ErrLeaseLost)
	require.Equal(t, &engine.Mark{App: "app", Kind: engine.Group, ID: "g", AllMembers: true}, r.again)
}

// TestRun_LostProgress checks that no result is stored after a progress could not be stored, not even if the sequence is aborted: the
// result would not contain the members of that progress.
func TestRun_LostProgress(t *testing.T) {
	const last = 12 // number of PATCHes whose members are stored without the third note
	for _, aborted := range []bool{false, true} {
		t.Run(fmt.Sprint("aborted ", aborted), func(t *testing.T) {
			ctx, abort := context.WithCancel(t.Context())
			defer abort()
			lost, sent := errors.New("the database is closed"), make(chan struct{})
			r := newGroupRoom(30)
			r.patched = func(n int) {
				if n == last {
					if aborted {
						abort()
					}
					close(sent)
				}
			}
			r.progress = func(note int) error {
				if note < 3 {
					return nil
				}
				<-sent
				return lost
			}
			_, err := r.run(t, ctx)
			require.ErrorIs(t, err, lost)
			require.NotContains(t, r.log, "Finish")
			require.Equal(t, last, r.patches)
		})
	}
}
