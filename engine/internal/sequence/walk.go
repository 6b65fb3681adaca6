package sequence

import (
	"context"
	"math"
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

// walk reads all members of a group from the directory, stores them, and reads the accounts of the members that are stored. The sequence
// sends the first members when they are stored, while the walk continues. A change of an account after the member was stored requeues the
// group, so that it does not matter when the account is read.
type walk struct {
	ledger     Ledger
	directory  engine.Directory
	lease      engine.Lease
	app, group string
	gen        int64
	begun      func() // ends the hold of the start
	ahead      int    // number of members that must be known after the create of the group

	mu      sync.Mutex
	changed *sync.Cond // broadcast when one of the following fields has changed
	holds   int        // while there are some, the walk stores no more members than the sequence needs
	unread  int        // number of transactions whose members are stored, and not yet part of found
	found   accountList
	demand  int // number of members that the sequence needs, MaxInt for all
	ended   bool
	err     error // why the walk has ended before the last member
}

// startWalk starts a walk. It is held until the sequence stores its first progress or needs all members.
func (r *run) startWalk(ctx context.Context, ahead int) *walk {
	w := &walk{
		ledger: r.Ledger, directory: r.Directory, lease: r.Lease, app: r.row.App, group: r.row.ID, gen: r.row.Desired, ahead: ahead, demand: 1,
	}
	w.changed = sync.NewCond(&w.mu)
	w.begun = w.hold()
	go w.run(ctx)
	return w
}

// members returns the members that have an account: at least the first n, or all of them. If n is negative, it returns all.
func (w *walk) members(n int) (known []engine.RemoteMember, complete bool, err error) {
	if n < 0 {
		w.need(math.MaxInt)
	} else {
		w.need(n)
	}
	w.wait(func() bool { return w.ended || n >= 0 && len(w.found.all) >= n })
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.found.all), w.ended, w.err
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

// need makes the walk read the first n members although it is held.
func (w *walk) need(n int) { w.change(func() { w.demand = max(w.demand, n) }) }

// creating makes the walk read the members of the requests that follow the create of the group, while that request is in flight.
func (w *walk) creating() {
	if w != nil {
		w.need(w.ahead)
	}
}

// storing holds the walk while the sequence stores its progress.
func (w *walk) storing() (stored func()) {
	if w == nil {
		return func() {}
	}
	defer w.begun()
	return w.hold()
}

// hold stops the walk before its next transaction, unless the sequence needs further members, until the caller calls release. Both lock
// the row of the group: a write of the sequence would wait for a transaction of the walk. Without a pause between two transactions of the
// walk, PostgreSQL often gives it the lock again, and the write waits for several of them.
func (w *walk) hold() (release func()) {
	w.change(func() { w.holds++ })
	return sync.OnceFunc(func() { w.change(func() { w.holds-- }) })
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
			w.change(func() { w.unread-- })
		}
	})
	err := w.store(ctx, stored)
	close(stored)
	reading.Wait()
	if err == nil {
		err = unread
	}
	w.change(func() { w.ended, w.err = true, err })
}

// store stores the members that the directory returns, a page in one transaction, and passes them on. Each transaction waits for the disk,
// and the writes of the sequence and those that change accounts wait for it.
func (w *walk) store(ctx context.Context, stored chan<- []store.MemberAnswer) error {
	for page, err := range directory.Members(ctx, w.directory, w.app, w.group) {
		if err != nil {
			return err
		}
		answers := make([]store.MemberAnswer, len(page))
		for i, user := range page {
			answers[i] = store.MemberAnswer{User: user, Want: true}
		}
		save := w.ledger.SaveMembers
		if len(page) < directory.Page { // the last one
			save = w.ledger.EndWalk
		}
		w.wait(func() bool { return w.holds == 0 || w.unread == 0 && len(w.found.all) < w.demand })
		if err := save(ctx, w.lease, w.group, w.gen, answers); err != nil {
			return err
		}
		if len(answers) > 0 {
			w.change(func() { w.unread++ })
			stored <- answers
		}
	}
	return nil
}

// read reads the accounts of stored members, which are ascending. It skips other members of the group, which the walk has not seen.
func (w *walk) read(ctx context.Context, after string, stored []store.MemberAnswer) error {
	for last := stored[len(stored)-1].User; after < last; {
		q := store.MemberQuery{Group: w.group, Which: store.MembersWanted, After: after, Limit: directory.Page}
		page, err := w.ledger.Members(ctx, w.app, q)
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
