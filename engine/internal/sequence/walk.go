package sequence

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/store"
)

// walkAtOnce is the maximum number of pages that one transaction of a walk stores.
const walkAtOnce = 4

// walk reads all members of a group from the directory and stores them. While it stores members, it reads the next ones from the directory,
// and the accounts of the previous ones from the store.
type walk struct {
	*run
	accounts []engine.RemoteMember // of the members that have one
	waiting  missingUsers          // members without an account
}

// listError is an error of the directory.
type listError struct{ error }

// walk updates the members from the directory. If the directory fails, it sets the outcome.
func (r *run) walk(ctx context.Context) error {
	w := &walk{run: r}
	listed, stored := make(chan []string, walkAtOnce), make(chan []string, 1)
	all, running := errgroup.WithContext(ctx)
	all.Go(func() error { defer close(listed); return w.list(running, listed) })
	all.Go(func() error { defer close(stored); return w.store(running, listed, stored) })
	all.Go(func() error { return w.resolve(running, stored) })
	err := all.Wait()
	if failed := (listError{}); errors.As(err, &failed) {
		r.directoryFailed(failed.error)
		return nil
	}
	if err == nil {
		r.walked = w
	}
	return err
}

// list sends the pages of the directory.
func (w *walk) list(ctx context.Context, pages chan<- []string) error {
	for page, err := range directory.Members(ctx, w.Directory, w.row.App, w.row.ID) {
		if err != nil {
			return listError{err}
		}
		select {
		case pages <- page:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// store stores the members, several pages at once if they have been read, and sends them.
func (w *walk) store(ctx context.Context, pages <-chan []string, stored chan<- []string) error {
	for page := range pages {
		last := len(page) < directory.Page
		for n := 1; n < walkAtOnce && !last && len(pages) > 0; n++ {
			next := <-pages
			page, last = slices.Concat(page, next), len(next) < directory.Page
		}
		answers := make([]store.MemberAnswer, len(page))
		for i, user := range page {
			answers[i] = store.MemberAnswer{User: user, Want: true}
		}
		save := w.Ledger.SaveMembers
		if last {
			save = w.Ledger.EndWalk
		}
		if err := save(ctx, w.Lease, w.row.ID, w.row.Desired, answers); err != nil {
			return err
		}
		select {
		case stored <- page:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// resolve reads the accounts of stored members. The members between those of a page belong to an earlier walk.
func (w *walk) resolve(ctx context.Context, stored <-chan []string) error {
	after := ""
	for page := range stored {
		for len(page) > 0 {
			q := store.MemberQuery{Group: w.row.ID, Which: store.MembersWanted, After: after, Limit: directory.Page}
			found, err := w.Ledger.Members(ctx, w.row.App, q)
			if err != nil {
				return err
			}
			for _, m := range found {
				n, listed := slices.BinarySearch(page, m.User)
				if page = page[n:]; len(page) == 0 {
					break
				}
				if listed {
					w.add(m)
					page = page[1:]
				}
				after = m.User
			}
			if len(found) < directory.Page {
				break
			}
		}
	}
	return nil
}

func (w *walk) add(m store.Member) {
	if m.RemoteID == "" {
		w.waiting.on(m.User)
		return
	}
	w.accounts = append(w.accounts, engine.RemoteMember{User: m.User, ID: m.RemoteID, Display: m.RemoteName})
}
