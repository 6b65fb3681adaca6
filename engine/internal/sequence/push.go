package sequence

import (
	"context"

	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/store"
)

// progressEvery is the number of requests of a push between two writes of its progress. Progress is stored while further requests are sent.
// If the process is killed, the next push repeats at most 1.5 times as many requests.
const progressEvery = 10

// progressFirst is the number of requests of a long push whose members are stored before the first request: that request waits for the
// write.
const progressFirst = 2

// Before a request, the plan knows the members of all requests whose members progress stores.
const _ = uint(plan.Ahead - (progressEvery/2 + 1 + progressEvery))

// pendingNote is a progress that is being stored.
type pendingNote struct {
	progress store.Progress
	result   chan error // of the write, buffered
}

// ended reports whether the write has ended.
func (n *pendingNote) ended() bool { return len(n.result) > 0 }

// acknowledge records the member changes that the target confirmed.
func (r *run) acknowledge(c *plan.Change) {
	if c == nil {
		return
	}
	f := &r.finish
	if c.Replace {
		f.Replaced, f.Added, f.Removed = true, nil, nil
		f.Whole, r.whole = false, !c.Read
	}
	r.unstored++
	r.acknowledged++
	f.Added = append(f.Added, c.Add...)
	f.Removed = append(f.Removed, c.Remove...)
}

// recordWhole records that the target's group has no other members, unless the walk has not stored all members yet. In that case, note
// stores before the next request that a push of all members is pending, because the members that the walk has not stored would be missing
// in a push of differences.
func (r *run) recordWhole() {
	if r.whole && r.walk.complete() {
		r.finish.Whole, r.whole = true, false
	}
}

// progress stores the progress of a push before a request that changes members, unless the members of the request are stored already. In a
// long push the next members are stored while requests are in flight, so that requests do not wait.
//
// Invariant 15: Before a request changes members of a group, the engine stores the ids of these members. They stay pending until the
// engine has stored the outcome of the request.
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
		if err := r.waitForNote(); err != nil {
			return err
		}
		r.noted = 0 // the members of the requests that follow the replacement are not stored yet
		known := p.RemoteName == r.row.RemoteName && r.full()
		if known || r.row.RemoteID != p.RemoteID {
			return nil // do not store the progress: after a crash the next push starts with all members or a lookup
		}
		p.NextAll = true
		r.note(ctx, p)
		return r.waitForNote()
	}
	if r.noted == 0 {
		n := progressEvery
		if r.pending == nil {
			if add, remove := s.Push.Next(progressEvery, 1); len(add)+len(remove) > 0 {
				n = progressFirst
			}
			p.NextAdd, p.NextRemove = s.Push.Next(0, n)
			r.note(ctx, p)
		}
		if err := r.waitForNote(); err != nil {
			return err
		}
		r.noted = n
	}
	r.noted--
	if !s.Push.Further() {
		return r.lastProgress(ctx, p)
	}
	if r.noted <= progressEvery/2 && r.pending == nil {
		// Skip the members of this request and of the requests whose members are stored.
		p.NextAdd, p.NextRemove = s.Push.Next(r.noted+1, progressEvery)
		// Near the end of a push, only acknowledged members are left to store.
		if len(p.NextAdd)+len(p.NextRemove) > 0 || r.unstored >= progressEvery/2 {
			r.note(ctx, p)
		}
	}
	return nil
}

// lastProgress stores the acknowledged members before the last request of a push, unless there are few, or a write of the progress is
// pending. What is stored while a request is in flight, the last write of the sequence need not store.
func (r *run) lastProgress(ctx context.Context, p store.Progress) error {
	if r.unstored < progressFirst || r.pending != nil && !r.pending.ended() {
		return nil
	}
	if err := r.waitForNote(); err != nil {
		return err
	}
	r.note(ctx, p)
	return nil
}

// note starts to store the progress, with the changes acknowledged so far. The write is not canceled with the sequence.
func (r *run) note(ctx context.Context, p store.Progress) {
	f := &r.finish
	r.unstored = 0
	r.recordWhole()
	p.NextAll = p.NextAll || !r.walk.complete()
	p.Replaced, p.Whole, p.Added, p.Removed, p.Exchanges = f.Replaced, f.Whole, f.Added, f.Removed, f.Exchanges
	f.Replaced, f.Whole, f.Added, f.Removed, f.Exchanges = false, false, nil, nil, nil
	pending := &pendingNote{p, make(chan error, 1)}
	r.pending = pending
	stored := r.walk.storing()
	go func() {
		defer stored()
		store, cancel := context.WithTimeout(context.WithoutCancel(ctx), StoreTimeout)
		defer cancel()
		pending.result <- r.Ledger.Progress(store, r.Lease, p)
	}()
}

// waitForNote waits until the progress that note is storing, if any, is stored. If a progress of the sequence could not be stored, it
// returns the error: then the result must not be stored either, because it does not contain the changes of that progress.
func (r *run) waitForNote() error {
	if r.pending == nil {
		return r.lostNote
	}
	p := r.pending.progress
	r.lostNote = <-r.pending.result
	if r.pending = nil; r.lostNote != nil {
		return r.lostNote
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

// full reports whether a push of all members is pending.
func (r *run) full() bool { return r.row.Full > r.row.Synced }
