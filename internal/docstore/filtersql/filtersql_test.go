package filtersql_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/docstore/filtersql"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// things is a resource type with an attribute of each data type. The attribute "other" has no index.
func things() *schema.ResourceType {
	return &schema.ResourceType{ID: "Thing", Name: "Thing", Endpoint: "/Things", Schema: &schema.Schema{
		ID: "urn:example:Thing",
		Attributes: []*schema.Attribute{
			{Name: "name", Type: schema.String},
			{Name: "code", Type: schema.String, CaseExact: true},
			{Name: "flag", Type: schema.Boolean},
			{Name: "num", Type: schema.Integer},
			{Name: "at", Type: schema.DateTime},
			{Name: "stamp", Type: schema.DateTime},
			{Name: "other", Type: schema.String},
			{Name: "mails", Type: schema.Complex, MultiValued: true, SubAttributes: []*schema.Attribute{
				{Name: "value", Type: schema.String},
				{Name: "type", Type: schema.String, CaseExact: true},
			}},
		},
	}}
}

func columns(p scim.AttrPath) (filtersql.Column, bool) {
	c, ok := map[string]filtersql.Column{
		"name":        {Index: "name", Fold: filter.Fold},
		"code":        {Index: "code"},
		"flag":        {Index: "flag", Kind: filtersql.Boolean},
		"num":         {Index: "num", Kind: filtersql.Integer},
		"at":          {Index: "at", Kind: filtersql.Time},
		"stamp":       {Index: "stamp", Kind: filtersql.Time, Whole: true},
		"mails.value": {Index: "mail", Fold: filter.Fold},
		"mails.type":  {Index: "mailType"},
	}[strings.ToLower(p.String())]
	return c, ok
}

func thingIndexes() []docstore.Index[scim.Resource] {
	text := func(name string, fold func(string) string) docstore.Index[scim.Resource] {
		return docstore.Index[scim.Resource]{Name: name, Values: func(r *scim.Resource) []any {
			if s, ok := r.Get(name); ok {
				return []any{fold(s.(string))}
			}
			return nil
		}}
	}
	number := func(name string, convert func(any) any) docstore.Index[scim.Resource] {
		return docstore.Index[scim.Resource]{Name: name, Kind: docstore.Int, Values: func(r *scim.Resource) []any {
			if v, ok := r.Get(name); ok {
				return []any{convert(v)}
			}
			return nil
		}}
	}
	mails := func(index, sub string, fold func(string) string) docstore.Index[scim.Resource] {
		return docstore.Index[scim.Resource]{Name: index, Multi: true, Values: func(r *scim.Resource) []any {
			var out []any
			for _, element := range r.Array("mails") {
				if v, ok := element.(*scim.Object).Get(sub); ok {
					out = append(out, fold(v.(string)))
				}
			}
			return out
		}}
	}
	same := func(s string) string { return s }
	instant := func(v any) any {
		t, err := schema.ParseDateTime(v.(string))
		if err != nil {
			panic(err)
		}
		return t
	}
	return []docstore.Index[scim.Resource]{
		text("name", filter.Fold), text("code", same),
		number("flag", func(v any) any { return v }),
		number("num", func(v any) any {
			n, err := v.(json.Number).Int64()
			if err != nil {
				panic(err)
			}
			return n
		}),
		number("at", instant), number("stamp", instant),
		mails("mail", "value", filter.Fold), mails("mailType", "type", same),
	}
}

// The generators choose from few values, so that random filters match random documents. Many of the strings fold or compare in unusual
// ways.
var (
	texts = rapid.OneOf(
		rapid.SampledFrom(
			[]string{"", "a", "A", "ab", "AB", "b", "ſ", "S", "s", "K", "k", "İ", "i", "ß", "ss", "é", "É", "Σ", "ς", "a\x00", "\x00", "a\x01",
				"\U0010FFFF", "%", "_", `"`, "\\"}),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "B"}), func(s string) string { return strings.Repeat("x", 1200) + s }),
	)
	numbers = rapid.SampledFrom([]string{"-1", "0", "1", "2", "9223372036854775807"})
	wholes  = rapid.SampledFrom(
		[]string{"2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.001Z", "1969-12-31T23:59:59.999Z"})
	times = rapid.OneOf(wholes,
		rapid.SampledFrom([]string{"2026-01-01T00:00:00.0005Z", "2026-01-01T00:00:00.0015Z", "1969-12-31T23:59:59.9995Z"}))
)

