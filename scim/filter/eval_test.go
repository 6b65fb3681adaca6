package filter

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

const user = `{
	"schemas": ["` + scim.UserSchema + `", "` + scim.EnterpriseUserSchema + `"],
	"id": "Id-1",
	"externalId": "Ext",
	"userName": "BJensen",
	"displayName": "Ångström 100%_",
	"nickName": "",
	"active": true,
	"name": {"familyName": "O'Malley", "givenName": "Barbara"},
	"password": "secret",
	"emails": [
		{"value": "bjensen@example.com", "type": "work", "primary": true},
		{"value": "babs@jensen.org", "type": "home"}
	],
	"addresses": [{"locality": ""}],
	"x509Certificates": [{"value": "AAEC/w=="}],
	"` + scim.EnterpriseUserSchema + `": {"employeeNumber": "701984", "manager": {"value": "26118915"}},
	"urn:example:Extra": {"count": 10, "ratio": 1.50, "tags": ["Red", "Green"], "secret": "s", "when": "2011-05-13T04:42:34.5Z"},
	"meta": {"resourceType": "User", "created": "2011-05-13T04:42:34Z", "lastModified": "2011-05-13T06:42:34.000+02:00", "version": "W/\"a\""}
}`

var extra = &schema.Schema{ID: "urn:example:Extra", Name: "Extra", Attributes: []*schema.Attribute{
	{Name: "count", Type: schema.Integer},
	{Name: "ratio", Type: schema.Decimal},
	{Name: "tags", MultiValued: true},
	{Name: "secret", Returned: schema.Never},
	{Name: "when", Type: schema.DateTime},
}}

func userType() *schema.ResourceType {
	rt := schema.UserType()
	rt.Extensions = append(rt.Extensions, schema.Extension{Schema: extra})
	return rt
}

func resource(t testing.TB) *scim.Resource {
	t.Helper()
	r, err := scim.DecodeResource([]byte(user))
	require.NoError(t, err)
	return r
}

func TestEval(t *testing.T) {
	r, rt := resource(t), userType()
	const ent, ext = scim.EnterpriseUserSchema, "urn:example:Extra"
	for _, test := range []struct {
		in   string
		want bool
	}{
		// the examples of RFC 7644 section 3.4.2.2, in its grammar
		{`userName eq "bjensen"`, true},
		{`name.familyName co "O'Malley"`, true},
		{`userName sw "J"`, false},
		{`urn:ietf:params:scim:schemas:core:2.0:User:userName sw "B"`, true},
		{`title pr`, false},
		{`meta.lastModified gt "2011-05-13T04:42:34Z"`, false},
		{`meta.lastModified ge "2011-05-13T04:42:34Z"`, true},
		{`meta.lastModified lt "2011-05-13T04:42:34Z"`, false},
		{`meta.lastModified le "2011-05-13T04:42:34Z"`, true},
		{`title pr and userType eq "Employee"`, false},
		{`title pr or userName eq "bjensen"`, true},
		{`schemas eq "` + ent + `"`, true},
		{`userType ne "Employee" and (emails co "example.com" or emails.value co "example.org")`, true},
		{`userType ne "Employee" and not (emails co "example.com" or emails.value co "example.org")`, false},
		{`userName pr and (emails.type eq "work")`, true},
		{`userName pr and emails[type eq "work" and value co "@example.com"]`, true},
		{`emails[type eq "work" and value co "@example.com"] or ims[type eq "xmpp" and value co "@foo.com"]`, true},

		// strings and case
		{`USERNAME EQ "bJENSEN"`, true},
		{`userName ew "SEN"`, true},
		{`userName gt "bjensem"`, true},
		{`userName lt "BJENSEO"`, true},
		{`displayName eq "ångström 100%_"`, true},
		{`displayName sw "ÅNG"`, true},
		{`displayName co "%"`, true},
		{`displayName co "_%"`, false},
		{`id eq "id-1"`, false},
		{`id eq "Id-1"`, true},
		{`externalId eq "ext"`, false},
		{`externalId sw "ex"`, false},
		{`meta.version eq "W/\"a\""`, true},
		{`meta.resourceType eq "user"`, false},
		{`schemas eq "URN:ietf:params:scim:schemas:core:2.0:user"`, true},

		// types
		{`active eq true`, true},
		{`active ne true`, false},
		{`active eq "True"`, true},
		{`emails[primary eq "true"].value sw "b"`, true},
		{ext + `:count eq 10.0`, true},
		{ext + `:count gt 9`, true},
		{ext + `:count lt 9`, false},
		{ext + `:ratio eq 1.5`, true},
		{ext + `:ratio le 1.5000000000000000000001`, true},
		{ext + `:when eq "2011-05-13T06:42:34.500+02:00"`, true},
		{`meta.created eq "2011-05-13T04:42:34.000Z"`, true},
		{`x509Certificates eq "AAEC/w"`, true},
		{`x509Certificates eq "aaec/w"`, false},
		{ext + `:tags eq "red"`, true},
		{ext + `:tags[value eq "red"]`, true},
		{ext + `:tags[value sw "r" and value ew "n"]`, false},
		{ext + `:tags sw "r" and ` + ext + `:tags ew "n"`, true},

		// presence
		{`nickName pr`, false},
		{`name pr`, true},
		{`emails pr`, true},
		{`emails.display pr`, false},
		{`addresses pr`, false},
		{`ims pr`, false},
		{`active pr`, true},
		{ent + `:manager pr`, true},
		{ent + `:manager.value eq "26118915"`, true},
		{`title eq null`, true},
		{`title ne null`, false},
		{`userName eq null`, false},
		{`userName ne null`, true},
		{`name ne null`, true},

		// ne, multi-valued, one element
		{`title ne "x"`, true},
		{`emails.type ne "work"`, false},
		{`emails.type ne "other"`, true},
		{`emails[type ne "work"]`, true},
		{`emails[type eq "home" and primary eq true]`, false},
		{`emails.type eq "home" and emails.primary eq true`, true},
		{`emails[type eq "home"].value eq "BABS@jensen.org"`, true},
		{`emails[type eq "home"].value eq "bjensen@example.com"`, false},
		{`emails[type eq "home"].value pr`, true},
		{`emails[not (type eq "home")].value pr`, true},
		{`emails[display eq null]`, true},
		{`emails[nothing pr]`, false},
		{`ims[not (type eq "x")]`, false},

		// unknown names match nothing
		{`shoeSize eq "x"`, false},
		{`shoeSize ne "x"`, false},
		{`shoeSize pr`, false},
		{`shoeSize eq null`, false},
		{`shoe[size eq 1]`, false},
		{`employeeNumber eq "701984"`, false},
		{ent + `:employeeNumber eq "701984"`, true},
		{ent + ` pr`, true},
		{`urn:other:x eq 1`, false},

		// attributes that are never returned have no value here
		{`password pr`, false},
		{`password eq "secret"`, false},
		{`password ne "x"`, false},
		{ext + `:secret sw "s"`, false},

		// wrong types match nothing, not even with ne
		{`userName eq 5`, false},
		{`userName ne 5`, false},
		{`name eq "x"`, false},
		{`name ne "x"`, false},
		{`active gt false`, false},
		{`active co "t"`, false},
		{`x509Certificates gt "A"`, false},
		{`addresses eq "x"`, false},
	} {
		t.Run(test.in, func(t *testing.T) {
			e, err := Parse(test.in)
			require.NoError(t, err)
			require.Equal(t, test.want, Eval(e, r, rt))
		})
	}
}

