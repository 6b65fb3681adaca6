package sequence

import (
	"context"
	"sync"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/store"
)

// accountList is the members of a group that have an account, ascending by user, and the users that have none.
type accountList struct {
	all     []engine.RemoteMember
	waiting missingUsers
}

func (a *accountList) add(m store.Member) {
	if m.RemoteID == "" {
		a.waiting.on(m.User)
		return
	}
	a.all = append(a.all, engine.RemoteMember{User: m.User, ID: m.RemoteID, Display: m.RemoteName})
}

// ahead reads the accounts of the members that a walk has stored, while the walk stores further members and while the sequence sends its
// lookup. A change of an account after the member was stored requeues the group, so that it does not matter when the account is read.
type ahead struct {
	accountList
	last    string // the last user whose account was read
	reading sync.WaitGroup
	err     error // of a read
}

// readAhead starts to read the accounts of members that are stored, if the walk is a long one. The members follow those of the last call.
func (r *run) readAhead(ctx context.Context, stored []store.MemberAnswer) {
	a := r.ahead
	if a == nil || a.wait() != nil || len(stored) == 0 {
		return
	}
	a.reading.Go(func() { a.err = r.readStored(ctx, a, stored) })
}

// readStored reads the accounts of members, which are ascending. It skips other members of the group, which the walk has not seen.
func (r *run) readStored(ctx context.Context, a *ahead, stored []store.MemberAnswer) error {
	after, last := a.last, stored[len(stored)-1].User
	for after < last {
		page, err := r.Ledger.Members(ctx, r.row.App,
			store.MemberQuery{Group: r.row.ID, Which: store.MembersWanted, After: after, Limit: directory.Page})
		if err != nil {
			return err
		}
		for _, m := range page {
			for len(stored) > 0 && stored[0].User < m.User {
				stored = stored[1:]
			}
			if len(stored) > 0 && stored[0].User == m.User {
				a.add(m)
			}
		}
		if len(page) < directory.Page {
			break
		}
		after = page[len(page)-1].User
	}
	a.last = last
	return nil
}

// wait waits for the end of the last read.
func (a *ahead) wait() error {
	a.reading.Wait()
	return a.err
}

// dropAhead waits for the end of the last read and discards all results.
func (r *run) dropAhead() {
	if r.ahead != nil {
		_ = r.ahead.wait() // an error concerns only the results
		r.ahead = nil
	}
}
