package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// numberedNote is a document of testNumbered. The test changes the text.
type numberedNote struct {
	id, text string
	seq      int64
}

// testNumbered compares the documents of a Numbered collection with a list, after random changes: documents with ids of the store, with ids
// of the caller, and of a version without numbered ids.
func testNumbered(t *testing.T, open Opener) {
	db := open(t)
	if db.Dialect() != sqldb.SQLite {
		notes := docstore.NewCollection[note]("notes").Numbered()
		store, err := docstore.Open(t.Context(), db, nil, notes)
		require.NoError(t, err)
		require.False(t, docstore.AssignsIDs(notes))
		err = store.Update(t.Context(), func(tx *docstore.Tx) error {
			_, err := notes.Insert(t.Context(), tx, "", note{})
			return err
		})
		require.ErrorIs(t, err, docstore.ErrBadID)
		return
	}
	rounds := 0
	rapid.Check(t, func(t *rapid.T) {
		rounds++
		name := fmt.Sprint("notes", rounds)
		plain := docstore.NewCollection[note](name)
		notes := docstore.NewCollection[note](name).Numbered()
		ctx := context.Background()
		var all []numberedNote
		last, made := int64(0), 0
		store, err := docstore.Open(ctx, db, nil, plain)
		require.NoError(t, err)
		insert := func(in docstore.Collection[note], id string) {
			made++
			var doc docstore.Doc[note]
			require.NoError(t, store.Update(ctx, func(tx *docstore.Tx) (err error) {
				doc, err = in.Insert(ctx, tx, id, note{fmt.Sprint(made)})
				return err
			}))
			require.Greater(t, doc.Seq(), last, "a number is not used twice")
			last = doc.Seq()
			if id != "" {
				require.Equal(t, id, doc.ID)
			}
			all = append(all, numberedNote{doc.ID, doc.Value.Text, doc.Seq()})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "documents of an earlier version") {
			insert(plain, fmt.Sprint("earlier", i))
		}
		reopen := func(t *rapid.T) {
			store, err = docstore.Open(ctx, db, nil, notes)
			require.NoError(t, err)
		}
		reopen(t)
		require.True(t, docstore.AssignsIDs(notes))
		// chosen returns an id as a caller may choose it.
		chosen := func(t *rapid.T) string {
			form := rapid.SampledFrom([]string{"%d", "0000-%d", "00000000-%04d-8abc-8abc-abcdefabcdef", "00000000-%04d-7abc-8abc-abcdefabcdef",
				"ffffffff-%04d-8abc-8abc-abcdefabcdef", "00000000-%04d-8abc-8abc-abcdefabcdeF"}).Draw(t, "form")
			return fmt.Sprintf(form, rapid.IntRange(0, 12).Draw(t, "number"))
		}
		pick := func(t *rapid.T) int {
			if len(all) == 0 {
				t.Skip()
			}
			return rapid.IntRange(0, len(all)-1).Draw(t, "document")
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(*rapid.T) { insert(notes, "") },
			"insert with an id": func(t *rapid.T) {
				id := chosen(t)
				if !slices.ContainsFunc(all, func(n numberedNote) bool { return n.id == id }) {
					insert(notes, id)
				}
			},
			"insert with a used id": func(t *rapid.T) {
				id := all[pick(t)].id
				err := store.Update(ctx, func(tx *docstore.Tx) error {
					_, err := notes.Insert(ctx, tx, id, note{"again"})
					return err
				})
				unique, ok := errors.AsType[*docstore.UniqueError](err)
				require.True(t, ok, "%v", err)
				require.Equal(t, docstore.ID, unique.Index)
			},
			"insert and roll back": func(t *rapid.T) {
				discard := errors.New("discard")
				err := store.Update(ctx, func(tx *docstore.Tx) error {
					if _, err := notes.Insert(ctx, tx, fmt.Sprint("discarded", made), note{}); err != nil {
						return err
					}
					return discard
				})
				require.ErrorIs(t, err, discard)
			},
			"delete": func(t *rapid.T) {
				i := pick(t)
				change := func(tx *docstore.Tx) error { return notes.Delete(ctx, tx, all[i].id) }
				if rapid.Bool().Draw(t, "by condition") {
					change = func(tx *docstore.Tx) error {
						n, err := notes.DeleteWhere(ctx, tx, docstore.IDs(all[i].id, "unknown"))
						require.Equal(t, 1, n)
						return err
					}
				}
				require.NoError(t, store.Update(ctx, change))
				all = slices.Delete(all, i, i+1)
			},
			"update": func(t *rapid.T) {
				i := pick(t)
				all[i].text += "+"
				require.NoError(t, store.Update(ctx, func(tx *docstore.Tx) error {
					_, err := notes.Update(ctx, tx, all[i].id, 0, note{all[i].text})
					return err
				}))
			},
			"open": reopen,
			"":     func(t *rapid.T) { equalNotes(t, store, notes, all, chosen(t)) },
		})
	})
}

