package mapping_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine/mapping"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

var names = mapping.Names{"user": {
	"login": mapping.String, "first": mapping.String, "last": mapping.String, "mail": mapping.String, "second": mapping.String,
	"department": mapping.String,
	"age":        mapping.Integer, "on": mapping.Boolean, "roles": mapping.Array, "any": mapping.Any,
}}

var values = mapping.Values{Objects: map[string]map[string]any{"user": {
	"login": "ada", "first": "Ada", "last": "Quist", "mail": "ada@example.com", "age": 37, "on": true, "roles": []any{"admin", "", "dev"},
}}}

const enterprise = scim.EnterpriseUserSchema

func e(target, expression string) mapping.Rule {
	return mapping.Rule{Target: target, Expression: expression}
}

func TestApply_BuildsResource(t *testing.T) {
	m, err := mapping.Compile([]mapping.Rule{
		e("userName", `user.login`), e("name.givenName", `user.first`), e("NAME.familyname", `user.last`),
		e(`emails[type eq "work" and primary eq true].value`, `user.mail`),
		e(`emails[primary eq true and type eq "work"].display`, `user.first + " " + user.last`),
		e(`emails[type eq "other"].value`, `user.second`), e(`phoneNumbers[type eq "work"].value`, `user.second`),
		e("roles", `user.roles`), e("title", `user.on ? "Boss" : "Staff"`), e("nickName", `user.department`), e("timezone", `""`),
		e(enterprise+":department", `user.department`), e(enterprise+":employeeNumber", `user.age`),
		e("urn:example:custom:2.0:User:shoeSize", `user.age + 5`),
		{Target: "userType", Constant: "employee"}, {Target: "locale", Constant: "en-GB", CreateOnly: true},
		{Target: "preferredLanguage", Expression: "user.department", CreateOnly: true},
		{Target: "addresses", Constant: []any{map[string]any{"type": "work", "country": "DE"}}},
	}, mapping.Options{Names: names})
	require.NoError(t, err)
	got, err := m.Apply(values)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", "`+enterprise+`", "urn:example:custom:2.0:User"],
		"userName": "ada", "name": {"givenName": "Ada", "familyName": "Quist"},
		"emails": [{"value": "ada@example.com", "type": "work", "primary": true, "display": "Ada Quist"}], "phoneNumbers": [],
		"roles": [{"value": "admin"}, {"value": "dev"}], "title": "Boss", "nickName": null, "timezone": null,
		"`+enterprise+`": {"department": null, "employeeNumber": "37"}, "urn:example:custom:2.0:User": {"shoeSize": 42},
		"userType": "employee", "addresses": [{"type": "work", "country": "DE"}]
	}`, string(got.Resource.AppendJSON(nil)))
	require.JSONEq(t, `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "locale": "en-GB"}`, string(got.OnCreate.AppendJSON(nil)))
}

func TestCompile_RejectsInvalidRules(t *testing.T) {
	for _, c := range []struct {
		want  string
		rules []mapping.Rule
	}{
		{`the path is invalid`, []mapping.Rule{e(`emails[type eq`, `user.mail`)}},
		{`unknown attribute in the target's schema`, []mapping.Rule{e(`favourite`, `user.mail`)}},
		{`unknown attribute in the target's schema`, []mapping.Rule{e(enterprise+`:favourite`, `user.mail`)}},
		{`the attribute has no sub-attribute colour`, []mapping.Rule{e(`name.colour`, `user.mail`)}},
		{`the attribute has several values: select one with a filter`, []mapping.Rule{e(`emails.value`, `user.mail`)}},
		{`the path has a filter, but the attribute has a single value`, []mapping.Rule{e(`name[givenName eq "x"].familyName`, `user.mail`)}},
		{`the path selects an element: add the sub-attribute`, []mapping.Rule{e(`emails[type eq "work"]`, `user.mail`)}},
		{`the filter may only contain the operators "eq" and "and"`, []mapping.Rule{e(`emails[type ne "work"].value`, `user.mail`)}},
		{`the elements have no sub-attribute colour`, []mapping.Rule{e(`emails[colour eq "red"].value`, `user.mail`)}},
		{`a rule cannot set active`, []mapping.Rule{e(`active`, `user.on`)}},
		{`a rule cannot set password`, []mapping.Rule{e(`urn:ietf:params:scim:schemas:core:2.0:User:password`, `user.mail`)}},
		{`a rule cannot set Active`, []mapping.Rule{e(`URN:ietf:params:scim:schemas:core:2.0:User:Active`, `user.on`)}},
		{`the path names a schema, not an attribute`, []mapping.Rule{e("urn:example:schema:2.0", `user.any`)}},
		{`the attribute is read-only`, []mapping.Rule{e(enterprise+`:manager.displayName`, `user.mail`)}},
		{`the rule has neither an expression nor a constant`, []mapping.Rule{{Target: "title"}}},
		{`the rule has both an expression and a constant`, []mapping.Rule{{Target: "title", Expression: "user.mail", Constant: "x"}}},
		{`the expression: at character 6: unknown field nothing`, []mapping.Rule{e(`title`, `user.nothing`)}},
		{`the expression has type array, the attribute has type string`, []mapping.Rule{e(`title`, `user.roles`)}},
		{`the expression has type string, the attribute has type complex`, []mapping.Rule{e(`name`, `user.mail`)}},
		{`the constant is a list or an object`, []mapping.Rule{{Target: "title", Constant: []any{"a"}}}},
		{`the constant "***" violates the target's schema`, []mapping.Rule{{Target: "x509Certificates", Constant: "***"}}},
		{`another rule already sets title`, []mapping.Rule{e("title", "user.last"), e(`Title`, `user.mail`)}},
		{`another rule already sets emails[type eq "work" and primary eq true].value`, []mapping.Rule{
			e(`emails[type eq "work" and primary eq true].value`, "user.last"), e(`emails[primary eq true and type eq "work"].value`, `user.mail`)}},
		{`the rule overlaps with the rule for name.givenName`, []mapping.Rule{e("name.givenName", "user.last"), e("name", "user.any")}},
	} {
		_, err := mapping.Compile(c.rules, mapping.Options{Names: names})
		require.ErrorContains(t, err, c.want)
	}
	_, err := mapping.Compile([]mapping.Rule{e("a", "user.x"), e("title", "user.last"), e("b", "")}, mapping.Options{Names: names})
	var all mapping.Errors
	require.ErrorAs(t, err, &all)
	require.Len(t, all, 2, "every rule is checked")
	require.Equal(t, []int{0, 2}, []int{all[0].Index, all[1].Index})
}

