package docstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// person is a document whose reads are cached; tie relates persons to groups.
type person struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

type tie struct {
	To string `json:"to"`
}

// recentStore has a collection with cached reads and a relation.
type recentStore struct {
	*docstore.Store
	persons docstore.Collection[person]
	ties    docstore.Collection[tie]
	link    *docstore.Link
}

func openRecent(t *testing.T, db *sqldb.DB) recentStore {
	t.Helper()
	s := recentStore{
		persons: docstore.NewCollection("persons",
			docstore.Index[person]{Name: "name", Unique: true, Values: func(p *person) []any { return []any{p.Name} }},
			docstore.Index[person]{Name: "words", Multi: true, Values: func(p *person) []any { return []any{p.Name, "x"} }},
		).Positioned().CachedReads(),
		ties: docstore.NewCollection("ties", docstore.Index[tie]{Name: "to", Values: func(v *tie) []any { return []any{v.To} }}),
	}
	s.link = docstore.NewLink(s.ties, "to")
	var err error
	s.Store, err = docstore.Open(t.Context(), db, nil, s.persons, s.ties)
	require.NoError(t, err)
	return s
}

// insert stores a person and caches it, with the link unless it is nil.
func (s recentStore) insert(ctx context.Context, tx *docstore.Tx, id string, value person, link *docstore.Link) error {
	p, err := docstore.Prepare(s.persons, value)
	if err != nil {
		return err
	}
	doc, err := docstore.InsertPrepared(ctx, s.persons, tx, id, p)
	if err == nil {
		docstore.Remember(s.persons, tx, doc, p, link)
	}
	return err
}

// seen is what a read returns.
type seen struct {
	ID, Text string
	Rev, Seq int64
	Linked   []string
}

func seenOf(d *docstore.Raw) seen {
	linked, _ := d.Linked()
	return seen{d.ID, string(d.JSON), d.Rev, d.Seq, linked}
}

// reads returns what the reads that may use the cache return for all persons.
func (s recentStore) reads(t *testing.T, q docstore.Reader, ids, names []string) (all []seen) {
	t.Helper()
	for _, id := range ids {
		for _, link := range []*docstore.Link{nil, s.link} {
			err := docstore.TextsOf(s.persons).Get(t.Context(), q, id, link, 0, func(d *docstore.Raw) error {
				all = append(all, seenOf(d))
				return nil
			})
			if !errors.Is(err, docstore.ErrNotFound) {
				require.NoError(t, err)
			}
		}
	}
	take := func(d *docstore.Raw) (bool, error) {
		all = append(all, seenOf(d))
		return true, nil
	}
	for _, name := range names {
		query := docstore.RawQuery{Where: docstore.Eq("name", name), Limit: 2, Link: s.link}
		_, err := docstore.TextsOf(s.persons).Query(t.Context(), q, query, take)
		require.NoError(t, err)
	}
	for _, from := range []int64{0, 3} {
		page, err := docstore.TextsOf(s.persons).Query(t.Context(), q,
			docstore.RawQuery{From: &docstore.Position{Seq: from}, Limit: 10, Link: s.link}, take)
		require.NoError(t, err)
		all = append(all, seen{Text: fmt.Sprint(page.More, page.Next)})
	}
	return all
}

