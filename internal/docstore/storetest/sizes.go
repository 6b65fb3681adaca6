package storetest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
)

// testSizes checks the bounds in bytes of pages and of GetUpTo.
func testSizes(t *testing.T, open Opener) {
	f := newFixture(t, open)
	var ids []string
	f.update(func(tx *docstore.Tx) error {
		for i := range 600 { // more than one statement reads
			id := string(rune('a'+i%26)) + strings.Repeat("i", i/26+1)
			ids = append(ids, id)
			if _, err := f.people.Insert(f.ctx(), tx, id, person{Login: id, Groups: []string{strings.Repeat("g", 1+i*i%311)}}); err != nil {
				return err
			}
		}
		return nil
	})
	size := map[string]int{}
	for _, doc := range f.query(docstore.Query[person]{Limit: 600}).Docs {
		size[doc.ID] = doc.Size()
		require.Positive(t, doc.Size())
	}
	fits := func(t *testing.T, docs []docstore.Doc[person], maximum int) (bytes int) {
		t.Helper()
		for i := range docs {
			bytes += size[docs[i].ID]
		}
		require.True(t, bytes <= maximum || len(docs) == 1, "%d documents with %d bytes", len(docs), bytes)
		return bytes
	}
	t.Run("a page is as long as its bytes allow", func(t *testing.T) {
		every := func(*docstore.Doc[person]) bool { return true }
		for _, query := range []docstore.Query[person]{{}, {Desc: true}, {OrderBy: "login"}, {Match: every}} {
			var all []docstore.Doc[person]
			for query.Limit, query.MaxBytes = 600, 2000; ; {
				page := f.query(query)
				require.Equal(t, fits(t, page.Docs, 2000), page.Bytes)
				all = append(all, page.Docs...)
				if query.After = page.Next; query.After == "" {
					break
				}
				rest := query
				rest.Limit, rest.MaxBytes = 1, 0
				require.Greater(t, page.Bytes+f.query(rest).Bytes, 2000, "the next document would have been on the page")
			}
			require.ElementsMatch(t, ids, idsOf(all))
		}
	})
	t.Run("documents are read by their ids up to a number of bytes", func(t *testing.T) {
		wanted := append([]string{"missing", ids[7], ids[7]}, ids...)
		rand.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
		whole, err := f.people.GetMany(f.ctx(), f.store.Reader(), wanted)
		require.NoError(t, err)
		for _, maximum := range []int{1, 700, 5000, 1 << 20} {
			seen := map[string]bool{}
			var all []string
			for left := wanted; len(left) > 0; {
				docs, n, err := docstore.GetUpTo(f.ctx(), f.people, f.store.Reader(), left, maximum)
				require.NoError(t, err)
				require.Positive(t, n)
				fits(t, docs, maximum)
				for _, id := range idsOf(docs) {
					if !seen[id] { // a repeated id may be in a later part
						all = append(all, id)
					}
					seen[id] = true
				}
				left = left[n:]
			}
			require.Equal(t, idsOf(whole), all, "%d bytes", maximum)
		}
	})
	t.Run("a cursor after any document", func(t *testing.T) {
		for _, query := range []docstore.Query[person]{{Limit: 50}, {Limit: 50, Desc: true}, {Limit: 50, Where: docstore.NotNull("login")}} {
			page := f.query(query)
			rest := query
			var err error
			rest.After, err = docstore.CursorAfter(f.people, query, &page.Docs[19])
			require.NoError(t, err)
			require.Equal(t, idsOf(page.Docs[20:]), idsOf(f.query(rest).Docs[:30]))
		}
		_, err := docstore.CursorAfter(f.people, docstore.Query[person]{OrderBy: "age"}, &docstore.Doc[person]{})
		require.ErrorContains(t, err, "insertion order")
	})
}