func drawThing(t *rapid.T) *scim.Resource {
	r := &scim.Resource{}
	maybe := func(name string, value func() any) {
		if rapid.Bool().Draw(t, name+" is present") {
			r.Set(name, value())
		}
	}
	for _, name := range []string{"name", "code", "other"} {
		maybe(name, func() any { return texts.Draw(t, name) })
	}
	maybe("flag", func() any { return rapid.Bool().Draw(t, "flag") })
	maybe("num", func() any { return json.Number(numbers.Draw(t, "num")) })
	maybe("at", func() any { return times.Draw(t, "at") })
	maybe("stamp", func() any { return wholes.Draw(t, "stamp") })
	maybe("mails", func() any {
		var list []any
		for range rapid.IntRange(0, 3).Draw(t, "mails") {
			mail := scim.NewObject()
			if rapid.Bool().Draw(t, "value is present") {
				mail.Set("value", texts.Draw(t, "value"))
			}
			if rapid.Bool().Draw(t, "type is present") {
				mail.Set("type", texts.Draw(t, "type"))
			}
			list = append(list, mail)
		}
		return list
	})
	return r
}

var operators = rapid.SampledFrom(
	[]filter.Op{filter.Eq, filter.Ne, filter.Co, filter.Sw, filter.Ew, filter.Gt, filter.Ge, filter.Lt, filter.Le})

func drawOperand(t *rapid.T) any {
	switch rapid.IntRange(0, 9).Draw(t, "operand") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return json.Number(rapid.OneOf(numbers, rapid.SampledFrom([]string{"1.0", "0.5", "1e0", "1e99"})).Draw(t, "number"))
	case 4, 5:
		return times.Draw(t, "time")
	case 6:
		return rapid.SampledFrom([]string{"true", "False"}).Draw(t, "boolean as string")
	}
	return texts.Draw(t, "text")
}

func drawFilter(t *rapid.T, depth int, paths []string) filter.Expr {
	kinds := []string{"compare", "compare", "present"}
	if depth > 0 {
		kinds = append(kinds, "and", "or", "not")
		if len(paths) > 2 {
			kinds = append(kinds, "element")
		}
	}
	path := func() scim.AttrPath {
		p, err := scim.ParseAttrPath(rapid.SampledFrom(paths).Draw(t, "path"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "and":
		return filter.And{X: drawFilter(t, depth-1, paths), Y: drawFilter(t, depth-1, paths)}
	case "or":
		return filter.Or{X: drawFilter(t, depth-1, paths), Y: drawFilter(t, depth-1, paths)}
	case "not":
		return filter.Not{X: drawFilter(t, depth-1, paths)}
	case "present":
		return filter.Present{Path: path()}
	case "element":
		e := filter.ValuePath{Path: scim.AttrPath{Name: "mails"}, Filter: drawFilter(t, depth-1, []string{"value", "type"})}
		if rapid.Bool().Draw(t, "with sub-attribute") {
			e.Sub, e.Op, e.Value = rapid.SampledFrom([]string{"value", "type"}).Draw(t, "sub"), operators.Draw(t, "op"), drawOperand(t)
		}
		return e
	}
	return filter.Compare{Path: path(), Op: operators.Draw(t, "op"), Value: drawOperand(t)}
}

func TestCompile_MissesNoDocument(t *testing.T) {
	rt := things()
	paths := []string{"name", "code", "flag", "num", "at", "stamp", "other", "mails.value", "mails.type", "nope", "mails"}
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		c := docstore.NewCollection("things", thingIndexes()...)
		store, err := docstore.Open(t.Context(), db, nil, c)
		require.NoError(t, err)
		exactOnes, narrow := 0, 0
		rapid.Check(t, func(t *rapid.T) {
			things := map[string]*scim.Resource{}
			require.NoError(t, store.Update(t.Context(), func(tx *docstore.Tx) error {
				if _, err := c.DeleteWhere(t.Context(), tx, nil); err != nil {
					return err
				}
				for i := range rapid.IntRange(1, 8).Draw(t, "things") {
					id := fmt.Sprint(i)
					things[id] = drawThing(t)
					if _, err := c.Insert(t.Context(), tx, id, *things[id]); err != nil {
						return err
					}
				}
				return nil
			}))
			for range 40 { // drawing a filter takes less time than storing documents, so each set of documents is tested with many filters
				e := drawFilter(t, 3, paths)
				cond, exact := filtersql.Compile(e, columns)
				page, err := c.Query(t.Context(), store.Reader(), docstore.Query[scim.Resource]{Where: cond})
				require.NoError(t, err, "%s", e)
				var selected []string
				for _, doc := range page.Docs {
					selected = append(selected, doc.ID)
				}
				for id, thing := range things {
					matches, isSelected := filter.Eval(e, thing, rt), slices.Contains(selected, id)
					if matches && !isSelected {
						t.Fatalf("%s misses %v", e, thing)
					}
					if exact && !matches && isSelected {
						t.Fatalf("%s claims to be exact and selects %v", e, thing)
					}
				}
				if exact {
					exactOnes++
				}
				if cond != nil {
					narrow++
				}
			}
		})
		t.Logf("%d filters were exact, %d narrowed", exactOnes, narrow)
		require.Positive(t, exactOnes)
		require.Greater(t, narrow, exactOnes)
	})
}

