package filter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
)

func name(n string) scim.AttrPath      { return scim.AttrPath{Name: n} }
func dotted(n, s string) scim.AttrPath { return scim.AttrPath{Name: n, Sub: s} }
func eq(n string, v any) Compare       { return Compare{name(n), Eq, v} }

func TestParse(t *testing.T) {
	a, b, c := Present{name("a")}, Present{name("b")}, Present{name("c")}
	for _, test := range []struct {
		name, in string
		want     Expr
	}{
		{"a comparison", `userName eq "bjensen"`, eq("userName", "bjensen")},
		{"operators in any case", `userName Eq "bjensen"`, eq("userName", "bjensen")},
		{"a sub-attribute", `name.familyName co "O'Malley"`, Compare{dotted("name", "familyName"), Co, "O'Malley"}},
		{"a qualified name", `urn:ietf:params:scim:schemas:core:2.0:User:userName sw "J"`,
			Compare{scim.AttrPath{URN: scim.UserSchema, Name: "userName"}, Sw, "J"}},
		{"a qualified sub-attribute", scim.EnterpriseUserSchema + `:manager.value pr`,
			Present{scim.AttrPath{URN: scim.EnterpriseUserSchema, Name: "manager", Sub: "value"}}},
		{"presence", `title PR`, Present{name("title")}},
		{"true", `active eq true`, eq("active", true)},
		{"false", `active eq false`, eq("active", false)},
		{"null", `title eq null`, eq("title", nil)},
		{"a number", `n ge -1.5e3`, Compare{name("n"), Ge, json.Number("-1.5e3")}},
		{"escapes", `t eq "a\"\\\/\b\f\n\r\té😀"`, eq("t", "a\"\\/\b\f\n\r\té😀")},
		{"brackets in a string", `t eq "a) or (b]"`, eq("t", "a) or (b]")},
		{"and binds before or", `a pr or b pr and c pr`, Or{a, And{b, c}}},
		{"and binds before or, reversed", `a pr and b pr or c pr`, Or{And{a, b}, c}},
		{"parentheses first", `(a pr or b pr) and c pr`, And{Or{a, b}, c}},
		{"chains group from the left", `a pr and b pr and c pr`, And{And{a, b}, c}},
		{"not before and", `not (a pr) and b pr`, And{Not{a}, b}},
		{"not without a space", `not(a pr)`, Not{a}},
		{"keywords in any case", `NOT (a pr) AND b pr Or c pr`, Or{And{Not{a}, b}, c}},
		{"redundant parentheses", `((a pr))`, a},
		{"many spaces", `  a   pr   and  ( b  pr )  `, And{a, b}},
		{"a value filter", `emails[type eq "work" and value co "@"]`,
			ValuePath{Path: name("emails"), Filter: And{eq("type", "work"), Compare{name("value"), Co, "@"}}}},
		{"logic in a value filter", `e[not (a pr) or (b pr)]`, ValuePath{Path: name("e"), Filter: Or{Not{a}, b}}},
		{"a comparison after a value filter", `emails[type eq "work"].value eq "x"`,
			ValuePath{Path: name("emails"), Filter: eq("type", "work"), Sub: "value", Op: Eq, Value: "x"}},
		{"presence after a value filter", `emails[type eq "work"].value pr`,
			ValuePath{Path: name("emails"), Filter: eq("type", "work"), Sub: "value", Op: Pr}},
		{"$ref", `members[$ref eq "x"]`, ValuePath{Path: name("members"), Filter: eq("$ref", "x")}},
		{"$ref as sub-attribute", `members.$ref pr`, Present{dotted("members", "$ref")}},
		{"attributes named like keywords", `not eq "x" and and pr`, And{eq("not", "x"), Present{name("and")}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse(test.in)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(test.want, got))
			again, err := Parse(got.String())
			require.NoError(t, err, got.String())
			require.Empty(t, cmp.Diff(got, again), got.String())
		})
	}
}

