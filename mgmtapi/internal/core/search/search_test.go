package search_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
	"github.com/scimwright/scimwright/scim/filter"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

type thing struct {
	Name string    `json:"name"`
	Seen time.Time `json:"seen,omitzero"`
}

// For a query with Exact, the condition Where alone selects the same documents as the expression. Times are compared to the millisecond.
func TestExactConditions(t *testing.T) {
	things := docstore.NewCollection("things",
		docstore.Index[thing]{Name: "name", Values: func(v *thing) []any { return present(v.Name, v.Name == "") }},
		docstore.Index[thing]{Name: "folded", Values: func(v *thing) []any { return present(filter.Fold(v.Name), v.Name == "") }},
		docstore.Index[thing]{Name: "seen", Kind: docstore.Int, Values: func(v *thing) []any { return present(v.Seen, v.Seen.IsZero()) }},
	)
	store, err := docstore.Open(t.Context(), sqldbtest.SQLite(t), time.Now, things)
	require.NoError(t, err)
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	require.NoError(t, store.Update(t.Context(), func(tx *docstore.Tx) error {
		for i, name := range []string{"", "a", "A", "b"} {
			for at := -1; at <= 8; at++ {
				v := thing{Name: name}
				if at >= 0 {
					v.Seen = begin.Add(time.Duration(at) * 250 * time.Millisecond)
				}
				if _, err := things.Insert(t.Context(), tx, string(rune('a'+i))+string(rune('a'+at+1)), v); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	name := func(d *docstore.Doc[thing]) []any { return []any{d.Value.Name} }
	language := search.Language[thing]{
		"name":   {Operators: search.Contains, Index: "name", Values: name},
		"folded": {Operators: search.Contains, Index: "folded", Key: filter.Fold, Values: name},
		"seen": {Operators: search.Moments, Time: true, Index: "seen", Values: func(d *docstore.Doc[thing]) []any {
			return []any{d.Value.Seen}
		}},
	}
	found := func(ctx context.Context, t require.TestingT, query docstore.Query[thing]) (ids []string) {
		query.Limit = 1000
		page, err := things.Query(ctx, store.Reader(), query)
		require.NoError(t, err)
		for _, doc := range page.Docs {
			ids = append(ids, doc.ID)
		}
		return ids
	}
	exact, ctx := 0, t.Context()
	rapid.Check(t, func(t *rapid.T) {
		term := rapid.Custom(func(t *rapid.T) string {
			at := begin.Add(time.Duration(rapid.IntRange(-2, 10).Draw(t, "at")) * 250 * time.Millisecond).Format(time.RFC3339Nano)
			return rapid.SampledFrom([]string{
				`seen eq "` + at + `"`, `seen gt "` + at + `"`, `seen ge "` + at + `"`, `seen lt "` + at + `"`, `seen le "` + at + `"`, "seen pr",
				`name eq "a"`, `name eq "b"`, `name pr`, `name eq ""`, `name sw "a"`, `folded eq "a"`,
			}).Draw(t, "term")
		})
		expression := term.Draw(t, "first") + rapid.SampledFrom([]string{" and ", " or "}).Draw(t, "with") + term.Draw(t, "second")
		query, err := language.Compile(expression)
		require.NoError(t, err)
		want := found(ctx, t, docstore.Query[thing]{Match: query.Match})
		require.Equal(t, want, found(ctx, t, docstore.Query[thing]{Where: query.Where, Match: query.Match}), "the condition selects a superset")
		if query.Exact {
			exact++
			require.Equal(t, want, found(ctx, t, docstore.Query[thing]{Where: query.Where}), "the condition is exact")
		}
	})
	require.Positive(t, exact)
}

func present(value any, missing bool) []any {
	if missing {
		return nil
	}
	return []any{value}
}