// equalNotes compares the documents with a list, in each way to read documents by id.
func equalNotes(t *rapid.T, store *docstore.Store, notes docstore.Collection[note], all []numberedNote, other string) {
	ctx := context.Background()
	n, err := notes.Count(ctx, store.Reader(), nil)
	require.NoError(t, err)
	require.Equal(t, len(all), n)
	ids := []string{other}
	for _, want := range all {
		doc, err := notes.Get(ctx, store.Reader(), want.id)
		require.NoError(t, err)
		require.Equal(t, want, numberedNote{doc.ID, doc.Value.Text, doc.Seq()})
		ids = append(ids, want.id)
	}
	if !slices.ContainsFunc(all, func(n numberedNote) bool { return n.id == other }) {
		_, err := notes.Get(ctx, store.Reader(), other)
		require.ErrorIs(t, err, docstore.ErrNotFound)
	}
	many, err := notes.GetMany(ctx, store.Reader(), ids)
	require.NoError(t, err)
	require.Len(t, many, len(all))
	for _, desc := range []bool{false, true} {
		want := slices.SortedFunc(slices.Values(all), func(a, b numberedNote) int {
			if desc {
				a, b = b, a
			}
			return strings.Compare(a.id, b.id)
		})
		offset := min(rapid.IntRange(0, 3).Draw(t, "offset"), len(want))
		if from := rapid.SampledFrom(append(ids, "", "00000000-0003", "~")).Draw(t, "from"); rapid.Bool().Draw(t, "positioned") {
			i := slices.IndexFunc(want, func(n numberedNote) bool { return (n.id < from) == desc && n.id != from })
			if i < 0 {
				i = len(want)
			}
			seq := int64(0)
			if desc {
				seq = 1 << 62
			}
			if at := slices.IndexFunc(all, func(n numberedNote) bool { return n.id == from }); at >= 0 {
				seq = all[at].seq
			}
			page, err := notes.Query(ctx, store.Reader(), docstore.Query[note]{OrderBy: docstore.ID, Desc: desc, Limit: 2,
				From: &docstore.Position{Key: from, Seq: seq}})
			require.NoError(t, err)
			require.Equal(t, notesOf(want[i:min(i+2, len(want))]), docsOf(page.Docs), "after %q", from)
		}
		var got []string
		for q := (docstore.Query[note]{OrderBy: docstore.ID, Desc: desc, Limit: 2, Offset: offset}); ; q.Offset = 0 {
			page, err := notes.Query(ctx, store.Reader(), q)
			require.NoError(t, err)
			got = append(got, docsOf(page.Docs)...)
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		require.Equal(t, notesOf(want[offset:]), got)
	}
}

func notesOf(all []numberedNote) (ids []string) {
	for _, n := range all {
		ids = append(ids, n.id)
	}
	return ids
}

func docsOf(all []docstore.Doc[note]) (ids []string) {
	for _, d := range all {
		ids = append(ids, d.ID)
	}
	return ids
}
