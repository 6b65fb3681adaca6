package dryrun

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/store"
)

// ledger implements sequence.Ledger for one run. It stores changes of the run's own principal in memory, where the sequence reads them
// again. It drops changes of other principals, because the sequence does not read those again.
type ledger struct {
	Store     Store
	row       engine.State // state of the principal, as a lane would read it
	unguarded bool

	mu      sync.Mutex              // of the following fields: a sequence reads members while it stores others
	members map[string]store.Member // members of the group, by user; nil until a method needs them
	users   []string                // keys of members, ascending
	walked  map[string]bool         // users that the sequence has read from the directory as members
}

// States implements sequence.Ledger.
func (l *ledger) States(ctx context.Context, q engine.StateQuery) ([]engine.State, error) {
	if q.ID == l.row.ID && q.Kind == l.row.Kind {
		return []engine.State{l.row}, nil
	}
	return l.Store.States(ctx, q)
}

// halts implements sequence.Halts.
type halts struct {
	store Store
	app   string
}

func (h halts) Current(ctx context.Context, _ time.Time) ([]engine.Halt, error) {
	return h.store.Halts(ctx, h.app)
}

// Ahead reads nothing: simulated requests take no time, and do not wait for each other.
func (halts) Ahead() {}

func (halts) AheadOfOthers() {}

func (halts) Queue() (leave func()) { return func() {} }

// Begin implements sequence.Ledger.
func (l *ledger) Begin(_ context.Context, _ engine.Lease, intents []store.Intent) error {
	for _, i := range intents {
		if i.Kind == l.row.Kind && i.ID == l.row.ID {
			l.row = begun(l.row, i)
		}
	}
	return nil
}

// begun returns the state that Store.Begin would store for an intent without Creating. For an intent with Creating, Begin also prepares for
// the loss of the response to the create, which cannot occur in a dry run.
func begun(s engine.State, i store.Intent) engine.State {
	if i.Want == engine.Active {
		if s.Kind == engine.Group && (s.Want == engine.Inactive || s.Want == engine.Absent) {
			s.Full = s.Desired
		}
		s.Activating = s.Activating || !s.MayExist
	}
	if s.RemoteID == "" && !s.MayExist && i.Name != "" {
		s.RemoteName = i.Name
	}
	s.MayExist = s.MayExist || i.Want == engine.Active
	s.Want, s.Manager = i.Want, cmp.Or(i.Manager, s.Manager)
	return s
}

// Remove implements sequence.Ledger: it only checks whether the account may be removed.
func (l *ledger) Remove(ctx context.Context, _ engine.Lease, kind engine.Kind, id string, now time.Time, g engine.Guard) (int, error) {
	if l.unguarded {
		return 0, nil
	}
	return l.Store.CountRemovals(ctx, l.row.App, kind, id, now, g)
}

// Progress implements sequence.Ledger.
func (l *ledger) Progress(context.Context, engine.Lease, store.Progress) error { return nil }

// Finish implements sequence.Ledger.
func (l *ledger) Finish(_ context.Context, _ engine.Lease, f store.Finish) (engine.Status, error) {
	return f.Status, nil
}

// Recheck implements sequence.Ledger. It is never called: no lease is lost.
func (l *ledger) Recheck(context.Context, time.Time, engine.Mark) error { return nil }

// inSet reports for each member set whether a member belongs to it. The sets are the same as in the store.
var inSet = map[store.MemberSet]func(store.Member) bool{
	store.MembersAsked:   func(m store.Member) bool { return m.Asked > 0 },
	store.MembersWanted:  func(m store.Member) bool { return m.Want },
	store.MembersPending: pending,
	store.MembersLeaving: func(m store.Member) bool { return pending(m) && !m.Want },
	store.MembersAll:     func(store.Member) bool { return true },
}

func pending(m store.Member) bool { return m.Want != m.Pushed || m.MayBeMember }

// Members implements sequence.Ledger.
func (l *ledger) Members(ctx context.Context, _ string, q store.MemberQuery) ([]store.Member, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx); err != nil {
		return nil, err
	}
	next, found := slices.BinarySearch(l.users, q.After)
	if found {
		next++
	}
	var page []store.Member
	for _, user := range l.users[next:] {
		if m := l.members[user]; inSet[q.Which](m) {
			if page = append(page, m); len(page) == q.Limit {
				break
			}
		}
	}
	return page, nil
}

// load reads the members from the store. The caller holds l.mu.
func (l *ledger) load(ctx context.Context) error {
	if l.members != nil {
		return nil
	}
	members := map[string]store.Member{}
	q := store.MemberQuery{Group: l.row.ID, Which: store.MembersAll, Limit: directory.Page}
	for {
		page, err := l.Store.Members(ctx, l.row.App, q)
		if err != nil {
			return err
		}
		for _, m := range page {
			members[m.User] = m
			l.users = append(l.users, m.User)
		}
		if len(page) < q.Limit {
			l.members, l.walked = members, map[string]bool{}
			return nil
		}
		q.After = page[len(page)-1].User
	}
}

// SaveMembers implements sequence.Ledger.
func (l *ledger) SaveMembers(ctx context.Context, _ engine.Lease, _ string, walk int64, answers []store.MemberAnswer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.saveMembers(ctx, walk, answers)
}

// saveMembers stores responses of the directory. The caller holds l.mu.
func (l *ledger) saveMembers(ctx context.Context, walk int64, answers []store.MemberAnswer) error {
	if err := l.load(ctx); err != nil {
		return err
	}
	var added []string
	for _, a := range answers {
		if _, known := l.members[a.User]; !known {
			added = append(added, a.User)
			l.members[a.User] = store.Member{User: a.User}
		}
	}
	if len(added) > 0 {
		states, err := l.Store.StatesByID(ctx, l.row.App, engine.User, added)
		if err != nil {
			return err
		}
		for _, s := range states {
			l.members[s.ID] = store.Member{User: s.ID, RemoteID: s.RemoteID, RemoteName: s.RemoteName}
		}
		l.users = append(l.users, added...)
		slices.Sort(l.users)
	}
	for _, a := range answers {
		m := l.members[a.User]
		if m.Want = a.Want; m.Asked == a.Asked {
			m.Asked = 0
		}
		l.members[a.User] = m
		if walk > 0 {
			l.walked[a.User] = true
		}
	}
	return nil
}

// EndWalk implements sequence.Ledger.
func (l *ledger) EndWalk(ctx context.Context, _ engine.Lease, _ string, walk int64, last []store.MemberAnswer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.saveMembers(ctx, walk, last); err != nil {
		return err
	}
	for user, m := range l.members {
		m.Want = m.Want && l.walked[user]
		l.members[user] = m
	}
	return nil
}

// roster returns all members, ascending by user. It is empty unless the sequence read them.
func (l *ledger) roster() []store.Member {
	out := make([]store.Member, len(l.users))
	for i, user := range l.users {
		out[i] = l.members[user]
	}
	return out
}
