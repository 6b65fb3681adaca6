package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// testRaw compares texts of pages and of conditions with those of single documents. Some documents are too long to be read with others, and
// some were updated.
func testRaw(t *testing.T, open Opener) {
	people := newPeople()
	seats := docstore.NewCollection("seats",
		docstore.Index[seat]{Name: "person", Values: func(s *seat) []any { return []any{s.Person} }})
	store, err := docstore.Open(t.Context(), open(t), newClock().Now, people, seats)
	require.NoError(t, err)
	f, texts := &fixture{TB: t, store: store, people: people}, docstore.TextsOf(people)
	link := docstore.NewLink(seats, "person")

	var ids []string
	f.update(func(tx *docstore.Tx) error {
		for i := range 700 { // more than one statement reads
			id := fmt.Sprintf("id\x01'\"-%d", i)
			size := i % 40
			if i > 300 && i%97 == 0 {
				size = 3000 + i
			}
			ids = append(ids, id)
			if _, err := people.Insert(f.ctx(), tx, id, person{Login: id, Groups: []string{"\x00", "-", strings.Repeat("é", size)}}); err != nil {
				return err
			}
			for j := range i % 3 {
				if _, err := seats.Insert(f.ctx(), tx, docstore.JoinID(fmt.Sprint("room", j), id), seat{fmt.Sprint(j), id}); err != nil {
					return err
				}
			}
		}
		for i := 0; i < len(ids); i += 5 {
			if err := people.Delete(f.ctx(), tx, ids[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for i := 1; i < len(ids); i += 7 {
		if i%5 == 0 {
			continue // was deleted
		}
		f.update(func(tx *docstore.Tx) error {
			_, err := people.Update(f.ctx(), tx, ids[i], 0, person{Login: ids[i], Groups: []string{strings.Repeat("x", i%40)}})
			return err
		})
	}
	describe := func(d *docstore.Raw) string {
		linked, ok := d.Linked()
		return fmt.Sprintf("%q %d %d %v %v %d %t %d %q %t", d.ID, d.Rev, d.Seq, d.Created, d.Updated, d.Length, d.JSON == nil, len(d.JSON),
			linked, ok)
	}
	// single returns the descriptions of all documents in the order of insertion, each read by its id.
	single := func(link *docstore.Link, longest int) (all []string) {
		for _, doc := range f.query(docstore.Query[person]{Limit: len(ids)}).Docs {
			require.NoError(t, texts.Get(f.ctx(), store.Reader(), doc.ID, link, longest, func(d *docstore.Raw) error {
				all = append(all, describe(d))
				return nil
			}))
		}
		require.Len(t, all, 560)
		return all
	}
	read := func(q docstore.RawQuery, most int) (got []string, page docstore.RawPage) {
		page, err := texts.Query(f.ctx(), store.Reader(), q, func(d *docstore.Raw) (bool, error) {
			if len(got) == most {
				return false, nil
			}
			got = append(got, describe(d))
			return true, nil
		})
		require.NoError(t, err)
		return got, page
	}
	for _, link := range []*docstore.Link{nil, link} {
		for _, longest := range []int{0, 100, 2500, 3200} {
			want := single(link, longest)
			t.Run(fmt.Sprintf("pages as single documents, link %t, longest %d", link != nil, longest), func(t *testing.T) {
				for _, offset := range []int{0, 1, 127, 555, 600} {
					for _, limit := range []int{3, 100, 127, 128, 129, 500, 600} {
						got, page := read(docstore.RawQuery{Offset: offset, Limit: limit, Link: link, Longest: longest}, -1)
						rest := want[min(offset, len(want)):]
						f.equal(rest[:min(limit, len(rest))], append([]string{}, got...), "page")
						require.Equal(t, len(rest) > limit, page.More)
						require.Empty(t, page.Next)
					}
				}
				for _, desc := range []bool{false, true} {
					var all []string
					for q := (docstore.RawQuery{Limit: 150, Desc: desc, Link: link, Longest: longest}); ; {
						got, page := read(q, 60)
						if all = append(all, got...); page.Next == "" {
							break
						}
						q.After = page.Next
					}
					require.Len(t, all, len(want))
					for i, text := range all {
						if desc {
							i = len(want) - 1 - i
						}
						require.Equal(t, want[i], text)
					}
				}
			})
		}
	}
	t.Run("texts of a condition", func(t *testing.T) {
		for _, test := range []struct {
			in    docstore.Table
			cond  docstore.Cond
			count int
		}{
			{people, nil, 560}, // with long documents
			{people, docstore.NotNull("login"), 560},
			{people, docstore.Eq("login", ids[1]), 1},
			{people, docstore.Eq("login", "none"), 0},
			{seats, nil, 699}, // short documents only
			{seats, docstore.NotNull("person"), 699},
		} {
			var want, got []string
			query := docstore.RawQuery{Where: test.cond, Limit: 1000}
			_, err := docstore.TextsOf(test.in).Query(f.ctx(), store.Reader(), query, func(d *docstore.Raw) (bool, error) {
				want = append(want, string(d.JSON))
				return true, nil
			})
			require.NoError(t, err)
			require.NoError(t, docstore.TextsOf(test.in).Each(f.ctx(), store.Reader(), test.cond, func(text string) error {
				got = append(got, text)
				return nil
			}))
			require.Len(t, got, test.count)
			f.equal(want, got, "texts")
			stop, calls := errors.New("stop"), 0
			err = docstore.TextsOf(test.in).Each(f.ctx(), store.Reader(), test.cond, func(string) error { calls++; return stop })
			if test.count > 0 {
				require.ErrorIs(t, err, stop)
				require.Equal(t, 1, calls)
			}
		}
	})
	t.Run("scan of parts", func(t *testing.T) {
		all := f.query(docstore.Query[person]{Limit: len(ids)}).Docs
		for _, contains := range []string{"", "X", "xxxxxxxxxxxx", `"-10`, "%", "_", "none", "é"} {
			for _, cond := range []docstore.Cond{nil, docstore.NotNull("login"), docstore.Eq("login", ids[1]), docstore.Eq("login", "none")} {
				var expected, passed []string
				examined, after := 0, int64(0)
				for _, doc := range all {
					if cond == nil || cond == docstore.NotNull("login") || cond == docstore.Eq("login", ids[1]) && doc.ID == ids[1] {
						examined++
						expected = append(expected, doc.ID)
					}
				}
				for parts := 1; ; parts++ {
					n, last, err := texts.Scan(f.ctx(), store.Reader(), cond, after, 100, contains, func(seq int64, id string, text []byte) error {
						require.Greater(t, seq, after)
						require.NotEmpty(t, text)
						passed = append(passed, id)
						return nil
					})
					require.NoError(t, err)
					examined -= n
					if n < 100 {
						break
					}
					require.Greater(t, last, after)
					after = last
					require.Less(t, parts, 10)
				}
				require.Zero(t, examined, "number of examined documents")
				require.Subset(t, expected, passed)
				for i, doc := range all {
					text, err := json.Marshal(doc.Value)
					require.NoError(t, err)
					if strings.Contains(strings.ToLower(string(text)), strings.ToLower(contains)) && slices.Contains(expected, doc.ID) {
						require.Contains(t, passed, doc.ID, "%d contains %q", i, contains)
					}
				}
				if d, ok := store.Reader().(interface{ Dialect() sqldb.Dialect }); contains == "none" && ok && d.Dialect() == sqldb.SQLite {
					require.Less(t, len(passed), max(1, len(expected)))
				}
			}
		}
	})
	t.Run("writes during a page", func(t *testing.T) {
		var seqs []int64
		var got []string
		_, err := texts.Query(f.ctx(), store.Reader(), docstore.RawQuery{Limit: 600}, func(d *docstore.Raw) (bool, error) {
			seqs, got = append(seqs, d.Seq), append(got, d.ID)
			if len(got) != 10 {
				return true, nil
			}
			return true, store.Update(f.ctx(), func(tx *docstore.Tx) error {
				for _, id := range []string{got[0], ids[1+5*120]} { // one before the position and one after it
					if err := people.Delete(f.ctx(), tx, id); err != nil {
						return err
					}
				}
				_, err := people.Insert(f.ctx(), tx, "new", person{Login: "new"})
				return err
			})
		})
		require.NoError(t, err)
		require.IsIncreasing(t, seqs)
		for i, id := range ids {
			if i%5 != 0 && i != 1+5*120 {
				require.Contains(t, got, id)
			}
		}
	})
}
