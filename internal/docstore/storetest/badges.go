package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
)

// badge is a document in a collection without side tables. It has no slices, maps or pointers, so its copies share no memory.
type badge struct {
	Number string    `json:"number"`
	Issued time.Time `json:"issued,omitzero"`
}

func newBadges() docstore.Collection[badge] {
	return docstore.NewCollection("badges",
		docstore.Index[badge]{Name: "number", Unique: true, Values: func(b *badge) []any { return optional(b.Number) }})
}

func testMany(t *testing.T, open Opener) {
	badges := newBadges()
	storeOf := func(t *testing.T, people docstore.Collection[person]) *docstore.Store {
		t.Helper()
		store, err := docstore.Open(t.Context(), open(t), newClock().Now, badges, people)
		require.NoError(t, err)
		return store
	}
	t.Run("inserting many stores the same as inserting one by one", func(t *testing.T) {
		store := storeOf(t, newPeople())
		var many []docstore.New[badge]
		for i := range 150 { // several statements
			many = append(many, docstore.New[badge]{ID: fmt.Sprint("b", i), Value: badge{Number: fmt.Sprint(i)}})
		}
		require.NoError(t, store.Update(t.Context(), func(tx *docstore.Tx) error { return badges.InsertMany(t.Context(), tx, many) }))
		page, err := badges.Query(t.Context(), store.Reader(), docstore.Query[badge]{Limit: 200})
		require.NoError(t, err)
		require.Len(t, page.Docs, len(many))
		for i, doc := range page.Docs {
			require.Equal(t, many[i], docstore.New[badge]{ID: doc.ID, Value: doc.Value})
			require.EqualValues(t, 1, doc.Rev)
			require.Equal(t, doc.Created, doc.Updated)
			require.Equal(t, page.Docs[0].Created, doc.Created)
		}
		page, err = badges.Query(t.Context(), store.Reader(), docstore.Query[badge]{Where: docstore.Eq("number", "77"), Limit: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"b77"}, idsOf(page.Docs))
	})
	t.Run("side tables are filled too", func(t *testing.T) {
		people := newPeople()
		store := storeOf(t, people)
		require.NoError(t, store.Update(t.Context(), func(tx *docstore.Tx) error {
			return people.InsertMany(t.Context(), tx,
				[]docstore.New[person]{{ID: "1", Value: person{Login: "ann", Mails: []string{"a", "b"}}},
					{ID: "2", Value: person{Login: "bob", Mails: []string{"b"}}}})
		}))
		page, err := people.Query(t.Context(), store.Reader(), docstore.Query[person]{Where: docstore.Eq("mails", "b"), Limit: 3})
		require.NoError(t, err)
		require.Equal(t, []string{"1", "2"}, idsOf(page.Docs))
	})
	t.Run("no document is stored if one is rejected", func(t *testing.T) {
		store := storeOf(t, newPeople())
		for why, many := range map[string][]docstore.New[badge]{
			"a value that is taken": {{ID: "1", Value: badge{Number: "1"}}, {ID: "2", Value: badge{Number: "1"}}},
			"an id that is taken":   {{ID: "1", Value: badge{Number: "1"}}, {ID: "1", Value: badge{Number: "2"}}},
		} {
			err := store.Update(t.Context(), func(tx *docstore.Tx) error { return badges.InsertMany(t.Context(), tx, many) })
			var unique *docstore.UniqueError
			require.ErrorAs(t, err, &unique, why)
		}
		err := store.Update(t.Context(), func(tx *docstore.Tx) error {
			return badges.InsertMany(t.Context(), tx, []docstore.New[badge]{{ID: "1", Value: badge{}}, {ID: "", Value: badge{}}})
		})
		require.ErrorIs(t, err, docstore.ErrBadID)
		n, err := badges.Count(t.Context(), store.Reader(), nil)
		require.NoError(t, err)
		require.Zero(t, n)
	})
	t.Run("an empty list inserts nothing", func(t *testing.T) {
		store := storeOf(t, newPeople())
		require.NoError(t, store.Update(t.Context(), func(tx *docstore.Tx) error { return badges.InsertMany(t.Context(), tx, nil) }))
	})
}