func TestParse_Rejects(t *testing.T) {
	for _, test := range []struct{ name, in, detail string }{
		{"nothing", ``, "empty"},
		{"blanks", `   `, "empty"},
		{"an attribute alone", `userName`, "an operator"},
		{"an unknown operator", `userName regex "x"`, `not "regex", at character 10`},
		{"a missing value", `userName eq`, "a value is expected"},
		{"a bare word", `userName eq bjensen`, "double quotes"},
		{"single quotes", `userName eq 'bjensen'`, "double quotes"},
		{"an open string", `userName eq "bjensen`, "closing quote"},
		{"True", `active eq True`, "double quotes"},
		{"a bad number", `n eq 01`, "not a JSON value"},
		{"a bad escape", `t eq "\x"`, "escape"},
		{"half a surrogate pair", `t eq "\ud83d"`, "escape"},
		{"a control character", "t eq \"a\tb\"", "control character"},
		{"U+0000", `t eq "\u0000"`, "U+0000"},
		{"characters after the value", `t eq "x"y`, "space"},
		{"two expressions", `a pr b pr`, `"and", "or" or the end`},
		{"a dangling and", `a pr and`, "spaces are expected"},
		{"a dangling or", `a pr or `, "attribute is expected"},
		{"a leading and", `and a pr`, "operator"},
		{"and without a space before", `(a pr)and b pr`, "spaces"},
		{"and without a space after", `a pr and(b pr)`, "spaces"},
		{"not without parentheses", `not a pr`, "parentheses"},
		{"an open parenthesis", `(a pr`, `')' is expected`},
		{"a stray parenthesis", `a pr)`, `not ")"`},
		{"a stray bracket", `a pr]`, `"]"`},
		{"empty parentheses", `()`, "attribute is expected"},
		{"an open bracket", `e[a pr`, `']' is expected`},
		{"mixed brackets", `e[a pr)`, `']' is expected`},
		{"an empty value filter", `e[]`, "attribute is expected"},
		{"nested value filters", `e[f[a pr]]`, "cannot be part of another"},
		{"a value filter of a sub-attribute", `e.f[a pr]`, "cannot have a value filter"},
		{"a dotted name in a value filter", `e[f.g pr]`, "names sub-attributes"},
		{"a URN in a value filter", `e[urn:x:y:g pr]`, "names sub-attributes"},
		{"a sub-attribute after a value filter without operator", `e[a pr].b`, "operator"},
		{"characters after a value filter", `e[a pr]x`, "space"},
		{"two sub-attributes", `a.b.c pr`, "not an attribute name"},
		{"a bad name", `1a pr`, "not an attribute name"},
		{"a dot at the end", `a. pr`, "not an attribute name"},
		{"a URN alone", `urn:x:2.0 pr`, "does not name an attribute"},
		{"invalid UTF-8", "a eq \"\xff\"", "UTF-8"},
		{"a tab", "a\tpr", "not an attribute name"},
		{"too much", strings.Repeat("a", MaxLength+1), "bytes"},
		{"too deep", strings.Repeat("(", MaxDepth+1) + "a pr" + strings.Repeat(")", MaxDepth+1), "brackets are open"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.in)
			var e *scim.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, scim.InvalidFilter, e.ScimType)
			require.Equal(t, 400, e.Status)
			require.Contains(t, e.Detail, test.detail)
		})
	}
}

func TestParse_MaximumDepth(t *testing.T) {
	_, err := Parse(strings.Repeat("(", MaxDepth) + "a pr" + strings.Repeat(")", MaxDepth))
	require.NoError(t, err)
}

func TestParseWith(t *testing.T) {
	e, err := ParseWith(`profile.a.b eq ACTIVE and n gt 5 and t eq "x"`, Options{DeepPaths: true, BareValues: true})
	require.NoError(t, err)
	want := And{And{Compare{dotted("profile", "a.b"), Eq, "ACTIVE"}, Compare{name("n"), Gt, json.Number("5")}}, eq("t", "x")}
	require.Empty(t, cmp.Diff(Expr(want), e))
	_, err = ParseWith(`profile.a..b pr`, Options{DeepPaths: true})
	require.Error(t, err)
}

func TestParsePath(t *testing.T) {
	work := eq("type", "work")
	for _, test := range []struct {
		in   string
		want Path
	}{
		{`members`, Path{Attr: name("members")}},
		{`name.familyName`, Path{Attr: dotted("name", "familyName")}},
		{`addresses[type eq "work"]`, Path{Attr: name("addresses"), Filter: work}},
		{`members[value eq "2819c223"].displayName`, Path{Attr: name("members"), Filter: eq("value", "2819c223"), Sub: "displayName"}},
		{scim.EnterpriseUserSchema + `:manager.value`, Path{Attr: scim.AttrPath{URN: scim.EnterpriseUserSchema, Name: "manager", Sub: "value"}}},
		{scim.UserSchema + `:emails[type eq "work"].value`,
			Path{Attr: scim.AttrPath{URN: scim.UserSchema, Name: "emails"}, Filter: work, Sub: "value"}},
		{`urn:example:2.0`, Path{Attr: scim.AttrPath{URN: "urn:example:2.0"}}},
	} {
		t.Run(test.in, func(t *testing.T) {
			got, err := ParsePath(test.in)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(test.want, got))
			require.Equal(t, test.in, got.String())
		})
	}
	for _, in := range []string{
		``, ` `, ` members`, `members `, `/emails/0`, `emails[0]`, `emails[type eq "work"`, `emails[type eq "work"]x`, `emails[type eq "work"].`,
		`emails[type eq "work"].a.b`, `emails eq "x"`, `a.b.c`, `a.b[c pr]`, `urn:example:2.0[a pr]`, `emails[type eq "work"] `, `emails[]`,
	} {
		t.Run("refuses "+in, func(t *testing.T) {
			_, err := ParsePath(in)
			var e *scim.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, scim.InvalidPath, e.ScimType)
		})
	}
}

