package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/docstore"
)

func testConditions(t *testing.T, open Opener) {
	f := newFixture(t, open)
	age := func(n int) *int { return &n }
	f.insert("1", person{Login: "Ann", Age: age(30), Mails: []string{"ann@a", "A@b"}, Badge: "7"})
	f.insert("2", person{Login: "anton", Age: age(40), Mails: []string{"anton@a"}})
	f.insert("3", person{Login: "bob", Mails: []string{"bob@b", "x@b"}})
	f.insert("4", person{Login: "Zoë", Age: age(-5)})
	third, err := f.people.Get(f.ctx(), f.store.Reader(), "3")
	require.NoError(t, err)

	for name, c := range map[string]struct {
		cond docstore.Cond
		want []string
	}{
		"nothing selects all":            {nil, []string{"1", "2", "3", "4"}},
		"equal":                          {docstore.Eq("login", "ann"), []string{"1"}},
		"equal to nil is never":          {docstore.Eq("age", nil), nil},
		"equal integers":                 {docstore.Eq("age", int64(40)), []string{"2"}},
		"equal in a list of values":      {docstore.Eq("mails", "a@b"), []string{"1"}},
		"equal in a unique list":         {docstore.Eq("badge", "7"), []string{"1"}},
		"in":                             {docstore.In("login", "bob", "ann", "nobody"), []string{"1", "3"}},
		"in a list of values, each once": {docstore.In("mails", "bob@b", "x@b"), []string{"3"}},
		"in nothing":                     {docstore.In("login"), nil},
		"in nil":                         {docstore.In("login", nil), nil},
		"prefix":                         {docstore.Prefix("login", "an"), []string{"1", "2"}},
		"prefix is not a pattern":        {docstore.Prefix("login", "%"), nil},
		"empty prefix requires a value":  {docstore.Prefix("mails", ""), []string{"1", "2", "3"}},
		"prefix in a list of values":     {docstore.Prefix("mails", "a"), []string{"1", "2"}},
		"prefix with an accent":          {docstore.Prefix("login", "zoë"), []string{"4"}},
		"greater":                        {docstore.Gt("age", 30), []string{"2"}},
		"greater or equal":               {docstore.Ge("age", 30), []string{"1", "2"}},
		"less is numeric":                {docstore.Lt("age", 30), []string{"4"}},
		"less or equal":                  {docstore.Le("age", 30), []string{"1", "4"}},
		"greater is by bytes":            {docstore.Gt("plain", "Z"), []string{"2", "3", "4"}},
		"has a value":                    {docstore.NotNull("age"), []string{"1", "2", "4"}},
		"has a value in a list":          {docstore.NotNull("badge"), []string{"1"}},
		"all": {docstore.All(docstore.Ge("age", 30), docstore.Prefix("login", "a"), docstore.Eq("mails", "a@b")),
			[]string{"1"}},
		"all of nothing": {docstore.All(), []string{"1", "2", "3", "4"}},
		"any":            {docstore.Any(docstore.Eq("login", "ann"), docstore.Eq("mails", "x@b")), []string{"1", "3"}},
		"any of nothing": {docstore.Any(), nil},
		"any in all": {
			docstore.All(docstore.Any(docstore.Eq("login", "ann"), docstore.Eq("login", "bob")), docstore.NotNull("age")), []string{"1"}},
		"not":                     {docstore.Not(docstore.Ge("age", 30)), []string{"3", "4"}},
		"not in a list of values": {docstore.Not(docstore.Eq("mails", "x@b")), []string{"1", "2", "4"}},
		"not of nothing":          {docstore.Not(nil), nil},
		"ids":                     {docstore.IDs("4", "1", "x", "\x00", "\xff"), []string{"1", "4"}},
		"prefix of ids":           {docstore.Prefix(docstore.ID, "3"), []string{"3"}},
		"created":                 {docstore.Gt(docstore.Created, third.Created), []string{"4"}},
		"updated":                 {docstore.Le(docstore.Updated, third.Updated), []string{"1", "2", "3"}},
		"string that no document can have": {
			docstore.Any(docstore.Eq("login", "\xff"), docstore.Prefix("login", "\xff"), docstore.Eq("id", "\x00"), docstore.Prefix("id", "\x00")),
			nil},
		"more values than a power of two": {docstore.In("age", 1, 2, 3, 30, 40), []string{"1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.equal(c.want, f.walk(docstore.Query[person]{Where: c.cond}), "ids")
			n, err := f.people.Count(f.ctx(), f.store.Reader(), c.cond)
			require.NoError(t, err)
			require.Equal(t, len(c.want), n, "count")
		})
	}
	for name, cond := range map[string]docstore.Cond{
		"undeclared index":           docstore.Eq("nope", "x"),
		"undeclared index in In":     docstore.In("nope", "x"),
		"column without an index":    docstore.NotNull("k_login"),
		"string for an integer":      docstore.Eq("age", "x"),
		"integer for a string":       docstore.Eq("login", 1),
		"a prefix of integers":       docstore.Prefix("age", "1"),
		"a number that does not fit": docstore.Eq("age", uint64(math.MaxUint64)),
		"too long a list":            docstore.In("age", slices.Repeat([]any{1}, docstore.MaxList+1)...),
	} {
		t.Run(name+" is an error", func(t *testing.T) {
			_, err := f.people.Count(f.ctx(), f.store.Reader(), docstore.All(docstore.Not(cond)))
			require.ErrorContains(t, err, "people: ")
		})
	}
	t.Run("agree with Go on random documents", func(t *testing.T) { testRandomConditions(t, open) })
}

