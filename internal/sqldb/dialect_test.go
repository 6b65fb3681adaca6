package sqldb

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNumberPlaceholders(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"are counted":                     {"a = ? AND b IN (?, ?)", "a = $1 AND b IN ($2, $3)"},
		"stay in literals":                {"'?' || ? || 'it''s ?'", "'?' || $1 || 'it''s ?'"},
		"stay in quoted identifiers":      {`"a?""b?" = ?`, `"a?""b?" = $1`},
		"stay in line comments":           {"-- ?\n?", "-- ?\n$1"},
		"stay in block comments":          {"/* ? */ ? /* ?", "/* ? */ $1 /* ?"},
		"stay in dollar quotes":           {"$$ ? $$ ? $tag$ ? $$ ? $tag$ ?", "$$ ? $$ $1 $tag$ ? $$ ? $tag$ $2"},
		"next to numbered ones":           {"$1 ?", "$1 $1"},
		"next to names with a dollar":     {"a$b$ = ? AND c$b$ = ?", "a$b$ = $1 AND c$b$ = $2"},
		"stay in an unterminated literal": {"? '?", "$1 '?"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, (&rewriter{dialect: Postgres}).translate(c.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRewriter_Names(t *testing.T) {
	for _, c := range []struct {
		dialect  Dialect
		names    Names
		in, want string
	}{
		{SQLite, Names{Prefix: "p_"}, `SELECT {a}.x, ? FROM {a}`, `SELECT "p_a".x, ? FROM "p_a"`},
		{SQLite, Names{}, `SELECT {a_B9}`, `SELECT "a_B9"`},
		{Postgres, Names{Schema: `s"?{a}`, Prefix: "p_"}, `{a} ? {.a} ?`, `"s""?{a}"."p_a" $1 "p_a" $2`},
		{Postgres, Names{Schema: "s"}, `'{a}' "{a}" -- {a}` + "\n" + `/* {a} */ {a}`, `'{a}' "{a}" -- {a}` + "\n" + `/* {a} */ "s"."a"`},
		{SQLite, Names{Prefix: "p_"}, `{ {} {.} {a b} {{a} {a`, `{ {} {.} {a b} {"p_a" {a`},
	} {
		if diff := cmp.Diff(c.want, (&rewriter{dialect: c.dialect, names: c.names}).rewrite(c.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.in, diff)
		}
	}
}

func TestSplitStatements(t *testing.T) {
	got := splitStatements("a; b ';' ;\n-- only; a comment\n; /* c */ ;; d -- e;\n")
	if diff := cmp.Diff([]string{"a", "b ';'", "d -- e;"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSegments_Lossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sql := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"?", "'",
			`"`, "$", "$$", "$a$", "--", "\n", "/*", "*/", ";", "a", "1", "é"})).
			Draw(t, "sql"), "")
		var b strings.Builder
		for part := range segments(sql) {
			b.WriteString(part)
		}
		if b.String() != sql {
			t.Fatalf("%q became %q", sql, b.String())
		}
	})
}

func TestRewriter_BoundsCache(t *testing.T) {
	r := &rewriter{dialect: Postgres}
	for i := range maxCachedTexts + 10 {
		sql := strings.Repeat("x", i) + "?"
		for range 2 {
			if got := r.rewrite(sql); got != strings.Repeat("x", i)+"$1" {
				t.Fatalf("%q", got)
			}
		}
	}
	if n := r.size.Load(); n != maxCachedTexts {
		t.Errorf("%d statements are cached", n)
	}
}
