package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/docstore"
)

func testSchema(t *testing.T, open Opener) {
	// reopen opens the fixture's database with other indexes.
	reopen := func(t *testing.T, f *fixture, indexes ...docstore.Index[person]) (*fixture, error) {
		t.Helper()
		next := &fixture{TB: t, people: docstore.NewCollection("people", indexes...)}
		var err error
		next.store, err = docstore.Open(t.Context(), f.store.DB(), newClock().Now, next.people)
		return next, err
	}
	bare := func(t *testing.T) *fixture {
		t.Helper()
		f := &fixture{TB: t, people: docstore.NewCollection[person]("people")}
		var err error
		f.store, err = docstore.Open(t.Context(), open(t), newClock().Now, f.people)
		require.NoError(t, err)
		return f
	}
	t.Run("opening again changes nothing", func(t *testing.T) {
		f := newFixture(t, open)
		f.insert("1", person{Login: "ann", Mails: []string{"a"}, Badge: "7"})
		f, err := reopen(t, f, peopleIndexes()...)
		require.NoError(t, err)
		f.equal([]string{"1"}, f.walk(docstore.Query[person]{Where: docstore.All(docstore.Eq("mails", "a"), docstore.Eq("badge", "7"))}), "ids")
	})
	t.Run("a dropped collection starts empty, and others stay", func(t *testing.T) {
		f := newFixture(t, open)
		other := docstore.NewCollection("others", peopleIndexes()...)
		_, err := docstore.Open(t.Context(), f.store.DB(), nil, other)
		require.NoError(t, err)
		f.insert("1", person{Login: "ann", Mails: []string{"a"}, Badge: "7"})
		f.update(func(tx *docstore.Tx) error {
			_, err := other.Insert(f.ctx(), tx, "2", person{Login: "bob", Mails: []string{"a"}})
			return err
		})
		require.NoError(t,
			docstore.Drop(t.Context(), f.store.DB(), docstore.NewCollection[person]("people"), docstore.NewCollection[person]("never")))
		f, err = reopen(t, f, peopleIndexes()...)
		require.NoError(t, err)
		f.equal([]string{}, f.walk(docstore.Query[person]{Where: docstore.Eq("mails", "a")}), "ids")
		f.insert("3", person{Login: "ann", Mails: []string{"a"}, Badge: "7"})
		doc, err := other.Get(t.Context(), f.store.Reader(), "2")
		require.NoError(t, err)
		require.Equal(t, "bob", doc.Value.Login)
	})
	t.Run("stores that open at the same time wait for each other", func(t *testing.T) {
		db := open(t)
		var group errgroup.Group
		for range 4 {
			group.Go(func() error {
				_, err := docstore.Open(t.Context(), db, nil, newPeople())
				return err
			})
		}
		require.NoError(t, group.Wait())
	})
	t.Run("a new index is filled from the stored documents", func(t *testing.T) {
		f := bare(t)
		const n = 1100 // more documents than fill reads in one batch
		f.update(func(tx *docstore.Tx) error {
			for i := range n {
				p := person{Login: fmt.Sprintf("U%04d", i), Mails: []string{fmt.Sprint(i % 7), "all"}, Age: new(i % 3)}
				if _, err := f.people.Insert(f.ctx(), tx, fmt.Sprint(i), p); err != nil {
					return err
				}
			}
			return nil
		})
		f, err := reopen(t, f, peopleIndexes()...)
		require.NoError(t, err)
		for _, c := range []struct {
			cond docstore.Cond
			want int
		}{
			{docstore.Eq("mails", "all"), n},
			{docstore.Eq("mails", "3"), 157},
			{docstore.Eq("login", "u1099"), 1},
			{docstore.Prefix("login", "u000"), 10},
			{docstore.Eq("age", 0), 367},
			{docstore.NotNull("badge"), 0},
		} {
			got, err := f.people.Count(f.ctx(), f.store.Reader(), c.cond)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		}
		_, err = f.tryInsert("x", person{Login: "u0000"})
		require.ErrorIs(t, err, docstore.ErrUnique)
	})
	t.Run("a new unique index that the documents violate is rejected without a change", func(t *testing.T) {
		for _, index := range []docstore.Index[person]{
			{Name: "badge", Unique: true, Values: func(p *person) []any { return optional(p.Badge) }},
			{Name: "badge", Unique: true, Multi: true, Values: func(p *person) []any { return optional(p.Badge) }},
		} {
			f := bare(t)
			f.insert("1", person{Login: "ann", Badge: "7"})
			f.insert("2", person{Login: "bob", Badge: "7"})
			_, err := reopen(t, f, index)
			violation, ok := errors.AsType[*docstore.UniqueError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "badge", violation.Index)
			f.update(func(tx *docstore.Tx) error {
				_, err := f.people.Update(f.ctx(), tx, "2", 0, person{Login: "bob", Badge: "8"})
				return err
			})
			_, err = reopen(t, f, index)
			require.NoError(t, err)
		}
	})
	t.Run("an index that is no longer declared is dropped, and filled when declared again", func(t *testing.T) {
		f := newFixture(t, open)
		f.insert("1", person{Login: "ann", Mails: []string{"a"}, Badge: "7"})
		f, err := reopen(t, f)
		require.NoError(t, err)
		f.insert("2", person{Login: "bob", Mails: []string{"a"}})
		_, err = f.people.Count(f.ctx(), f.store.Reader(), docstore.Eq("mails", "a"))
		require.Error(t, err)
		f, err = reopen(t, f, peopleIndexes()...)
		require.NoError(t, err)
		f.equal([]string{"1", "2"}, f.walk(docstore.Query[person]{Where: docstore.Eq("mails", "a")}), "mails")
		f.equal([]string{"2"}, f.walk(docstore.Query[person]{Where: docstore.Eq("login", "bob")}), "login")
	})
	t.Run("an index with another declaration is filled again", func(t *testing.T) {
		f := bare(t)
		var err error
		declare := func(ix docstore.Index[person]) {
			ix.Name = "x"
			f, err = reopen(t, f, ix)
			require.NoError(t, err)
		}
		declare(docstore.Index[person]{Values: func(p *person) []any { return []any{p.Login} }})
		f.insert("1", person{Login: "Ann", Mails: []string{"a", "b"}, Age: new(3)})
		for _, c := range []struct {
			index docstore.Index[person]
			value any
		}{
			{docstore.Index[person]{Version: 1, Values: func(p *person) []any { return []any{fold(p.Login)} }}, "ann"},
			{docstore.Index[person]{Kind: docstore.Int, Values: func(p *person) []any { return []any{p.Age} }}, 3},
			{docstore.Index[person]{Multi: true, Values: func(p *person) []any { return list(p.Mails, same) }}, "b"},
			{docstore.Index[person]{Unique: true, Values: func(p *person) []any { return []any{p.Login} }}, "Ann"},
		} {
			declare(c.index)
			f.equal([]string{"1"}, f.walk(docstore.Query[person]{Where: docstore.Eq("x", c.value)}), "ids")
		}
	})
	t.Run("several values require Multi", func(t *testing.T) {
		f := bare(t)
		f, err := reopen(t, f, docstore.Index[person]{Name: "mail", Values: func(p *person) []any { return list(p.Mails, same) }})
		require.NoError(t, err)
		_, err = f.tryInsert("1", person{Login: "ann", Mails: []string{"a", "b"}})
		require.ErrorContains(t, err, "index mail")
		f.insert("1", person{Login: "ann", Mails: []string{"a", "a"}})
	})
	t.Run("names with a meaning in SQL are rejected or quoted", func(t *testing.T) {
		db := open(t)
		for _, name := range []string{"", "A", "a b", `a"b`, "a__b", "docstore_outbox", "1a", strings.Repeat("a", 60)} {
			c := docstore.NewCollection(name, docstore.Index[person]{Name: "login", Values: func(*person) []any { return nil }})
			_, err := docstore.Open(t.Context(), db, nil, c)
			require.Error(t, err, "collection %q", name)
		}
		for _, name := range []string{"", "a b", "id", "ID", "created", `a"`, "a__b", "_a"} {
			c := docstore.NewCollection("ok", docstore.Index[person]{Name: name, Values: func(*person) []any { return nil }})
			_, err := docstore.Open(t.Context(), db, nil, c)
			require.Error(t, err, "index %q", name)
		}
		noValues := docstore.NewCollection("ok", docstore.Index[person]{Name: "login"})
		_, err := docstore.Open(t.Context(), db, nil, noValues)
		require.ErrorContains(t, err, "login has no Values")
		c := docstore.NewCollection("order",
			docstore.Index[person]{Name: "select", Values: func(p *person) []any { return []any{p.Login} }},
			docstore.Index[person]{Name: "group", Multi: true, Values: func(p *person) []any { return list(p.Mails, same) }})
		_, err = docstore.Open(t.Context(), db, nil, c)
		require.NoError(t, err)
		_, err = docstore.Open(t.Context(), db, nil, c, c)
		require.ErrorContains(t, err, "twice")
	})
}
