package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
)

func fold(s string) string { return strings.ToLower(s) }
func same(s string) string { return s }

func testDocuments(t *testing.T, open Opener) {
	t.Run("what was inserted is read back", func(t *testing.T) {
		f := newFixture(t, open)
		age := 41
		p := person{Login: "Ann", Mails: []string{"b@x", "a@x"}, Age: &age}
		inserted := f.insert("1", p)
		created := time.Date(2026, 1, 2, 3, 4, 6, 678_000_000, time.UTC)
		f.equal(docstore.Doc[person]{ID: "1", Rev: 1, Created: created, Updated: created, Value: p}, inserted, "inserted")
		got, err := f.people.Get(f.ctx(), f.store.Reader(), "1")
		require.NoError(t, err)
		f.equal(inserted, got, "read")
	})
	t.Run("an update replaces the document and raises its revision", func(t *testing.T) {
		f := newFixture(t, open)
		first := f.insert("1", person{Login: "ann", Mails: []string{"a", "b"}})
		var second docstore.Doc[person]
		f.update(func(tx *docstore.Tx) (err error) {
			second, err = f.people.Update(f.ctx(), tx, "1", first.Rev, person{Login: "bob", Mails: []string{"b", "c"}})
			return err
		})
		require.Equal(t, int64(2), second.Rev)
		require.Equal(t, first.Created, second.Created)
		require.True(t, second.Updated.After(first.Updated))
		got, err := f.people.Get(f.ctx(), f.store.Reader(), "1")
		require.NoError(t, err)
		f.equal(second, got, "read")
		for mail, want := range map[string][]string{"a": {}, "b": {"1"}, "c": {"1"}} {
			f.equal(want, f.walk(docstore.Query[person]{Where: docstore.Eq("mails", mail)}), "mail "+mail)
		}
	})
	t.Run("a stale revision is rejected, and 0 accepts any", func(t *testing.T) {
		f := newFixture(t, open)
		f.insert("1", person{Login: "ann"})
		update := func(rev int64) error {
			return f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
				_, err := f.people.Update(f.ctx(), tx, "1", rev, person{Login: "ann"})
				return err
			})
		}
		require.NoError(t, update(0))
		require.ErrorIs(t, update(1), docstore.ErrConflict)
		require.NoError(t, update(2))
	})
	t.Run("a missing document is not found", func(t *testing.T) {
		f := newFixture(t, open)
		f.insert("1", person{Login: "ann"})
		for _, id := range []string{"2", "", "\x00", "1\x00", "\xff", strings.Repeat("x", 5000)} {
			_, err := f.people.Get(f.ctx(), f.store.Reader(), id)
			require.ErrorIs(t, err, docstore.ErrNotFound, "get %q", id)
			require.ErrorIs(t, f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
				_, err := f.people.Update(f.ctx(), tx, id, 0, person{Login: "bob"})
				return err
			}), docstore.ErrNotFound, "update %q", id)
			require.ErrorIs(t, f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
				return f.people.Delete(f.ctx(), tx, id)
			}), docstore.ErrNotFound, "delete %q", id)
		}
	})
	t.Run("ErrNotFound does not fail the transaction", func(t *testing.T) {
		f := newFixture(t, open)
		f.update(func(tx *docstore.Tx) error {
			_, err := f.people.Get(f.ctx(), tx, "1")
			require.ErrorIs(t, err, docstore.ErrNotFound)
			_, err = f.people.Update(f.ctx(), tx, "1", 0, person{Login: "ann"})
			require.ErrorIs(t, err, docstore.ErrNotFound)
			_, err = f.people.Insert(f.ctx(), tx, "1", person{Login: "ann"})
			return err
		})
		_, err := f.people.Get(f.ctx(), f.store.Reader(), "1")
		require.NoError(t, err)
	})
	t.Run("a transaction sees its own writes and others do not", func(t *testing.T) {
		f := newFixture(t, open)
		f.update(func(tx *docstore.Tx) error {
			_, err := f.people.Insert(f.ctx(), tx, "1", person{Login: "ann"})
			require.NoError(t, err)
			_, err = f.people.Get(f.ctx(), tx, "1")
			require.NoError(t, err)
			_, err = f.people.Get(f.ctx(), f.store.Reader(), "1")
			require.ErrorIs(t, err, docstore.ErrNotFound)
			return nil
		})
	})
	t.Run("deleting removes all index values", func(t *testing.T) {
		f := newFixture(t, open)
		f.insert("1", person{Login: "ann", Badge: "7", Mails: []string{"a"}})
		f.insert("2", person{Login: "bob", Mails: []string{"a"}})
		f.delete("1")
		f.equal([]string{"2"}, f.walk(docstore.Query[person]{Where: docstore.Eq("mails", "a")}), "by mail")
		f.insert("1", person{Login: "ann", Badge: "7"})
	})
	t.Run("deleting by condition returns the number", func(t *testing.T) {
		f := newFixture(t, open)
		for _, id := range []string{"1", "2", "3"} {
			f.insert(id, person{Login: id, Mails: []string{"m" + id, "all"}})
		}
		deleteWhere := func(cond docstore.Cond) (n int) {
			f.update(func(tx *docstore.Tx) (err error) {
				n, err = f.people.DeleteWhere(f.ctx(), tx, cond)
				return err
			})
			return n
		}
		require.Equal(t, 0, deleteWhere(docstore.Eq("mails", "none")))
		require.Equal(t, 2, deleteWhere(docstore.In("mails", "m1", "m3")))
		f.equal([]string{"2"}, f.walk(docstore.Query[person]{}), "left")
		require.Equal(t, 1, deleteWhere(nil))
	})
	t.Run("many are read in the order of their ids", func(t *testing.T) {
		f := newFixture(t, open)
		for _, id := range []string{"a", "b", "c"} {
			f.insert(id, person{Login: id})
		}
		docs, err := f.people.GetMany(f.ctx(), f.store.Reader(), []string{"c", "x", "a", "\x00", "c"})
		require.NoError(t, err)
		f.equal([]string{"c", "a"}, idsOf(docs), "ids")
		docs, err = f.people.GetMany(f.ctx(), f.store.Reader(), nil)
		require.NoError(t, err)
		require.Empty(t, docs)
	})
	t.Run("JSON text is stored byte for byte", func(t *testing.T) {
		raw := docstore.NewCollection[json.RawMessage]("raw")
		s, err := docstore.Open(t.Context(), open(t), nil, raw)
		require.NoError(t, err)
		text := json.RawMessage(`{"z":1.0,"a":"<&>\u0000é","m":1e400,"b":{"y":[],"x":null}}`)
		require.NoError(t, s.Update(t.Context(), func(tx *docstore.Tx) error {
			_, err := raw.Insert(t.Context(), tx, "1", text)
			return err
		}))
		doc, err := raw.Get(t.Context(), s.Reader(), "1")
		require.NoError(t, err)
		require.Equal(t, string(text), string(doc.Value))
	})
	t.Run("a document that cannot be encoded is rejected and nothing is written", func(t *testing.T) {
		f := newFixture(t, open)
		bad := docstore.NewCollection[any]("bad")
		s, err := docstore.Open(t.Context(), f.store.DB(), nil, bad)
		require.NoError(t, err)
		err = s.Update(t.Context(), func(tx *docstore.Tx) error {
			_, err := bad.Insert(t.Context(), tx, "1", func() {})
			return err
		})
		_, ok := errors.AsType[*json.UnsupportedTypeError](err)
		require.True(t, ok, "%v", err)
	})
	t.Run("ids that no database can store are rejected", func(t *testing.T) {
		f := newFixture(t, open)
		for _, id := range []string{"", "a\x00", "\xff", strings.Repeat("x", docstore.MaxIDLength+1), docstore.JoinID("a\x1f", "b")} {
			_, err := f.tryInsert(id, person{Login: "ann"})
			require.ErrorIs(t, err, docstore.ErrBadID, "%q", id)
		}
		f.insert(strings.Repeat("x", docstore.MaxIDLength), person{Login: "ann"})
	})
}