// TestCachedReads_EqualQueries changes documents and relations at random, by two stores of one file and by statements, and compares the
// cached reads of the first store with the same reads of a snapshot, which no cache serves.
func TestCachedReads_EqualQueries(t *testing.T) {
	path := "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	var stores []recentStore
	for range 2 {
		db, err := sqlopen.Open(t.Context(), path, sqlopen.Options{NoSync: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		stores = append(stores, openRecent(t, db))
	}
	var ids, names []string
	for i := range 14 {
		ids, names = append(ids, fmt.Sprint("id", i)), append(names, fmt.Sprint("name", i))
	}
	random := rand.New(rand.NewPCG(1, 2))
	ctx, n := t.Context(), 0
	change := func(s recentStore) error {
		n++
		id, name := ids[random.IntN(len(ids))], names[random.IntN(len(names))]
		group := fmt.Sprint("group", random.IntN(3))
		return s.Update(ctx, func(tx *docstore.Tx) error {
			switch random.IntN(10) {
			case 0, 1, 2:
				return s.insert(ctx, tx, id, person{name, n}, nil)
			case 3, 4:
				_, err := s.persons.Update(ctx, tx, id, 0, person{name, n})
				return err
			case 5:
				return s.persons.Delete(ctx, tx, id)
			case 6:
				_, err := s.ties.Insert(ctx, tx, docstore.JoinID(group, id), tie{id})
				return err
			case 7:
				_, err := s.ties.DeleteWhere(ctx, tx, docstore.IDs(docstore.JoinID(group, id)))
				return err
			case 8:
				_, err := s.ties.DeleteWhere(ctx, tx, docstore.Eq("to", id))
				return err
			default:
				_, err := tx.SQL().Exec(ctx, "UPDATE {persons} SET rev = rev + 1 WHERE id = ?", id)
				return err
			}
		})
	}
	hit := 0
	for range 600 {
		writer := stores[0]
		if random.IntN(4) == 0 {
			writer = stores[1]
		}
		_ = change(writer) // many fail, for example because the id is taken
		for range 1 + random.IntN(2) {
			for _, id := range ids {
				if rows := sqldb.Rows(stores[0].Reader()); rows.Get(rows.Key("id", id), nil, func([]byte) bool { return true }) {
					hit++
				}
			}
			var want []seen
			require.NoError(t, stores[0].View(ctx, func(q docstore.Reader) error {
				want = stores[0].reads(t, q, ids, names)
				return nil
			}))
			require.Equal(t, want, stores[0].reads(t, stores[0].Reader(), ids, names), "after change %d", n)
		}
	}
	require.Greater(t, hit, 1000, "the cache was used")
}

// TestCachedReads_OneCommit makes random changes of few documents and their relations in common commits. It compares the cached reads after
// each commit with those of a snapshot, and Link.Any in the changes with a query.
func TestCachedReads_OneCommit(t *testing.T) {
	s := openRecent(t, sqldbtest.SQLite(t))
	ctx, random := t.Context(), rand.New(rand.NewPCG(3, 4))
	ids, names := []string{"a", "b", "c"}, []string{"a", "b", "c"}
	for i, id := range ids {
		require.NoError(t, s.Update(ctx, func(tx *docstore.Tx) error { return s.insert(ctx, tx, id, person{id, i}, s.link) }))
	}
	change := func(tx *docstore.Tx, what int, id, group string, n int) error {
		for _, of := range ids {
			want, err := s.ties.Count(ctx, tx, docstore.Eq("to", of))
			if err != nil {
				return err
			}
			if found, err := s.link.Any(ctx, tx, s.persons, of); err != nil || found != (want > 0) {
				t.Errorf("Any(%s) before change %d: %t, %v; %d relations", of, n, found, err, want)
			}
		}
		var err error
		switch what {
		case 0:
			_, err = s.ties.Insert(ctx, tx, docstore.JoinID(group, id), tie{id})
		case 1:
			_, err = s.ties.DeleteWhere(ctx, tx, docstore.IDs(docstore.JoinID(group, id)))
		case 2:
			if err = s.persons.Delete(ctx, tx, id); err == nil {
				_, err = s.persons.Insert(ctx, tx, id, person{id, n})
			}
		default:
			_, err = s.persons.Update(ctx, tx, id, 0, person{id, n})
		}
		return err
	}
	renewed := 0
	for round := range 200 {
		started, together := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			if err := s.Update(ctx, func(*docstore.Tx) error { // while it runs, the other updates wait for its commit
				close(started)
				<-together
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		<-started
		var begun sync.WaitGroup
		for i := range 4 {
			what, id, group := random.IntN(8), ids[random.IntN(len(ids))], fmt.Sprint("group", random.IntN(2))
			begun.Add(1)
			all.Go(func() {
				begun.Done()
				_ = s.Update(ctx, func(tx *docstore.Tx) error { return change(tx, what, id, group, 4*round+i) }) // a relation may exist already
			})
		}
		begun.Wait()
		close(together)
		all.Wait()
		var want []seen
		for _, id := range ids {
			if _, ok := docstore.TextsOf(s.persons).RecallLinked(s.Reader(), id, s.link); ok {
				renewed++
			}
		}
		require.NoError(t, s.View(ctx, func(q docstore.Reader) error {
			want = s.reads(t, q, ids, names)
			return nil
		}))
		require.Equal(t, want, s.reads(t, s.Reader(), ids, names), "after round %d", round)
	}
	require.Greater(t, renewed, 200, "updates replace cached documents")
}

// TestCachedReads_SeeAcknowledgedWrites reads a document after each of its updates, while other documents are updated and read.
func TestCachedReads_SeeAcknowledgedWrites(t *testing.T) {
	s := openRecent(t, sqldbtest.SQLite(t))
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			id := fmt.Sprint("id", w)
			write := func(n int) error {
				return s.Update(t.Context(), func(tx *docstore.Tx) error {
					if n > 0 {
						_, err := s.persons.Update(t.Context(), tx, id, 0, person{id, n})
						return err
					}
					return s.insert(t.Context(), tx, id, person{id, n}, nil)
				})
			}
			for n := range 150 {
				if err := write(n); err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					doc, err := s.persons.Get(t.Context(), s.Reader(), id)
					if err != nil || doc.Value.N != n || doc.Rev != int64(n)+1 {
						t.Errorf("%s after update %d: %+v, %v", id, n, doc, err)
						return
					}
				}
				other := fmt.Sprint("id", (w+1)%8)
				if _, err := s.persons.Get(t.Context(), s.Reader(), other); err != nil && !errors.Is(err, docstore.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestCachedReads_NeedNoQuery reads with a canceled context, with which a query fails.
func TestCachedReads_NeedNoQuery(t *testing.T) {
	s := openRecent(t, sqldbtest.SQLite(t))
	require.NoError(t, s.Update(t.Context(), func(tx *docstore.Tx) error {
		_, err := s.persons.Insert(t.Context(), tx, "a", person{"ann", 1})
		return err
	}))
	get := func(ctx context.Context) error {
		_, err := docstore.GetLinked(ctx, s.persons, s.Reader(), "a", s.link)
		return err
	}
	require.NoError(t, get(t.Context()))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, get(canceled), "a query would fail with this context")
	require.NoError(t, s.Update(t.Context(), func(tx *docstore.Tx) error {
		_, err := s.ties.Insert(t.Context(), tx, docstore.JoinID("g", "a"), tie{"a"})
		return err
	}))
	require.ErrorIs(t, get(canceled), context.Canceled, "a new relation changes the document")
}