// TestApply_RejectsMismatchedValue checks that Apply returns an error for a value of the wrong type, and that Preview has the error in the
// row of its rule.
func TestApply_RejectsMismatchedValue(t *testing.T) {
	m, err := mapping.Compile([]mapping.Rule{e("userName", "user.login"), e(`emails[type eq "work"].primary`, "user.first")},
		mapping.Options{Names: names})
	require.NoError(t, err)
	_, err = m.Apply(values)
	require.EqualError(t, err, `rule 2 (emails[type eq "work"].primary): the value "Ada" is not a boolean`)
	require.Empty(t, cmp.Diff([]mapping.Row{
		{Rule: e("userName", "user.login"), Value: "ada"},
		{Rule: e(`emails[type eq "work"].primary`, "user.first"), Error: `the value "Ada" is not a boolean`},
	}, m.Preview(values)))
}

// TestApply_FitsSchema checks that the target's schema accepts the result of a mapping.
func TestApply_FitsSchema(t *testing.T) {
	rt := schema.UserType()
	targets := []string{
		"userName", "title", "name.givenName", "name.familyName", "displayName", `emails[type eq "work"].value`,
		`emails[type eq "home" and primary eq true].value`, "roles", "entitlements",
		`phoneNumbers[type eq "mobile"].value`, enterprise + ":department", enterprise + ":costCenter", "nickName",
	}
	expressions := []string{"user.login", "user.first", "user.any", `user.first + "." + user.last`, "user.age", "user.on", `user.department`,
		`String.toUpperCase(user.last)`}
	rapid.Check(t, func(t *rapid.T) {
		var rules []mapping.Rule
		for _, target := range rapid.SliceOfDistinct(rapid.SampledFrom(targets), rapid.ID[string]).Draw(t, "targets") {
			rules = append(rules, e(target, rapid.SampledFrom(expressions).Draw(t, "expression")))
		}
		m, err := mapping.Compile(rules, mapping.Options{Names: names})
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.StringMatching(`[a-zäÖ]{0,6}`), func(s string) any { return s }))
		v := mapping.Values{Objects: map[string]map[string]any{"user": {
			"login": text.Draw(t, "login"), "first": text.Draw(t, "first"), "last": text.Draw(t, "last"), "any": text.Draw(t, "any"),
			"age": rapid.Int().Draw(t, "age"), "on": rapid.Bool().Draw(t, "on"),
		}}}
		got, err := m.Apply(v)
		if err != nil {
			t.Fatal(err)
		}
		got.Resource.Set("userName", "set")
		if _, err := rt.Clean(got.Resource, schema.CleanOptions{}); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", got.Resource.AppendJSON(nil), err))
		}
	})
}
