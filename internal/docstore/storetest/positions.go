package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// note is a document without indexes, which is cheap to store.
type note struct {
	Text string `json:"text"`
}

// testPositions compares the number of documents and pages at any offset with a list of the ids, after random changes.
func testPositions(t *testing.T, open Opener) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		notes := docstore.NewCollection[note]("notes").Positioned()
		ctx := context.Background()
		store, err := docstore.Open(ctx, db, nil, notes)
		require.NoError(t, err)
		require.NoError(t, store.Update(ctx, func(tx *docstore.Tx) error {
			_, err := store.Clear(ctx, tx, notes)
			return err
		}))
		var ids []string
		made := 0
		change := func(fn func(tx *docstore.Tx) error) { require.NoError(t, store.Update(ctx, fn)) }
		insert := func(t *rapid.T) []docstore.New[note] {
			docs := make([]docstore.New[note], rapid.SampledFrom([]int{1, 3, 700, 2100}).Draw(t, "inserted"))
			for i := range docs {
				docs[i].ID = fmt.Sprint("n", made)
				made++
			}
			return docs
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				docs := insert(t)
				change(func(tx *docstore.Tx) error { return notes.InsertMany(ctx, tx, docs) })
				for _, d := range docs {
					ids = append(ids, d.ID)
				}
			},
			"insert and roll back": func(t *rapid.T) {
				docs := insert(t)
				discard := errors.New("discard")
				err := store.Update(ctx, func(tx *docstore.Tx) error {
					if err := notes.InsertMany(ctx, tx, docs); err != nil {
						return err
					}
					return discard
				})
				require.ErrorIs(t, err, discard)
			},
			"delete one": func(t *rapid.T) {
				if len(ids) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(ids)-1).Draw(t, "deleted")
				change(func(tx *docstore.Tx) error { return notes.Delete(ctx, tx, ids[i]) })
				ids = slices.Delete(ids, i, i+1)
			},
			"delete many": func(t *rapid.T) {
				if len(ids) == 0 {
					t.Skip()
				}
				from := rapid.IntRange(0, len(ids)-1).Draw(t, "from")
				to := min(len(ids), from+rapid.IntRange(1, 500).Draw(t, "number"))
				change(func(tx *docstore.Tx) error {
					_, err := notes.DeleteWhere(ctx, tx, docstore.IDs(ids[from:to]...))
					return err
				})
				ids = slices.Delete(ids, from, to)
			},
			"open again": func(t *rapid.T) {
				store, err = docstore.Open(ctx, db, nil, notes)
				require.NoError(t, err)
			},
			"change as a version without positions": func(t *rapid.T) {
				if len(ids) == 0 || db.Dialect() != sqldb.SQLite {
					t.Skip()
				}
				i := rapid.IntRange(0, len(ids)-1).Draw(t, "deleted")
				change(func(tx *docstore.Tx) error {
					if _, err := tx.SQL().Exec(ctx, "DROP TRIGGER {last__notes__gaps}"); err != nil {
						return err
					}
					return notes.Delete(ctx, tx, ids[i])
				})
				ids = slices.Delete(ids, i, i+1)
				store, err = docstore.Open(ctx, db, nil, notes)
				require.NoError(t, err)
			},
			"change without the declaration": func(t *rapid.T) {
				plain := docstore.NewCollection[note]("notes")
				earlier, err := docstore.Open(ctx, db, nil, plain)
				require.NoError(t, err)
				docs := insert(t)
				require.NoError(t, earlier.Update(ctx, func(tx *docstore.Tx) error {
					if err := plain.InsertMany(ctx, tx, docs); err != nil {
						return err
					}
					return plain.Delete(ctx, tx, docs[0].ID)
				}))
				for _, d := range docs[1:] {
					ids = append(ids, d.ID)
				}
			},
			"": func(t *rapid.T) {
				n, err := notes.Count(ctx, store.Reader(), nil)
				require.NoError(t, err)
				require.Equal(t, len(ids), n)
				for _, offset := range []int{0, 1, len(ids) / 2, len(ids) - 1, len(ids), rapid.IntRange(0, len(ids)+10).Draw(t, "offset")} {
					offset = max(offset, 0)
					page, err := notes.Query(ctx, store.Reader(), docstore.Query[note]{Offset: offset, Limit: 3})
					require.NoError(t, err)
					var found []string
					for _, d := range page.Docs {
						found = append(found, d.ID)
					}
					from := min(offset, len(ids))
					want := ids[from:min(from+3, len(ids))]
					require.Equal(t, fmt.Sprint(want), fmt.Sprint(found), "offset %d of %d", offset, len(ids))
					require.Equal(t, from+3 < len(ids), page.Next != "")
				}
			},
		})
	})
}
