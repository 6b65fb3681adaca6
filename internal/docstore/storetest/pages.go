package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
)

// insertAged inserts documents whose ids are their indexes in ages; -1 means no age.
func (f *fixture) insertAged(ages ...int) {
	f.Helper()
	f.update(func(tx *docstore.Tx) error {
		for i, age := range ages {
			p := person{Login: fmt.Sprint(i)}
			if age >= 0 {
				p.Age = &age
			}
			if _, err := f.people.Insert(f.ctx(), tx, fmt.Sprint(i), p); err != nil {
				return err
			}
		}
		return nil
	})
}

func testPages(t *testing.T, open Opener) {
	f := newFixture(t, open)
	f.insertAged(3, -1, 1, 3, 2, -1, 3)
	odd := func(doc *docstore.Doc[person]) bool { return strings.Contains("1357", doc.ID) }
	for name, c := range map[string]struct {
		query docstore.Query[person]
		want  string
	}{
		"in the order of insertion":                  {docstore.Query[person]{}, "0123456"},
		"in the reverse order of insertion":          {docstore.Query[person]{Desc: true}, "6543210"},
		"by index, without a value last":             {docstore.Query[person]{OrderBy: "age"}, "2403615"},
		"by index descending, without a value first": {docstore.Query[person]{OrderBy: "age", Desc: true}, "5163042"},
		"by unique index":                            {docstore.Query[person]{OrderBy: "login", Desc: true}, "6543210"},
		"by id":                                      {docstore.Query[person]{OrderBy: docstore.ID}, "0123456"},
		"by creation":                                {docstore.Query[person]{OrderBy: docstore.Created, Desc: true}, "6543210"},
		"under a condition": {
			docstore.Query[person]{OrderBy: "age", Where: docstore.Any(docstore.Ge("age", 2), docstore.IDs("5"))}, "40365"},
		"with a match in Go":                                         {docstore.Query[person]{Match: odd}, "135"},
		"by index with a match in Go":                                {docstore.Query[person]{OrderBy: "age", Desc: true, Match: odd}, "513"},
		"with an offset":                                             {docstore.Query[person]{Offset: 2}, "23456"},
		"by index with an offset":                                    {docstore.Query[person]{OrderBy: "age", Offset: 3}, "3615"},
		"by index with an offset past the values":                    {docstore.Query[person]{OrderBy: "age", Offset: 6}, "5"},
		"by index descending with an offset":                         {docstore.Query[person]{OrderBy: "age", Desc: true, Offset: 1}, "163042"},
		"by index descending, offset past documents without a value": {docstore.Query[person]{OrderBy: "age", Desc: true, Offset: 3}, "3042"},
		"with an offset past the end":                                {docstore.Query[person]{OrderBy: "age", Offset: 60}, ""},
		"with an offset that counts matches":                         {docstore.Query[person]{Match: odd, Offset: 1}, "35"},
	} {
		t.Run(name, func(t *testing.T) {
			for limit := 1; limit <= 8; limit++ {
				for _, bytes := range []int{0, 1, 40, 100} { // a document has some 20 bytes
					c.query.Limit, c.query.MaxBytes = limit, bytes
					require.Equal(t, c.want, strings.Join(f.walk(c.query), ""), "limit %d, %d bytes", limit, bytes)
				}
			}
		})
	}
	t.Run("a full last page has no cursor", func(t *testing.T) {
		require.Empty(t, f.query(docstore.Query[person]{Limit: 7}).Next)
		require.NotEmpty(t, f.query(docstore.Query[person]{Limit: 6}).Next)
		require.Empty(t, f.query(docstore.Query[person]{Limit: 3, Match: odd}).Next)
		require.NotEmpty(t, f.query(docstore.Query[person]{Limit: 2, Match: odd}).Next)
	})
	t.Run("the size has a default", func(t *testing.T) {
		f := newFixture(t, open)
		f.insertAged(make([]int, docstore.DefaultLimit+1)...)
		page := f.query(docstore.Query[person]{})
		require.Len(t, page.Docs, docstore.DefaultLimit)
		require.NotEmpty(t, page.Next)
	})
	t.Run("a match after many documents is found", func(t *testing.T) {
		f := newFixture(t, open)
		f.insertAged(make([]int, 3000)...)
		last := func(doc *docstore.Doc[person]) bool { return doc.ID == "2999" || doc.ID == "0" }
		for _, order := range []string{"", "age"} {
			require.Equal(t, []string{"0", "2999"}, f.walk(docstore.Query[person]{OrderBy: order, Match: last, Limit: 1}))
		}
	})
	t.Run("a Multi index cannot be used for ordering", func(t *testing.T) {
		_, err := f.people.Query(f.ctx(), f.store.Reader(), docstore.Query[person]{OrderBy: "mails"})
		require.ErrorContains(t, err, "Multi")
		_, err = f.people.Query(f.ctx(), f.store.Reader(), docstore.Query[person]{OrderBy: "nope"})
		require.ErrorContains(t, err, "nope")
	})
}

