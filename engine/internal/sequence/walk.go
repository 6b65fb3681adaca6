package sequence

import (
	"context"
	"slices"
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

// walkRows is the number of members that a walk stores in one transaction. Each transaction waits for the disk, and the writes of the
// sequence and those that change accounts wait for it. The sequence waits for the first one before its first request: its members are
// enough for a create, and for the requests whose members are stored before they are sent.
const walkRows = 2 * directory.Page

// walk reads all members of a group from the directory, stores them, and reads the accounts of the members that are stored. The sequence
// starts when the first members are stored, and sends them while the walk continues. A change of an account after the member was stored
// requeues the group, so that it does not matter when the account is read.
type walk struct {
	ledger     Ledger
	directory  engine.Directory
	lease      engine.Lease
	app, group string
	gen        int64

	mu      sync.Mutex
	changed *sync.Cond // broadcast when one of the following fields has changed
	begun   bool       // the first members are stored, or the walk has ended
	found   accountList
	ended   bool
	err     error // why the walk has ended before the last member
	ofStore bool  // err is an error of the store, not of the directory
}

// startWalk starts a walk. It returns when the first members are stored.
func (r *run) startWalk(ctx context.Context) *walk {
	w := &walk{ledger: r.Ledger, directory: r.Directory, lease: r.Lease, app: r.row.App, group: r.row.ID, gen: r.row.Desired}
	w.changed = sync.NewCond(&w.mu)
	go w.run(ctx)
	w.wait(func() bool { return w.begun })
	return w
}

// members returns the members that have an account: at least the first n, or all of them. If n is negative, it returns all.
func (w *walk) members(n int) (known []engine.RemoteMember, complete bool, err error) {
	w.wait(func() bool { return w.ended || n >= 0 && len(w.found.all) >= n })
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.found.all), w.ended, w.err
}

// failure returns the error with which the walk has ended, if it has.
func (w *walk) failure() (err error, ofStore bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err, w.ofStore
}

// missing returns the members that have no account, when the walk has ended.
func (w *walk) missing() (missingUsers, error) {
	_, _, err := w.members(-1)
	return w.found.waiting, err
}

// complete reports whether all members are known. If no walk is necessary, w is nil.
func (w *walk) complete() bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended && w.err == nil
}

// wait waits until done returns true, which it has to do when the walk has ended. The walk ends when its context does.
func (w *walk) wait(done func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !done() {
		w.changed.Wait()
	}
}

func (w *walk) change(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
	w.changed.Broadcast()
}

// run reads the accounts of the members that are stored while it stores further ones.
func (w *walk) run(ctx context.Context) {
	stored := make(chan []store.MemberAnswer, 1)
	var reading sync.WaitGroup
	var unread error
	reading.Go(func() {
		after := ""
		for answers := range stored {
			if unread == nil {
				unread = w.read(ctx, after, answers)
			}
			after = answers[len(answers)-1].User
		}
	})
	ofStore, err := w.store(ctx, stored)
	close(stored)
	reading.Wait()
	if err == nil && unread != nil {
		ofStore, err = true, unread
	}
	w.change(func() { w.begun, w.ended, w.err, w.ofStore = true, true, err, ofStore })
}

// store stores the members that the directory returns, and passes them on.
func (w *walk) store(ctx context.Context, stored chan<- []store.MemberAnswer) (ofStore bool, err error) {
	var answers []store.MemberAnswer
	for page, err := range directory.Members(ctx, w.directory, w.app, w.group) {
		if err != nil {
			return false, err
		}
		for _, user := range page {
			answers = append(answers, store.MemberAnswer{User: user, Want: true})
		}
		last := len(page) < directory.Page
		if !last && len(answers) < walkRows {
			continue
		}
		save := w.ledger.SaveMembers
		if last {
			save = w.ledger.EndWalk
		}
		if err := save(ctx, w.lease, w.group, w.gen, answers); err != nil {
			return true, err
		}
		w.change(func() { w.begun = true })
		if len(answers) > 0 {
			stored <- answers
		}
		answers = nil
	}
	return false, nil
}

// read reads the accounts of stored members, which are ascending. It skips other members of the group, which the walk has not seen.
func (w *walk) read(ctx context.Context, after string, stored []store.MemberAnswer) error {
	for last := stored[len(stored)-1].User; after < last; {
		page, err := w.ledger.Members(ctx, w.app, store.MemberQuery{Group: w.group, Which: store.MembersWanted, After: after, Limit: directory.Page})
		if err != nil {
			return err
		}
		w.change(func() {
			for _, m := range page {
				for len(stored) > 0 && stored[0].User < m.User {
					stored = stored[1:]
				}
				if len(stored) > 0 && stored[0].User == m.User {
					w.found.add(m)
				}
			}
		})
		if len(page) < directory.Page {
			return nil
		}
		after = page[len(page)-1].User
	}
	return nil
}
