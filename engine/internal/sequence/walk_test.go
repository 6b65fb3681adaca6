package sequence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/store"
)

// roll is a Ledger with the members of one group. Every fifth user has no account.
type roll struct {
	Ledger
	mu      sync.Mutex
	members map[string]store.Member
	walk    map[string]int64
	ended   bool
	lost    error // of the save after the first
	saves   int
	saved   func() // called after each save; may be nil
	once    sync.Once
	read    chan struct{} // closed after the first read after a save
}

func (r *roll) Members(_ context.Context, _ string, q store.MemberQuery) (page []store.Member, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.saves > 0 {
		defer r.once.Do(func() { close(r.read) })
	}
	for user, m := range r.members {
		in := map[store.MemberSet]bool{store.MembersWanted: m.Want, store.MembersAsked: m.Asked > 0, store.MembersLeaving: m.Pushed && !m.Want}
		if user > q.After && in[q.Which] {
			page = append(page, m)
		}
	}
	slices.SortFunc(page, func(a, b store.Member) int { return strings.Compare(a.User, b.User) })
	return page[:min(len(page), q.Limit)], nil
}

func (r *roll) SaveMembers(ctx context.Context, _ engine.Lease, _ string, walk int64, answers []store.MemberAnswer) error {
	if r.begun() {
		select {
		case <-r.read: // so that the read has found members of an earlier walk
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	if r.saves++; r.saves > 1 && r.lost != nil {
		r.mu.Unlock()
		return r.lost
	}
	for _, a := range answers {
		m := r.members[a.User]
		m.User, m.Want = a.User, a.Want
		if m.Asked == a.Asked {
			m.Asked = 0
		}
		if number(a.User)%5 != 0 {
			m.RemoteID = "r-" + a.User
		}
		r.members[a.User], r.walk[a.User] = m, max(walk, r.walk[a.User])
	}
	r.mu.Unlock()
	if r.saved != nil {
		r.saved()
	}
	return ctx.Err()
}

// begun reports whether the first page is stored.
func (r *roll) begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.saves > 0
}

func (r *roll) EndWalk(ctx context.Context, l engine.Lease, group string, walk int64, last []store.MemberAnswer) error {
	if err := r.SaveMembers(ctx, l, group, walk, last); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for user, m := range r.members {
		m.Want = m.Want && r.walk[user] == walk
		r.members[user] = m
	}
	r.ended = true
	return nil
}

func number(user string) int {
	n, err := strconv.Atoi(user[len("u-"):])
	if err != nil {
		panic(err) // constant input
	}
	return n
}

func named(n int) string { return fmt.Sprintf("u-%06d", n) }

// pages is a directory that lists users.
type pages struct {
	*enginetest.Directory
	users  []string
	before func(after string) error // called before each page; may be nil
}

func (p pages) Members(_ context.Context, _, _, after string, limit int) ([]string, error) {
	if p.before != nil {
		if err := p.before(after); err != nil {
			return nil, err
		}
	}
	n, found := slices.BinarySearch(p.users, after)
	if found {
		n++
	}
	return p.users[n:min(n+limit, len(p.users))], nil
}

func (p pages) IsMember(_ context.Context, _, _ string, users []string) (map[string]bool, error) {
	return map[string]bool{}, nil // they have left the group since the walk
}

// newWalk returns a run of a group whose directory lists every second of many users. An earlier walk found others.
func newWalk(size int) (*run, *roll, *pages) {
	r := &roll{members: map[string]store.Member{}, walk: map[string]int64{}, read: make(chan struct{})}
	d := &pages{}
	for n := range size {
		if n%2 == 0 {
			d.users = append(d.users, named(n))
		} else if n%3 == 0 {
			r.members[named(n)] = store.Member{User: named(n), Want: true, RemoteID: "old"}
		}
	}
	return &run{Deps: Deps{Ledger: r, Directory: d}, row: engine.State{App: "app", Kind: engine.Group, ID: "g", Desired: 7}}, r, d
}

// expected returns what accounts has to return.
func expected(users []string) (accounts []engine.RemoteMember, missing int) {
	for _, u := range users {
		if number(u)%5 == 0 {
			missing++
			continue
		}
		accounts = append(accounts, engine.RemoteMember{User: u, ID: "r-" + u})
	}
	return accounts, missing
}

// TestWalk_Accounts checks that a walk reads the accounts of exactly the members that the directory lists.
func TestWalk_Accounts(t *testing.T) {
	for _, size := range []int{0, 1, 10, 1999, 2000, 2001, 4000, 9_500} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r, ledger, d := newWalk(size)
			require.NoError(t, r.walk(t.Context()))
			require.True(t, ledger.ended)
			want, missing := expected(d.users)
			r.Ledger = unread{ledger} // the accounts are not read again
			all, err := r.accounts(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, all)
			require.Equal(t, missing, r.waiting.all)

			r.Ledger = ledger
			all, err = r.accounts(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, all, "a second call reads them")
			require.Equal(t, missing, r.waiting.all)
		})
	}
}

// unread is a Ledger whose members must not be read.
type unread struct{ *roll }

func (unread) Members(context.Context, string, store.MemberQuery) ([]store.Member, error) {
	return nil, errors.New("read again")
}

// TestWalk_MarkedMeanwhile checks that the accounts are read again if the directory has been queried for a marked member after a walk.
func TestWalk_MarkedMeanwhile(t *testing.T) {
	r, ledger, d := newWalk(9_500)
	marked := d.users[7]
	ledger.saved = func() { // a mark after the query of the directory
		ledger.mu.Lock()
		defer ledger.mu.Unlock()
		if m := ledger.members[marked]; ledger.saves == 1 {
			m.Asked = 1
			ledger.members[marked] = m
		}
	}
	require.NoError(t, r.walk(t.Context()))
	require.NoError(t, r.updateMarked(t.Context()))
	all, err := r.accounts(t.Context())
	require.NoError(t, err)
	want, _ := expected(slices.Delete(slices.Clone(d.users), 7, 8))
	require.Equal(t, want, all)
}

// TestWalk_Failures checks that a failure of the directory is an outcome and a failure of the store an error, and that the walk does not
// end then, so that no member counts as removed.
func TestWalk_Failures(t *testing.T) {
	broken := errors.New("broken")
	t.Run("directory", func(t *testing.T) {
		r, ledger, d := newWalk(9_500)
		d.before = func(after string) error {
			if after > named(5000) {
				return broken
			}
			return nil
		}
		require.NoError(t, r.walk(t.Context()))
		require.Equal(t, engine.Transient, r.outcome.Class)
		require.Contains(t, r.outcome.Message, "broken")
		require.False(t, ledger.ended)
		require.Nil(t, r.walked)
	})
	t.Run("store", func(t *testing.T) {
		r, ledger, _ := newWalk(9_500)
		ledger.lost = engine.ErrLeaseLost
		require.ErrorIs(t, r.walk(t.Context()), engine.ErrLeaseLost)
		require.Empty(t, r.outcome.Class)
		require.False(t, ledger.ended)
	})
}