// testRandomConditions compares random conditions with the same comparisons in Go.
func testRandomConditions(t *testing.T, open Opener) {
	f := newFixture(t, open)
	text := rapid.StringOfN(rapid.SampledFrom([]rune("aAb\x00\x01\x02é\uD7FF\uE000\U0010FFFF%_")), 0, 3, -1)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		f.update(func(tx *docstore.Tx) error { _, err := f.people.DeleteWhere(f.ctx(), tx, nil); return err })
		stored := map[string]person{}
		for i := range rapid.IntRange(0, 6).Draw(rt, "documents") {
			n++
			p := person{Login: fmt.Sprint(n), Groups: rapid.SliceOfN(text, 0, 3).Draw(rt, "groups")}
			if rapid.Bool().Draw(rt, "aged") {
				p.Age = new(rapid.IntRange(-2, 2).Draw(rt, "age"))
			}
			id := fmt.Sprint(i)
			stored[id] = p
			f.insert(id, p)
		}
		cond, holds := drawCond(rt, text, 2)
		want := []string{}
		for id, p := range stored {
			if holds(p) {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		got := f.walk(docstore.Query[person]{Where: cond, Limit: 2})
		if !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

// drawCond generates a condition and the equivalent Go function.
func drawCond(rt *rapid.T, text *rapid.Generator[string], depth int) (docstore.Cond, func(person) bool) {
	someGroup := func(test func(string) bool) func(person) bool {
		return func(p person) bool { return slices.ContainsFunc(p.Groups, test) }
	}
	kinds := []string{"eq", "gt", "ge", "lt", "le", "prefix", "in", "notnull", "age"}
	if depth > 0 {
		kinds = append(kinds, "all", "any", "not")
	}
	kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
	switch kind {
	case "all", "any":
		x, holdsX := drawCond(rt, text, depth-1)
		y, holdsY := drawCond(rt, text, depth-1)
		if kind == "all" {
			return docstore.All(x, y), func(p person) bool { return holdsX(p) && holdsY(p) }
		}
		return docstore.Any(x, y), func(p person) bool { return holdsX(p) || holdsY(p) }
	case "not":
		x, holds := drawCond(rt, text, depth-1)
		return docstore.Not(x), func(p person) bool { return !holds(p) }
	case "notnull":
		return docstore.NotNull("groups"), func(p person) bool { return len(p.Groups) > 0 }
	case "age":
		n := rapid.IntRange(-2, 2).Draw(rt, "n")
		return docstore.Gt("age", n), func(p person) bool { return p.Age != nil && *p.Age > n }
	case "in":
		values := rapid.SliceOfN(text, 0, 3).Draw(rt, "values")
		return docstore.In("groups", list(values, same)...), someGroup(func(s string) bool { return slices.Contains(values, s) })
	}
	v := text.Draw(rt, "value")
	switch kind {
	case "eq":
		return docstore.Eq("groups", v), someGroup(func(s string) bool { return s == v })
	case "gt":
		return docstore.Gt("groups", v), someGroup(func(s string) bool { return s > v })
	case "ge":
		return docstore.Ge("groups", v), someGroup(func(s string) bool { return s >= v })
	case "lt":
		return docstore.Lt("groups", v), someGroup(func(s string) bool { return s < v })
	case "le":
		return docstore.Le("groups", v), someGroup(func(s string) bool { return s <= v })
	}
	return docstore.Prefix("groups", v), someGroup(func(s string) bool { return strings.HasPrefix(s, v) })
}

func testHostileText(t *testing.T, open Opener) {
	f := newFixture(t, open)
	long := strings.Repeat("ä", 3000)
	logins := []string{"a\x00b", "a\x01b", "'; DROP TABLE people; --", `"?`, "$1", "\\", "￿", "\U0010FFFF", long, long + "x", long[:998], "%",
		"_"}
	for i, login := range logins {
		f.insert(fmt.Sprint(i), person{Login: login})
	}
	for i, login := range logins {
		id := fmt.Sprint(i)
		f.equal([]string{id}, f.walk(docstore.Query[person]{Where: docstore.Eq("plain", login)}), fmt.Sprintf("equal to %.20q", login))
		got := f.walk(docstore.Query[person]{Where: docstore.Prefix("plain", login)})
		require.Contains(t, got, id, "prefix %.20q", login)
		require.Contains(t, f.walk(docstore.Query[person]{Where: docstore.Ge("plain", login)}), id)
		require.Contains(t, f.walk(docstore.Query[person]{Where: docstore.Le("plain", login)}), id)
	}
	t.Run("conditions on long strings miss no document", func(t *testing.T) {
		for _, x := range logins {
			for i, y := range logins {
				id := fmt.Sprint(i)
				for _, c := range []struct {
					cond  docstore.Cond
					holds bool
				}{
					{docstore.Gt("plain", x), y > x},
					{docstore.Lt("plain", x), y < x},
					{docstore.Prefix("plain", x), strings.HasPrefix(y, x)},
				} {
					n, err := f.people.Count(f.ctx(), f.store.Reader(), docstore.All(docstore.IDs(id), c.cond))
					require.NoError(t, err)
					if c.holds || docstore.Exact(x) {
						require.Equal(t, c.holds, n == 1, "%.20q and %.20q", x, y)
					}
				}
			}
		}
	})
	t.Run("Not and DeleteWhere reject inexact conditions", func(t *testing.T) {
		for _, cond := range []docstore.Cond{docstore.Prefix("plain", long), docstore.Lt("plain", long)} {
			_, err := f.people.Count(f.ctx(), f.store.Reader(), docstore.Not(cond))
			require.ErrorContains(t, err, "too long")
			require.ErrorContains(t, f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
				_, err := f.people.DeleteWhere(f.ctx(), tx, cond)
				return err
			}), "too long")
		}
	})
	t.Run("strings that are not UTF-8 are rejected", func(t *testing.T) {
		_, err := f.tryInsert("x", person{Login: "\xff"})
		require.ErrorContains(t, err, "UTF-8")
	})
}
