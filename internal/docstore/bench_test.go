package docstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// account is a document of ordinary size with ordinary indexes.
type account struct {
	UserName   string   `json:"userName"`
	ExternalID string   `json:"externalId"`
	Name       string   `json:"name"`
	Mails      []string `json:"mails"`
	Active     bool     `json:"active"`
}

const accounts = 10_000

func newAccounts() docstore.Collection[account] {
	return docstore.NewCollection("accounts",
		docstore.Index[account]{Name: "userName", Unique: true, Values: func(a *account) []any { return []any{strings.ToLower(a.UserName)} }},
		docstore.Index[account]{Name: "externalId", Values: func(a *account) []any { return []any{a.ExternalID} }},
		docstore.Index[account]{Name: "mails", Multi: true, Values: func(a *account) []any { return []any{a.Mails[0]} }},
	)
}

func newAccount(i int) account {
	return account{
		UserName:   fmt.Sprintf("User%07d@example.com", i),
		ExternalID: fmt.Sprintf("00u%07d", i),
		Name:       "Barbara Jane Jensen",
		Mails:      []string{fmt.Sprintf("user%07d@example.com", i)},
		Active:     true,
	}
}

// benchmark runs fn on a store with accounts on both databases. Commits wait for the disk.
func benchmark(b *testing.B, fn func(b *testing.B, s *docstore.Store, c docstore.Collection[account])) {
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		c := newAccounts()
		s, err := docstore.Open(b.Context(), db, nil, c)
		require.NoError(b, err)
		require.NoError(b, s.Update(b.Context(), func(tx *docstore.Tx) error {
			for i := range accounts {
				if _, err := c.Insert(b.Context(), tx, fmt.Sprint(i), newAccount(i)); err != nil {
					return err
				}
			}
			return nil
		}))
		require.NoError(b, s.Update(b.Context(), func(tx *docstore.Tx) error {
			_, err := tx.SQL().Exec(b.Context(), "ANALYZE") // PostgreSQL runs ANALYZE automatically, but not before the benchmark starts
			return err
		}))
		b.ReportAllocs()
		b.ResetTimer()
		fn(b, s, c)
	}, sqldbtest.Durable)
}

func BenchmarkGet(b *testing.B) {
	benchmark(b, func(b *testing.B, s *docstore.Store, c docstore.Collection[account]) {
		for i := 0; b.Loop(); i++ {
			if _, err := c.Get(b.Context(), s.Reader(), fmt.Sprint(i%accounts)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkQueryByIndex(b *testing.B) {
	for _, query := range []struct {
		name string
		cond func(i int) docstore.Cond
	}{
		{"single", func(i int) docstore.Cond { return docstore.Eq("userName", fmt.Sprintf("user%07d@example.com", i)) }},
		{"multi", func(i int) docstore.Cond { return docstore.Eq("mails", fmt.Sprintf("user%07d@example.com", i)) }},
		{"prefix", func(i int) docstore.Cond { return docstore.Prefix("externalId", fmt.Sprintf("00u%06d", i/10)) }},
	} {
		b.Run(query.name, func(b *testing.B) {
			benchmark(b, func(b *testing.B, s *docstore.Store, c docstore.Collection[account]) {
				for i := 0; b.Loop(); i++ {
					page, err := c.Query(b.Context(), s.Reader(), docstore.Query[account]{Where: query.cond(i % accounts)})
					if err != nil || len(page.Docs) == 0 {
						b.Fatal(err, len(page.Docs))
					}
				}
			})
		})
	}
}

// BenchmarkFarPage reads a page of 100 from the middle of the collection, by cursor.
func BenchmarkFarPage(b *testing.B) {
	benchmark(b, func(b *testing.B, s *docstore.Store, c docstore.Collection[account]) {
		middle, err := c.Query(b.Context(), s.Reader(), docstore.Query[account]{OrderBy: "userName", Offset: accounts / 2, Limit: 1})
		require.NoError(b, err)
		for b.Loop() {
			page, err := c.Query(b.Context(), s.Reader(), docstore.Query[account]{OrderBy: "userName", After: middle.Next, Limit: 100})
			if err != nil || len(page.Docs) != 100 {
				b.Fatal(err, len(page.Docs))
			}
		}
	})
}

func BenchmarkInsert(b *testing.B) {
	insert := func(b *testing.B, s *docstore.Store, c docstore.Collection[account], i int) {
		err := s.Update(b.Context(), func(tx *docstore.Tx) error {
			_, err := c.Insert(b.Context(), tx, fmt.Sprint(i), newAccount(i))
			return err
		})
		if err != nil {
			b.Error(err)
		}
	}
	b.Run("serial", func(b *testing.B) {
		benchmark(b, func(b *testing.B, s *docstore.Store, c docstore.Collection[account]) {
			for i := accounts; b.Loop(); i++ {
				insert(b, s, c, i)
			}
		})
	})
	b.Run("parallel8", func(b *testing.B) {
		benchmark(b, func(b *testing.B, s *docstore.Store, c docstore.Collection[account]) {
			var next atomic.Int64
			next.Store(accounts)
			b.SetParallelism(4) // times GOMAXPROCS
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					insert(b, s, c, int(next.Add(1)))
				}
			})
		})
	})
}
