package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

var errUndo = errors.New("undo")

// testCached checks that updates read cached collections from the cache, and never read stale rows.
func testCached(t *testing.T, open Opener) {
	// another opens the same database again, as another process does.
	another := func(t *testing.T, db *sqldb.DB) *fixture {
		t.Helper()
		f := &fixture{TB: t, people: newPeople().Cached()}
		var err error
		f.store, err = docstore.Open(t.Context(), db, newClock().Now, f.people)
		require.NoError(t, err)
		return f
	}
	fixtureOf := func(t *testing.T) *fixture { t.Helper(); return another(t, open(t)) }
	login := func(ctx context.Context, f *fixture, tx *docstore.Tx) string {
		doc, err := f.people.Get(ctx, tx, "1")
		if errors.Is(err, docstore.ErrNotFound) {
			return "nobody"
		}
		require.NoError(f, err)
		return doc.Value.Login
	}
	seen := func(f *fixture) (name string) {
		f.Helper()
		f.update(func(tx *docstore.Tx) error { name = login(f.ctx(), f, tx); return nil })
		return name
	}
	rename := func(f *fixture, tx *docstore.Tx, name string) {
		f.Helper()
		_, err := f.people.Update(f.ctx(), tx, "1", 0, person{Login: name})
		require.NoError(f, err)
	}
	t.Run("later updates use what an update has read", func(t *testing.T) {
		f := fixtureOf(t)
		f.insert("1", person{Login: "ann"})
		find := func(tx *docstore.Tx, mail string) []string {
			page, err := f.people.Query(f.ctx(), tx, docstore.Query[person]{Where: docstore.Eq("mails", mail), OrderBy: "login"})
			require.NoError(t, err)
			return idsOf(page.Docs)
		}
		f.update(func(tx *docstore.Tx) error {
			require.Equal(t, "ann", login(f.ctx(), f, tx))
			require.Empty(t, find(tx, "a"))
			return nil
		})
		// Programs must not do this: the SQL statement changes the table without invalidating the cached rows.
		f.update(func(tx *docstore.Tx) error {
			_, err := tx.SQL().Exec(f.ctx(), "DELETE FROM {people}")
			return err
		})
		f.update(func(tx *docstore.Tx) error {
			require.Equal(t, "ann", login(f.ctx(), f, tx), "the documents are read from the cache")
			require.Empty(t, find(tx, "a"))
			return nil
		})
	})
	t.Run("every kind of change takes effect immediately", func(t *testing.T) {
		f := fixtureOf(t)
		require.Equal(t, "nobody", seen(f))
		f.insert("1", person{Login: "ann"})
		require.Equal(t, "ann", seen(f))
		f.update(func(tx *docstore.Tx) error { rename(f, tx, "bob"); return nil })
		require.Equal(t, "bob", seen(f))
		f.delete("1")
		require.Equal(t, "nobody", seen(f))
		f.insert("1", person{Login: "ann"})
		require.Equal(t, "ann", seen(f))
		f.update(func(tx *docstore.Tx) error { _, err := f.people.DeleteWhere(f.ctx(), tx, nil); return err })
		require.Equal(t, "nobody", seen(f))
		f.insert("1", person{Login: "ann"})
		require.Equal(t, "ann", seen(f))
		f.update(func(tx *docstore.Tx) error { _, err := f.store.Clear(f.ctx(), tx, f.people); return err })
		require.Equal(t, "nobody", seen(f))
	})
	t.Run("an empty result is cached until a document is inserted", func(t *testing.T) {
		db := open(t)
		one, two := another(t, db), another(t, db)
		count := func(f *fixture, tx *docstore.Tx, query docstore.Query[person]) int {
			page, err := f.people.Query(f.ctx(), tx, query)
			require.NoError(f, err)
			return len(page.Docs)
		}
		anns, aged := docstore.Query[person]{Where: docstore.Eq("plain", "ann")}, docstore.Query[person]{Where: docstore.NotNull("age"),
			OrderBy: "login"}
		found := func(f *fixture) (n, withAge int) {
			f.Helper()
			f.update(func(tx *docstore.Tx) error { n, withAge = count(f, tx, anns), count(f, tx, aged); return nil })
			return n, withAge
		}
		for range 2 {
			n, withAge := found(one)
			require.Zero(t, n+withAge)
		}
		one.update(func(tx *docstore.Tx) error {
			require.Zero(t, count(one, tx, anns))
			_, err := one.people.Insert(one.ctx(), tx, "1", person{Login: "ann"})
			require.NoError(t, err)
			require.Equal(t, 1, count(one, tx, anns), "its own change")
			return err
		})
		n, withAge := found(one)
		require.Equal(t, []int{1, 0}, []int{n, withAge})
		for _, passing := range []docstore.Query[person]{
			{Where: anns.Where, Offset: 1}, {Where: anns.Where, Match: func(*docstore.Doc[person]) bool { return false }},
		} {
			one.update(func(tx *docstore.Tx) error { require.Zero(t, count(one, tx, passing)); return nil })
			n, _ = found(one)
			require.Equal(t, 1, n, "the skipped documents exist")
		}
		two.delete("1")
		n, _ = found(one)
		require.Zero(t, n)
		old := 99
		two.insert("2", person{Login: "ann", Age: &old})
		n, withAge = found(one)
		require.Equal(t, []int{1, 1}, []int{n, withAge}, "a change by another process")
	})
	t.Run("an update sees its own changes, others see them after the commit", func(t *testing.T) {
		f := fixtureOf(t)
		f.insert("1", person{Login: "ann"})
		require.Equal(t, "ann", seen(f))
		err := f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
			require.Equal(t, "ann", login(f.ctx(), f, tx))
			rename(f, tx, "bob")
			require.Equal(t, "bob", login(f.ctx(), f, tx))
			rename(f, tx, "eve")
			require.Equal(t, "eve", login(f.ctx(), f, tx))
			return errUndo
		})
		require.ErrorIs(t, err, errUndo)
		require.Equal(t, "ann", seen(f), "a change that was rolled back stayed")
	})
	t.Run("changes by others are visible immediately", func(t *testing.T) {
		db := open(t)
		one, two := another(t, db), another(t, db)
		one.insert("1", person{Login: "ann"})
		require.Equal(t, "ann", seen(two))
		require.Equal(t, "ann", seen(one))
		two.update(func(tx *docstore.Tx) error { rename(two, tx, "bob"); return nil })
		require.Equal(t, "bob", seen(one))
		_, err := one.store.Relay(one.ctx(), 1, func(*docstore.Tx, []docstore.Event) error { return nil })
		require.NoError(t, err)
		one.update(func(tx *docstore.Tx) error {
			return one.store.Emit(one.ctx(), tx, docstore.Event{Topic: "t", Key: "k"})
		})
		n, err := one.store.Relay(one.ctx(), 1, func(tx *docstore.Tx, _ []docstore.Event) error { rename(one, tx, "eve"); return nil })
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, "eve", seen(two))
		require.Equal(t, "eve", seen(one))
	})
	t.Run("reads of one collection after a change of another are not cached", func(t *testing.T) {
		f, others := fixtureOf(t), docstore.NewCollection[person]("others").Cached()
		var err error
		f.store, err = docstore.Open(t.Context(), f.store.DB(), newClock().Now, f.people, others)
		require.NoError(t, err)
		f.update(func(tx *docstore.Tx) error {
			_, err := others.Insert(f.ctx(), tx, "o", person{Login: "other"})
			require.NoError(t, err)
			require.Equal(t, "nobody", login(f.ctx(), f, tx))
			_, err = f.people.Insert(f.ctx(), tx, "1", person{Login: "ann"})
			return err
		})
		require.Equal(t, "ann", seen(f))
	})
	t.Run("the caller may modify what it has read", func(t *testing.T) {
		f := fixtureOf(t)
		f.insert("1", person{Login: "ann", Mails: []string{"a"}})
		for range 2 {
			f.update(func(tx *docstore.Tx) error {
				doc, err := f.people.Get(f.ctx(), tx, "1")
				require.NoError(t, err)
				require.Equal(t, []string{"a"}, doc.Value.Mails)
				doc.Value.Mails[0] = "b"
				return nil
			})
		}
	})
	t.Run("the same for documents whose copies share no memory", func(t *testing.T) {
		badges := newBadges().Cached()
		store, err := docstore.Open(t.Context(), open(t), newClock().Now, badges)
		require.NoError(t, err)
		require.NoError(t, store.Update(t.Context(), func(tx *docstore.Tx) error {
			_, err := badges.Insert(t.Context(), tx, "1", badge{Number: "a"})
			return err
		}))
		for range 3 {
			require.NoError(t, store.Update(t.Context(), func(tx *docstore.Tx) error {
				page, err := badges.Query(t.Context(), tx, docstore.Query[badge]{Limit: 1})
				require.NoError(t, err)
				require.Equal(t, "a", page.Docs[0].Value.Number)
				page.Docs[0].Value.Number = "b"
				return nil
			}))
		}
		require.NoError(t, store.Update(t.Context(), func(tx *docstore.Tx) error {
			_, err := badges.Update(t.Context(), tx, "1", 0, badge{Number: "c"})
			return err
		}))
		require.NoError(t, store.Update(t.Context(), func(tx *docstore.Tx) error {
			doc, err := badges.Get(t.Context(), tx, "1")
			require.Equal(t, "c", doc.Value.Number)
			return err
		}))
	})
	t.Run("no increment of a counter is lost, whatever is rolled back", func(t *testing.T) {
		db := open(t)
		f := another(t, db)
		f.insert("1", person{Login: "counter", Age: new(0)})
		const callers, each = 8, 10
		var group errgroup.Group
		for caller := range callers {
			mine := f
			if caller%2 == 0 {
				mine = another(t, db)
			}
			raise := func(end error) error {
				return mine.store.Update(f.ctx(), func(tx *docstore.Tx) error {
					doc, err := mine.people.Get(f.ctx(), tx, "1")
					if err != nil {
						return err
					}
					doc.Value.Age = new(*doc.Value.Age + 1)
					if _, err = mine.people.Update(f.ctx(), tx, "1", doc.Rev, doc.Value); err != nil {
						return err
					}
					return end
				})
			}
			group.Go(func() error {
				for done := 0; done < each; {
					if err := raise(errUndo); !errors.Is(err, errUndo) && !errors.Is(err, docstore.ErrConflict) {
						return err
					}
					switch err := raise(nil); {
					case err == nil:
						done++
					case !errors.Is(err, docstore.ErrConflict):
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, group.Wait())
		f.update(func(tx *docstore.Tx) error {
			doc, err := f.people.Get(f.ctx(), tx, "1")
			require.NoError(t, err)
			require.Equal(t, callers*each, *doc.Value.Age)
			return nil
		})
	})
}