// TestCompile_ExactFilters checks which filters SQL evaluates exactly, narrows, or leaves to the evaluation of each document.
func TestCompile_ExactFilters(t *testing.T) {
	for text, want := range map[string]string{
		`name eq "x"`:                                   "exact",
		`name ne "x"`:                                   "exact",
		`not (name eq "x")`:                             "exact",
		`name sw "x"`:                                   "exact",
		`name co "x"`:                                   "narrow",
		`name ew "x"`:                                   "narrow",
		`name pr`:                                       "exact",
		`name eq null`:                                  "exact",
		`name gt "x"`:                                   "exact",
		`flag eq true`:                                  "exact",
		`num ge 3`:                                      "exact",
		`num eq 3.0`:                                    "all",
		`at gt "2026-01-01T00:00:00Z"`:                  "narrow",
		`stamp gt "2026-01-01T00:00:00Z"`:               "exact",
		`stamp eq "2026-01-01T00:00:00.0001Z"`:          "exact",
		`stamp gt "yesterday"`:                          "all",
		`other eq "x"`:                                  "all",
		`not (other eq "x")`:                            "all",
		`name eq "x" and code eq "y"`:                   "exact",
		`name eq "x" and other eq "y"`:                  "narrow",
		`name eq "x" or code eq "y"`:                    "exact",
		`name eq "x" or other eq "y"`:                   "all",
		`not (name co "x")`:                             "all",
		`mails.value eq "x"`:                            "exact",
		`mails[value eq "x"]`:                           "exact",
		`mails[value eq "x" or type eq "y"]`:            "exact",
		`mails[value eq "x" and type eq "y"]`:           "narrow",
		`mails[type eq "y"].value eq "x"`:               "narrow",
		`mails[not (value eq "x")]`:                     "all",
		`mails[value ne "x"]`:                           "all",
		`name sw "` + strings.Repeat("x", 1000) + `"`:   "narrow",
		`name eq "` + strings.Repeat("x", 1000) + `"`:   "exact",
		`(name eq "x" or name eq "y") and other co "z"`: "narrow",
	} {
		e, err := filter.Parse(text)
		require.NoError(t, err, text)
		cond, exact := filtersql.Compile(e, columns)
		got := map[bool]string{true: "all", false: "narrow"}[cond == nil]
		if exact {
			got = "exact"
		}
		require.Equal(t, want, got, text)
	}
}