func TestCheck(t *testing.T) {
	const ext = "urn:example:Extra"
	rt := userType()
	for _, in := range []string{
		`userName eq "x"`, `active eq true`, `active eq "True"`, `active ne null`, `name pr`, `name eq null`, `emails co "x"`, `shoeSize gt 5`,
		`shoe[size gt true]`,
		ext + `:count gt 5`, ext + `:tags[value sw "r"]`, `meta.created lt "2011-05-13T04:42:34Z"`, `emails[type eq "work"].value sw "x"`,
		`emails[nothing gt 1]`,
		scim.EnterpriseUserSchema + ` pr`, `profileUrl sw "https:"`, `meta.location co "x"`, `members[value eq "x"] or userName gt "a"`,
		`x509Certificates.value eq "AA=="`,
	} {
		t.Run("accepts "+in, func(t *testing.T) {
			e, err := Parse(in)
			require.NoError(t, err)
			require.NoError(t, Check(e, rt, lenient.All))
		})
	}
	for _, in := range []string{
		`active gt true`, `active le false`, `active co "t"`, `x509Certificates gt "AA=="`, `x509Certificates.value lt "AA=="`,
		`x509Certificates[value ge "AA=="]`,
		`emails[primary gt true]`, `emails[type eq "x"].primary ge true`, `name eq "x"`, `name gt "x"`, `addresses eq "x"`,
		`addresses[locality eq 5]`,
		`userName eq 5`, `userName eq true`, `userName gt null`, `active eq "maybe"`, ext + `:count eq "5"`, ext + `:count co "5"`,
		`meta.created gt "yesterday"`,
		`meta.created sw "2011"`, `password eq "x"`, `password pr`, ext + `:secret pr`, `name.familyName[x pr]`,
		scim.EnterpriseUserSchema + ` eq "x"`,
		`userName eq "x" and (active gt true)`, `not (active gt true)`, `userName eq "x" or active gt true`,
	} {
		t.Run("refuses "+in, func(t *testing.T) {
			e, err := ParseWith(in, Options{DeepPaths: true}) // includes trees that the grammar cannot express
			require.NoError(t, err)
			var se *scim.Error
			require.ErrorAs(t, Check(e, rt, lenient.All), &se)
			require.Equal(t, scim.InvalidFilter, se.ScimType)
			require.Equal(t, 400, se.Status)
			require.NotEmpty(t, se.Detail)
		})
	}
}

