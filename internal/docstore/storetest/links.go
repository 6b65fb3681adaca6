package storetest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
)

// seat is a relation between a room and a person.
type seat struct {
	Room   string `json:"room"`
	Person string `json:"person"`
}

func testLinks(t *testing.T, open Opener) {
	people := newPeople()
	seats := docstore.NewCollection("seats",
		docstore.Index[seat]{Name: "person", Values: func(s *seat) []any { return []any{s.Person} }},
		docstore.Index[seat]{Name: "rooms", Multi: true, Values: func(s *seat) []any { return []any{s.Room} }})
	store, err := docstore.Open(t.Context(), open(t), newClock().Now, people, seats)
	require.NoError(t, err)
	f := &fixture{TB: t, store: store, people: people}
	link := docstore.NewLink(seats, "person")

	long := strings.Repeat("x", docstore.MaxIDLength)
	for i, id := range []string{"ann", "bob", "cid'\"\x1e|", "\x01", long} {
		f.insert(id, person{Login: string(rune('a' + i))})
	}
	sit := func(room, person string) {
		f.update(func(tx *docstore.Tx) error {
			_, err := seats.Insert(f.ctx(), tx, docstore.JoinID(room, person), seat{room, person})
			return err
		})
	}
	sit("z", "ann")
	sit("a\x1e'b", "ann")
	sit("z", "bob")
	sit("", "cid'\"\x1e|")
	sit("m", "ann")
	sit("z", "\x01")
	f.update(func(tx *docstore.Tx) error { return seats.Delete(f.ctx(), tx, docstore.JoinID("z", "bob")) })

	// known contains the expected result of Linked for each id, in the order of insertion. For all other ids, such as "\x01", Linked must
	// return ok=false.
	known := map[string][]string{"ann": {"z", "a\x1e'b", "m"}, "bob": {}, "cid'\"\x1e|": {""}, long: {}}
	check := func(doc docstore.Doc[person]) {
		t.Helper()
		got, ok := doc.Linked()
		want, expected := known[doc.ID]
		require.Equal(t, expected, ok, "%q", doc.ID)
		f.equal(want, got, "rooms of "+doc.ID)
	}
	t.Run("of one document", func(t *testing.T) {
		for id := range known {
			doc, err := docstore.GetLinked(t.Context(), people, store.Reader(), id, link)
			require.NoError(t, err)
			check(doc)
		}
	})
	t.Run("of a page, in any order", func(t *testing.T) {
		for _, q := range []docstore.Query[person]{{}, {Desc: true}, {OrderBy: "plain"}, {Where: docstore.Eq("login", "a")}} {
			q.Link = link
			docs := f.query(q).Docs
			require.NotEmpty(t, docs)
			for _, doc := range docs {
				check(doc)
			}
		}
	})
	t.Run("not known if the read names no link", func(t *testing.T) {
		doc, err := people.Get(t.Context(), store.Reader(), "ann")
		require.NoError(t, err)
		_, ok := doc.Linked()
		require.False(t, ok)
	})
	t.Run("require a single-valued index of kind Text", func(t *testing.T) {
		require.Panics(t, func() { docstore.NewLink(seats, "rooms") })
		require.Panics(t, func() { docstore.NewLink(seats, "none") })
	})
}
