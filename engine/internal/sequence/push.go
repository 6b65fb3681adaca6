package sequence

import (
	"context"

	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/store"
)

// progressEvery is how many requests of a push are sent before it is stored how far it has come. As that is stored while further
// ones are sent, a push that was killed repeats up to half as many again.
const progressEvery = 10

// acknowledge notes what the target said to have changed of a group.
func (r *run) acknowledge(c *plan.Change) {
	if c == nil {
		return
	}
	f := &r.finish
	if c.Replace {
		f.Replaced, f.Added, f.Removed = true, nil, nil
		f.Whole = !c.Read
	}
	f.Added = append(f.Added, c.Add...)
	f.Removed = append(f.Removed, c.Remove...)
}

// progress stores, before a request that changes the members of a group, how far its push has come, unless what the request is
// about was noted before. In a long push the next members are noted while requests are on their way, so that those do not wait.
//
// Invariant 15: Before a request changes members of a group, the store has their ids. They stay pending until a response is stored.
func (r *run) progress(ctx context.Context, s plan.Step) error {
	if s.Push == nil {
		return nil
	}
	change := s.Request.Members
	p := store.Progress{
		ID: r.row.ID, Gen: r.row.Desired, RemoteID: s.Push.RemoteID, RemoteName: s.Push.Name, Origin: s.Push.Origin, At: r.Now(),
	}
	if change.Rename {
		p.RemoteName = ""
	}
	if change.Replace {
		if err := r.noteEnds(); err != nil {
			return err
		}
		r.noted = 0 // what follows are other members
		known := p.RemoteName == r.row.RemoteName && r.full()
		if known || r.row.RemoteID != p.RemoteID {
			return nil // the next push would begin with the whole list, or with a lookup, anyway
		}
		p.NextAll = true
		r.note(ctx, p)
		return r.noteEnds()
	}
	if r.noted == 0 {
		if r.noting == nil {
			p.NextAdd, p.NextRemove = s.Push.Next(0, progressEvery)
			r.note(ctx, p)
		}
		if err := r.noteEnds(); err != nil {
			return err
		}
		r.noted = progressEvery
	}
	r.noted--
	if r.noted == progressEvery/2 {
		// This request and those that were noted come before.
		if p.NextAdd, p.NextRemove = s.Push.Next(r.noted+1, progressEvery); len(p.NextAdd)+len(p.NextRemove) > 0 {
			r.note(ctx, p)
		}
	}
	return nil
}

// note begins to store the progress, with what was acknowledged so far. It is not canceled with the sequence.
func (r *run) note(ctx context.Context, p store.Progress) {
	f := &r.finish
	p.Replaced, p.Whole, p.Added, p.Removed, p.Exchanges = f.Replaced, f.Whole, f.Added, f.Removed, f.Exchanges
	f.Replaced, f.Whole, f.Added, f.Removed, f.Exchanges = false, false, nil, nil, nil
	done := make(chan error, 1)
	r.noting = func() error {
		if err := <-done; err != nil {
			return err
		}
		r.row.RemoteID, r.row.RemoteName, r.row.Origin = p.RemoteID, p.RemoteName, p.Origin
		switch {
		case p.NextAll:
			r.row.Full = max(r.row.Full, p.Gen)
		case p.Whole && r.row.Full <= p.Gen:
			r.row.Full = 0
		}
		return nil
	}
	go func() {
		store, cancel := context.WithTimeout(context.WithoutCancel(ctx), StoreTimeout)
		defer cancel()
		done <- r.Ledger.Progress(store, r.Lease, p)
	}()
}

// noteEnds waits until the last note is stored, if there is one.
func (r *run) noteEnds() error {
	if r.noting == nil {
		return nil
	}
	wait := r.noting
	r.noting = nil
	return wait()
}

// full reports whether the whole membership is due.
func (r *run) full() bool { return r.row.Full > r.row.Synced }
