package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

var walkedGroups = []string{"g", "h", "i"}

// someMembers returns responses of the directory about some of six users, in any order.
func someMembers(random *rand.Rand, want func() bool) []store.MemberAnswer {
	var out []store.MemberAnswer
	for _, n := range random.Perm(6)[:random.IntN(7)] {
		out = append(out, store.MemberAnswer{User: fmt.Sprintf("u%d", n), Want: want(), Asked: random.Int64N(2)})
	}
	return out
}

// fill stores members of the groups in all states that a walk can find: seen by an earlier walk or not, pushed, in a request with an
// unknown outcome, marked, and leaving.
func (l *claimed) fill(random *rand.Rand) {
	l.t.Helper()
	ctx := l.t.Context()
	for _, group := range walkedGroups {
		yes := func() bool { return true }
		answers := someMembers(random, yes)
		require.NoError(l.t, l.SaveMembers(ctx, l.lease, group, 1, answers))
		p := store.Progress{ID: group, Gen: 1, RemoteID: "r-" + group, Origin: engine.Created, At: l.now}
		for i, a := range answers {
			switch i % 3 {
			case 0:
				p.Added = append(p.Added, engine.RemoteMember{User: a.User, ID: ""})
			case 1:
				p.NextAdd = append(p.NextAdd, engine.RemoteMember{User: a.User, ID: "r-" + a.User})
			}
		}
		require.NoError(l.t, l.Progress(ctx, l.lease, p))
		left := someMembers(random, func() bool { return random.IntN(2) == 0 })
		require.NoError(l.t, l.SaveMembers(ctx, l.lease, group, 0, left))
		require.NoError(l.t, l.update(ctx, func(tx *sqldb.Tx) error {
			m := engine.Mark{App: l.lease.App, Kind: engine.Group, ID: group, Members: []string{"u0", "u3"}}
			return l.Mark(ctx, tx.Execer(), l.now, []engine.Mark{m})
		}))
	}
}

// TestEndWalk_BatchEqualsSingles checks that last pages of walks which are stored together have the same effects as pages which are stored
// one after the other.
func TestEndWalk_BatchEqualsSingles(t *testing.T) {
	const tries = 20
	var apps []string
	for try := range tries {
		apps = append(apps, fmt.Sprintf("together%02d", try), fmt.Sprintf("apart%02d", try))
	}
	lanes := newLanes(t, apps, engine.Group, walkedGroups...)
	for try := range tries {
		var members [2][]store.Member
		for i, l := range lanes[2*try : 2*try+2] {
			random := rand.New(rand.NewPCG(uint64(try), 1)) // equal for both lanes
			l.fill(random)
			var batch []*lastPage
			for _, group := range walkedGroups {
				page := pageOf(group, 2, someMembers(random, func() bool { return true }))
				batch = append(batch, &lastPage{page: page, alone: true})
			}
			random.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
			if i == 0 {
				l.endWalkBatch(t.Context(), l.lease, batch)
				for _, w := range batch {
					require.False(t, w.alone)
					require.NoError(t, w.err)
				}
			} else {
				for _, w := range batch {
					l.endWalkBatch(t.Context(), l.lease, []*lastPage{w})
					require.NoError(t, w.err)
				}
			}
			_, _, _, members[i] = l.contents()
		}
		require.Equal(t, members[1], members[0], "try %d", try)
	}
}

// TestEndWalk_BatchAlone checks which pages a batch does not store: the second one of a group, those of a batch that PostgreSQL rejects,
// and those of a lost lease.
func TestEndWalk_BatchAlone(t *testing.T) {
	l := newLanes(t, []string{"a"}, engine.Group, walkedGroups...)[0]
	walk := func(group string, users ...string) *lastPage {
		var answers []store.MemberAnswer
		for _, u := range users {
			answers = append(answers, store.MemberAnswer{User: u, Want: true})
		}
		return &lastPage{page: pageOf(group, 1, answers), alone: true}
	}
	first, second, other := walk("g", "u1"), walk("g", "u2"), walk("h", "u3")
	l.endWalkBatch(t.Context(), l.lease, []*lastPage{first, other, second})
	require.Equal(t, []bool{false, true, false}, []bool{first.alone, second.alone, other.alone})

	good, bad := walk("g", "u4"), walk("h", "u\x005")
	l.endWalkBatch(t.Context(), l.lease, []*lastPage{good, bad})
	require.True(t, good.alone && bad.alone, "nothing is stored, and each page is stored alone")
	require.NoError(t, good.err)
	_, _, _, members := l.contents()
	require.Len(t, members, 2)

	lost := l.lease
	lost.Epoch--
	good = walk("g", "u4")
	l.endWalkBatch(t.Context(), lost, []*lastPage{good})
	require.False(t, good.alone)
	require.ErrorIs(t, good.err, engine.ErrLeaseLost)
	require.ErrorIs(t, l.EndWalk(t.Context(), lost, "g", 2, nil), engine.ErrLeaseLost)
	require.Error(t, l.EndWalk(t.Context(), l.lease, "h", 2, bad.answers))
	require.NoError(t, l.EndWalk(t.Context(), l.lease, "h", 2, nil))
	_, _, _, members = l.contents()
	require.Len(t, members, 1, "the walk has not seen the member of h")
}