// TestCheck_SpelledBooleans checks that a boolean is a literal and that its spelling as a string is a leniency.
func TestCheck_SpelledBooleans(t *testing.T) {
	for _, in := range []string{`active eq "True"`, `emails[primary eq "true"]`, `emails.primary ne "False"`} {
		e, err := Parse(in)
		require.NoError(t, err)
		require.NoError(t, Check(e, userType(), lenient.SpelledBooleans), in)
		require.Error(t, Check(e, userType(), lenient.All&^lenient.SpelledBooleans), in)
	}
	e, err := Parse(`active eq true and emails[primary eq false]`)
	require.NoError(t, err)
	require.NoError(t, Check(e, userType(), 0))
}

func TestEvalLaws(t *testing.T) {
	r, rt := resource(t), userType()
	rapid.Check(t, func(t *rapid.T) {
		x, y := genExpr(3, false).Draw(t, "x"), genExpr(3, false).Draw(t, "y")
		eval := func(e Expr) bool { return Eval(e, r, rt) }
		if eval(Not{And{x, y}}) != eval(Or{Not{x}, Not{y}}) || eval(Not{Or{x, y}}) != eval(And{Not{x}, Not{y}}) {
			t.Fatalf("De Morgan fails for %s and %s", x, y)
		}
		if eval(Not{Not{x}}) != eval(x) {
			t.Fatalf("double negation fails for %s", x)
		}
		if again, err := Parse(x.String()); err != nil || eval(again) != eval(x) {
			t.Fatalf("%s means something else when read again", x)
		}
	})
}

// TestEval_NeNegatesEq checks for known attributes that ne is the negation of eq.
func TestEval_NeNegatesEq(t *testing.T) {
	r, rt := resource(t), userType()
	rapid.Check(t, func(t *rapid.T) {
		path, err := scim.ParseAttrPath(
			rapid.SampledFrom([]string{"userName", "emails", "emails.type", "title", "name.givenName", "id", "schemas"}).Draw(t, "path"))
		require.NoError(t, err)
		v := rapid.SampledFrom([]string{"bjensen", "work", "Id-1", "", "babs@jensen.org", "x"}).Draw(t, "v")
		if Eval(Compare{path, Ne, v}, r, rt) == Eval(Compare{path, Eq, v}, r, rt) {
			t.Fatalf("%s eq and ne %q agree", path, v)
		}
	})
}

// TestFold_MatchesEqualFold checks that for strings without composed, wide or narrow characters only case is folded.
func TestFold_MatchesEqualFold(t *testing.T) {
	plain := func(s string) bool { return norm.NFD.String(s) == s && width.Fold.String(s) == s }
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Filter(plain).Draw(t, "s")
		other := rapid.SampledFrom(
			[]func(string) string{strings.ToUpper, strings.ToLower, strings.ToTitle, func(s string) string { return s + "x" }}).Draw(t, "f")(s)
		if plain(other) && (Fold(s) == Fold(other)) != strings.EqualFold(s, other) {
			t.Fatalf("%q and %q", s, other)
		}
	})
	require.Equal(t, "kelvin sß", Fold("\u212AELVIN \u017Fß"))
}

func TestOrder(t *testing.T) {
	attr := func(kind schema.Type, exact bool) *schema.Attribute {
		return &schema.Attribute{Type: kind, CaseExact: exact}
	}
	for _, test := range []struct {
		a    *schema.Attribute
		x, y any
		want int
		ok   bool
	}{
		{attr(schema.String, false), "a", "B", -1, true},
		{attr(schema.String, true), "a", "B", 1, true},
		{attr(schema.Boolean, false), false, true, -1, true},
		{attr(schema.Boolean, false), true, true, 0, true},
		{attr(schema.Boolean, false), true, false, 1, true},
		{attr(schema.DateTime, false), "2011-01-01T00:00:00Z", "2011-01-01T00:00:00+01:00", 1, true},
		{attr(schema.String, false), "a", nil, 0, false},
		{attr(schema.Complex, false), "a", "a", 0, false},
	} {
		got, ok := Order(test.a, test.x, test.y)
		require.Equal(t, test.ok, ok)
		if ok {
			require.Equal(t, test.want, got, "%v %v", test.x, test.y)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	r, rt := resource(b), schema.UserType()
	for _, s := range []string{`userName eq "bjensen"`, `emails[type eq "home" and value co "jensen"]`,
		`meta.lastModified gt "2011-05-13T04:42:34Z"`} {
		e, err := Parse(s)
		require.NoError(b, err)
		b.Run(strings.Fields(s)[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Eval(e, r, rt)
			}
		})
	}
}