var (
	genName  = rapid.SampledFrom([]string{"userName", "emails", "name", "a", "and", "Or", "not", "pr", "$ref", "x-y_z1"})
	genURN   = rapid.SampledFrom([]string{"", "", scim.UserSchema, scim.EnterpriseUserSchema})
	genValue = rapid.OneOf(
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](false),
		rapid.Map(rapid.Int(), func(i int) any { return json.Number(fmt.Sprint(i)) }),
		rapid.Map(rapid.String(), func(s string) any { return strings.ReplaceAll(s, "\x00", "") }))
	genOp = rapid.SampledFrom([]Op{Eq, Ne, Co, Sw, Ew, Gt, Ge, Lt, Le})
)

// genExpr generates expressions. Inside a value filter, paths are plain names.
func genExpr(depth int, inValue bool) *rapid.Generator[Expr] {
	return rapid.Custom(func(t *rapid.T) Expr {
		kinds := 2
		if depth > 0 {
			kinds = 6
		}
		if depth > 0 && inValue {
			kinds = 5
		}
		path := scim.AttrPath{Name: genName.Draw(t, "name")}
		if !inValue {
			path.URN = genURN.Draw(t, "urn")
			path.Sub = rapid.SampledFrom([]string{"", "value", "$ref"}).Draw(t, "sub")
		}
		sub := func() Expr { return genExpr(depth-1, inValue).Draw(t, "inner") }
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return Compare{path, genOp.Draw(t, "op"), genValue.Draw(t, "value")}
		case 1:
			return Present{path}
		case 2:
			return And{sub(), sub()}
		case 3:
			return Or{sub(), sub()}
		case 4:
			return Not{sub()}
		}
		path.Sub = ""
		e := ValuePath{Path: path, Filter: genExpr(depth-1, true).Draw(t, "filter")}
		switch rapid.IntRange(0, 2).Draw(t, "tail") {
		case 1:
			e.Sub, e.Op, e.Value = "value", genOp.Draw(t, "op"), genValue.Draw(t, "value")
		case 2:
			e.Sub, e.Op = "value", Pr
		}
		return e
	})
}

func TestString_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genExpr(4, false).Draw(t, "e")
		text := e.String()
		got, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !Equal(e, got) || !cmp.Equal(e, got) {
			t.Fatalf("%s reads back as %s", text, got)
		}
	})
}

func TestWalk_OuterExpressionsFirst(t *testing.T) {
	e, err := Parse(`a pr and (e[b pr or not (c eq 1)] or d pr)`)
	require.NoError(t, err)
	var seen []string
	Walk(e, func(e Expr) bool {
		seen = append(seen, fmt.Sprintf("%T", e)[len("filter."):])
		return true
	})
	require.Equal(t, []string{"And", "Present", "Or", "ValuePath", "Or", "Present", "Not", "Compare", "Present"}, seen)
	seen = nil
	Walk(e, func(e Expr) bool { seen = append(seen, e.String()); return false })
	require.Len(t, seen, 1)
}

func TestEqual_DistinguishesExpressions(t *testing.T) {
	texts := []string{`a pr`, `b pr`, `a eq 1`, `a eq 2`, `a ne 1`, `a pr and b pr`, `a pr or b pr`, `b pr and a pr`, `not (a pr)`, `e[a pr]`,
		`e[b pr]`, `e[a pr].v pr`, `e[a pr].v eq 1`, `a.b pr`}
	for i, x := range texts {
		for j, y := range texts {
			p, err := Parse(x)
			require.NoError(t, err)
			q, err := Parse(y)
			require.NoError(t, err)
			require.Equal(t, i == j, Equal(p, q), "%s / %s", x, y)
		}
	}
	require.True(t, Equal(Compare{name("A"), Eq, json.Number("1.0")}, Compare{name("a"), Eq, json.Number("1")}))
	require.True(t, Equal(nil, nil))
	require.False(t, Equal(nil, Present{name("a")}))
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`userName eq "x"`, `a pr and not (b lt 1.5e3 or c[d ew "é"].e eq null)`, `urn:a:b:c.d co "\u00e9"`, `((`,
		`a[b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, o := range []Options{{}, {DeepPaths: true, BareValues: true}} {
			e, err := ParseWith(s, o)
			if err != nil {
				continue
			}
			text := e.String()
			if len(text) > MaxLength { // String writes "not (" for "not(", so the text of a filter of MaxLength bytes may be too long to parse
				continue
			}
			again, err := ParseWith(text, o)
			if err != nil || !Equal(e, again) {
				t.Fatalf("%q is written as %q, which reads as %v, %v", s, text, again, err)
			}
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{`members`, `emails[type eq "work"].value`, `urn:a:b:c.d`, `urn:a:2.0`, `a.b`, `$ref`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePath(s)
		if err != nil || len(p.String()) > MaxLength {
			return
		}
		again, err := ParsePath(p.String())
		if err != nil || !p.Attr.Equal(again.Attr) || !Equal(p.Filter, again.Filter) || p.Sub != again.Sub {
			t.Fatalf("%q is written as %q, which reads as %v, %v", s, p, again, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, s := range []string{`userName eq "bjensen"`,
		`emails[type eq "work" and value co "@example.com"] or not (active eq false) and meta.lastModified gt "2011-05-13T04:42:34Z"`} {
		b.Run(fmt.Sprint(len(s)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