// testMovingPages reads pages while documents are inserted and deleted, including the last documents of pages. Every document that exists
// all the time is returned exactly once, and no document is returned twice.
func testMovingPages(t *testing.T, open Opener) {
	for _, query := range []docstore.Query[person]{
		{}, {Desc: true}, {OrderBy: "age"}, {OrderBy: "age", Desc: true}, {OrderBy: "login"},
		{OrderBy: "age", Match: func(*docstore.Doc[person]) bool { return true }},
	} {
		t.Run(fmt.Sprintf("by %q descending %t match %t", query.OrderBy, query.Desc, query.Match != nil), func(t *testing.T) {
			f := newFixture(t, open)
			random := rand.New(rand.NewPCG(1, 2))
			ages := make([]int, 60)
			stays := map[string]bool{}
			for i := range ages {
				ages[i] = random.IntN(6) - 1
				stays[fmt.Sprint(i)] = true
			}
			f.insertAged(ages...)
			seen := map[string]int{}
			query.Limit = 4
			for step := 0; ; step++ {
				page := f.query(query)
				for _, doc := range page.Docs {
					seen[doc.ID]++
				}
				if page.Next == "" {
					break
				}
				query.After = page.Next
				anchor := page.Docs[len(page.Docs)-1].ID
				f.delete(anchor)
				delete(stays, anchor)
				if victim := fmt.Sprint(random.IntN(60)); stays[victim] {
					f.delete(victim)
					delete(stays, victim)
				}
				if step < 20 {
					f.insert(fmt.Sprintf("new%d", step), person{Login: fmt.Sprintf("new%d", step), Age: new(random.IntN(5))})
				}
			}
			for id, n := range seen {
				require.Equal(t, 1, n, "document %s", id)
			}
			for id := range stays {
				require.Contains(t, seen, id)
			}
			require.Greater(t, len(stays), 10, "too few documents are left: the test proves nothing")
		})
	}
}

func testCursors(t *testing.T, open Opener) {
	f := newFixture(t, open)
	f.insertAged(1, 2, 3, 4, -1)
	where := docstore.Ge("age", 1)
	query := docstore.Query[person]{Where: where, OrderBy: "age", Limit: 1}
	cursor := f.query(query).Next
	query.After = cursor
	require.Equal(t, []string{"1"}, idsOf(f.query(query).Docs))
	require.Regexp(t, `^[A-Za-z0-9_-]+$`, cursor, "needs no escaping in URLs")

	t.Run("valid with other values and sizes", func(t *testing.T) {
		other := query
		other.Where, other.Limit = docstore.Ge("age", 3), 10
		require.Equal(t, []string{"2", "3"}, idsOf(f.query(other).Docs))
	})
	refused := func(q docstore.Query[person]) error {
		_, err := f.people.Query(f.ctx(), f.store.Reader(), q)
		return err
	}
	for name, change := range map[string]func(q *docstore.Query[person]){
		"another order":     func(q *docstore.Query[person]) { q.OrderBy = "login" },
		"no order":          func(q *docstore.Query[person]) { q.OrderBy = "" },
		"another direction": func(q *docstore.Query[person]) { q.Desc = true },
		"another condition": func(q *docstore.Query[person]) { q.Where = docstore.Gt("age", 1) },
		"no condition":      func(q *docstore.Query[person]) { q.Where = nil },
	} {
		t.Run(name+" rejects it", func(t *testing.T) {
			other := query
			change(&other)
			require.ErrorIs(t, refused(other), docstore.ErrBadCursor)
		})
	}
	t.Run("another collection rejects it", func(t *testing.T) {
		twins := docstore.NewCollection("twins", peopleIndexes()...)
		_, err := docstore.Open(t.Context(), f.store.DB(), nil, twins)
		require.NoError(t, err)
		_, err = twins.Query(f.ctx(), f.store.Reader(), query)
		require.ErrorIs(t, err, docstore.ErrBadCursor)
	})
	t.Run("every change to it is detected", func(t *testing.T) {
		for i := range cursor {
			for _, c := range "Ab3-" {
				if byte(c) == cursor[i] {
					continue
				}
				changed := query
				changed.After = cursor[:i] + string(c) + cursor[i+1:]
				if page, err := f.people.Query(f.ctx(), f.store.Reader(), changed); err == nil {
					// Only the last character may be changed without an error: some of its bits carry no data in base64.
					require.Equal(t, len(cursor)-1, i)
					require.Equal(t, []string{"1"}, idsOf(page.Docs))
				} else {
					require.ErrorIs(t, err, docstore.ErrBadCursor)
				}
			}
		}
		for _, text := range slices.Concat([]string{"x", "=", " ", "%00", cursor + "A", cursor[1:], cursor[:len(cursor)-1], "\x00"}) {
			changed := query
			changed.After = text
			require.ErrorIs(t, refused(changed), docstore.ErrBadCursor, "%q", text)
		}
	})
}