func testUnique(t *testing.T, open Opener) {
	conflict := func(t *testing.T, err error, index string) {
		t.Helper()
		violation, ok := errors.AsType[*docstore.UniqueError](err)
		require.True(t, ok, "%v", err)
		require.ErrorIs(t, err, docstore.ErrUnique)
		require.Equal(t, "people", violation.Collection)
		require.Equal(t, index, violation.Index)
	}
	t.Run("the error names the index", func(t *testing.T) {
		f := newFixture(t, open)
		f.insert("1", person{Login: "Ann", Badge: "7"})
		for _, c := range []struct {
			id    string
			p     person
			index string
		}{
			{"1", person{Login: "bob"}, "id"},
			{"2", person{Login: "aNN"}, "login"},
			{"2", person{Login: "bob", Badge: "7"}, "badge"},
		} {
			_, err := f.tryInsert(c.id, c.p)
			conflict(t, err, c.index)
		}
		f.insert("2", person{Login: "bob"})
		err := f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
			_, err := f.people.Update(f.ctx(), tx, "2", 0, person{Login: "ANN"})
			return err
		})
		conflict(t, err, "login")
		err = f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
			_, err := f.people.Update(f.ctx(), tx, "2", 0, person{Login: "bob", Badge: "7"})
			return err
		})
		conflict(t, err, "badge")
	})
	t.Run("a document does not collide with itself", func(t *testing.T) {
		f := newFixture(t, open)
		f.insert("1", person{Login: "ann", Badge: "7"})
		f.update(func(tx *docstore.Tx) error {
			_, err := f.people.Update(f.ctx(), tx, "1", 0, person{Login: "ANN", Badge: "7"})
			return err
		})
	})
	t.Run("documents without a value do not collide", func(t *testing.T) {
		f := newFixture(t, open)
		f.insert("1", person{Login: "ann"})
		f.insert("2", person{Login: "bob"})
	})
	t.Run("long values collide only if they are equal", func(t *testing.T) {
		f := newFixture(t, open)
		long := strings.Repeat("é", 5000)
		f.insert("1", person{Login: long + "1"})
		f.insert("2", person{Login: long + "2"})
		_, err := f.tryInsert("3", person{Login: long + "1"})
		conflict(t, err, "login")
		f.equal([]string{"2"}, f.walk(docstore.Query[person]{Where: docstore.Eq("login", long+"2")}), "equal")
	})
	t.Run("one of several concurrent inserts succeeds", func(t *testing.T) {
		f := newFixture(t, open)
		errs := make(chan error)
		for _, id := range []string{"1", "2", "3", "4"} {
			go func() {
				_, err := f.tryInsert(id, person{Login: "ann"})
				errs <- err
			}()
		}
		won := 0
		for range 4 {
			if err := <-errs; err == nil {
				won++
			} else {
				conflict(t, err, "login")
			}
		}
		require.Equal(t, 1, won)
	})
}
