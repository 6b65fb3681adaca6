package storetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/docstore"
)

// tryRevise revises a document that was read before.
func (f *fixture) tryRevise(old docstore.Doc[person], p person) (doc docstore.Doc[person], err error) {
	revision, err := docstore.PrepareRevision(f.people, old, p)
	require.NoError(f, err)
	err = f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
		doc, err = docstore.Revise(f.ctx(), f.people, tx, revision)
		return err
	})
	return doc, err
}

func testRevisions(t *testing.T, open Opener) {
	t.Run("a revision replaces the document", func(t *testing.T) {
		f := newFixture(t, open)
		first := f.insert("1", person{Login: "ann", Badge: "7", Mails: []string{"a", "b"}, Age: new(3)})
		second, err := f.tryRevise(first, person{Login: "Bob", Mails: []string{"b", "c"}, Age: new(3)})
		require.NoError(t, err)
		require.Equal(t, int64(2), second.Rev)
		require.Equal(t, first.Created, second.Created)
		require.Equal(t, first.Seq(), second.Seq())
		require.True(t, second.Updated.After(first.Updated))
		got, err := f.people.Get(f.ctx(), f.store.Reader(), "1")
		require.NoError(t, err)
		f.equal(second, got, "read")
		for _, c := range []struct {
			cond  docstore.Cond
			found bool
		}{
			{docstore.Eq("login", "ann"), false}, {docstore.Eq("login", "bob"), true}, {docstore.Eq("badge", "7"), false},
			{docstore.Eq("mails", "a"), false}, {docstore.Eq("mails", "b"), true}, {docstore.Eq("mails", "c"), true},
			{docstore.Eq("age", 3), true}, {docstore.Eq("plain", "Bob"), true},
		} {
			require.Equal(t, c.found, len(f.walk(docstore.Query[person]{Where: c.cond})) == 1, "%v", c.cond)
		}
		restored := docstore.Stored(got.ID, got.Seq(), got.Rev, got.Created, got.Value)
		third, err := f.tryRevise(restored, person{Login: "bob"})
		require.NoError(t, err)
		require.Equal(t, int64(3), third.Rev)
	})
	t.Run("a stale revision is rejected and changes nothing", func(t *testing.T) {
		f := newFixture(t, open)
		first := f.insert("1", person{Login: "ann", Mails: []string{"a"}})
		second, err := f.tryRevise(first, person{Login: "ann", Mails: []string{"b"}})
		require.NoError(t, err)
		_, err = f.tryRevise(first, person{Login: "ann", Mails: []string{"c"}})
		require.ErrorIs(t, err, docstore.ErrConflict)
		f.equal([]docstore.Doc[person]{second}, f.query(docstore.Query[person]{Where: docstore.Eq("mails", "b"), Limit: 9}).Docs, "stored")
		f.delete("1")
		_, err = f.tryRevise(second, person{Login: "ann"})
		require.ErrorIs(t, err, docstore.ErrNotFound)
		again := f.insert("1", person{Login: "ann"})
		_, err = f.tryRevise(first, person{Login: "bob"})
		require.ErrorIs(t, err, docstore.ErrConflict, "another document with the same id and revision")
		got, err := f.people.Get(f.ctx(), f.store.Reader(), "1")
		require.NoError(t, err)
		f.equal(again, got, "read")
	})
	t.Run("a revision with the unique value of another document is rejected", func(t *testing.T) {
		f := newFixture(t, open)
		f.insert("1", person{Login: "ann", Badge: "1"})
		bob := f.insert("2", person{Login: "bob", Badge: "2"})
		for index, p := range map[string]person{"login": {Login: "ANN", Badge: "2"}, "badge": {Login: "bob", Badge: "1"}} {
			_, err := f.tryRevise(bob, p)
			var unique *docstore.UniqueError
			require.ErrorAs(t, err, &unique)
			require.Equal(t, index, unique.Index)
		}
	})
	t.Run("every way to change documents maintains the indexes", func(t *testing.T) {
		f := newFixture(t, open)
		rapid.Check(t, func(r *rapid.T) { changes(r, f) })
	})
}

// changes inserts, changes and deletes documents at random and compares the indexes with a model.
func changes(r *rapid.T, f *fixture) {
	f.update(func(tx *docstore.Tx) error {
		_, err := f.store.Clear(f.ctx(), tx, f.people)
		return err
	})
	model := map[string]docstore.Doc[person]{}
	texts := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-d]`), 0, 3, rapid.ID)
	for step := range rapid.IntRange(1, 12).Draw(r, "steps") {
		id := rapid.StringMatching(`[1-4]`).Draw(r, "id")
		p := person{Login: fmt.Sprint("Login ", id), Mails: texts.Draw(r, "mails"), Groups: texts.Draw(r, "groups")}
		if rapid.Bool().Draw(r, "age") {
			p.Age = new(rapid.IntRange(0, 2).Draw(r, "years"))
		}
		old, exists := model[id]
		f.update(func(tx *docstore.Tx) (err error) {
			var doc docstore.Doc[person]
			switch way := rapid.IntRange(0, 4).Draw(r, "way"); {
			case !exists:
				doc, err = f.people.Insert(f.ctx(), tx, id, p)
			case way == 0:
				delete(model, id)
				return f.people.Delete(f.ctx(), tx, id)
			case way == 1:
				maps.DeleteFunc(model, func(_ string, d docstore.Doc[person]) bool { return slices.Contains(d.Value.Mails, "a") })
				_, err := f.people.DeleteWhere(f.ctx(), tx, docstore.Eq("mails", "a"))
				return err
			case way == 2:
				doc, err = f.people.Update(f.ctx(), tx, id, 0, p)
			default:
				revision, failed := docstore.PrepareRevision(f.people, old, p)
				require.NoError(r, failed)
				doc, err = docstore.Revise(f.ctx(), f.people, tx, revision)
			}
			model[id] = doc
			return err
		})
		check(r, f, model, step)
	}
}

// check compares the rows of the indexes with those of the model.
func check(r *rapid.T, f *fixture, model map[string]docstore.Doc[person], step int) {
	for _, index := range []struct {
		name   string
		values func(p person) []string
	}{
		{"mails", func(p person) []string { return p.Mails }},
		{"groups", func(p person) []string { return p.Groups }},
		{"login", func(p person) []string { return []string{fold(p.Login)} }},
		{"plain", func(p person) []string { return []string{p.Login} }},
	} {
		want, rows := map[string][]string{}, 0
		for _, id := range slices.Sorted(maps.Keys(model)) {
			for _, value := range index.values(model[id].Value) {
				want[value] = append(want[value], id)
				rows++
			}
		}
		got := map[string][]string{}
		for _, value := range append(slices.Collect(maps.Keys(want)), "a", "b", "c", "d") {
			ids := f.walk(docstore.Query[person]{Where: docstore.Eq(index.name, value)})
			if slices.Sort(ids); len(ids) > 0 {
				got[value] = ids
			}
		}
		require.Equal(r, want, got, "index %s after step %d", index.name, step)
		if index.name == "mails" || index.name == "groups" {
			var stored int
			require.NoError(r, f.store.DB().Reader().QueryRow(f.ctx(), "SELECT COUNT(*) FROM {people__"+index.name+"}").Scan(&stored))
			require.Equal(r, rows, stored, "rows of index %s after step %d", index.name, step)
		}
	}
}
