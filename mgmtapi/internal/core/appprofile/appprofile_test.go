package appprofile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
)

// attributes holds the attributes of users in these tests.
var attributes = map[string]expression.Kind{
	"login": expression.String, "firstName": expression.String, "middleName": expression.String, "lastName": expression.String,
	"nickName": expression.String,
	"shoeSize": expression.Number, "skills": expression.Array, "driver": expression.Boolean,
}

// ada is a user whose middle name is not set.
func ada() *appprofile.Values {
	return &appprofile.Values{AppID: "0oa1", App: &model.App{Name: "hr", Label: "HR"}, Org: "00o1", Source: map[string]any{
		"login": "ada@northwind.example", "firstName": "Ada", "lastName": "Lindqvist", "nickName": "ada.l", "shoeSize": 38.5,
		"skills": []any{"go", "scim"}, "driver": true,
	}}
}

func TestUserName_FromTemplate(t *testing.T) {
	cases := map[string]struct{ template, want string }{
		"from the login":                     {"${source.login}", "ada@northwind.example"},
		"from the user object":               {"${user.login}", "ada@northwind.example"},
		"with literal text around":           {"nw-${source.firstName}.${source.lastName}-x", "nw-Ada.Lindqvist-x"},
		"from the part before the @":         {`${fn:substringBefore(source.login, "@")}`, "ada"},
		"with single quotes and spaces":      {`${ fn:substringBefore( source.login , '@' ) }`, "ada"},
		"from nested calls":                  {`${fn:substringBefore(fn:substringBefore(source.login, "@"), "d")}`, "a"},
		"whole when the separator is absent": {`${fn:substringBefore(source.nickName, "@")}`, "ada.l"},
		"whole when the separator is empty":  {`${fn:substringBefore(source.login, source.middleName)}`, "ada@northwind.example"},
		"without an unset value":             {"${source.firstName}${source.middleName}", "Ada"},
		"from literal text alone":            {"every user", "every user"},
		"from a quoted string":               {`${"$"}{x}`, "${x}"},
		"empty for an empty string":          {"", ""},
		"from a function":                    {"${String.toUpperCase(source.lastName)}", "LINDQVIST"},
		"from an operator":                   {`${source.firstName + "x"}`, "Adax"},
		"from a condition":                   {`${source.driver ? "d-" + source.nickName : source.nickName}`, "d-ada.l"},
		"from a number":                      {"${source.shoeSize}", "38.5"},
		"from the application":               {"${app.label}-${source.nickName}", "HR-ada.l"},
		"without a removed attribute":        {"x${source.gone}", "x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(c.template, "gone") {
				require.NoError(t, appprofile.CheckTemplate(c.template, attributes))
			}
			var programs appprofile.Programs
			require.Equal(t, c.want, programs.UserName(model.UserNameTemplate{Template: c.template}, ada()))
		})
	}
}

func TestCheckTemplate_RejectsInvalid(t *testing.T) {
	cases := map[string]struct{ template, clue string }{
		"when an attribute is unknown":                 {"${source.hatSize}", "hatSize"},
		"when the owner is unknown":                    {"${planet.login}", "planet"},
		"when the attribute belongs to another object": {"${org.login}", "login"},
		"when the owner is missing":                    {"${login}", "login"},
		"when the attribute is missing":                {"${source.}", "unexpected"},
		"when the function is unknown":                 {"${String.upper(source.login)}", "String.upper"},
		"when it is not closed":                        {"${source.login", "not closed"},
		"when the expression is empty":                 {"${}", "empty"},
		"when an argument is missing":                  {"${fn:substringBefore(source.login)}", "not enough arguments"},
		"when the call is not closed":                  {`${fn:substringBefore(source.login, "@"}`, "unexpected token"},
		"when a string is not closed":                  {`${fn:substringBefore(source.login, "@)}`, "not closed"},
		"when it is too long":                          {strings.Repeat("x", appprofile.MaxTemplateLength+1), "longer"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, appprofile.CheckTemplate(c.template, attributes), c.clue)
		})
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"${source.login}", `a${fn:substringBefore(source.login, "@")}b`, "${", "}${user.x}", `${'`, "${source.shoeSize + 1}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := appprofile.CheckTemplate(text, attributes)
		var programs appprofile.Programs
		template := model.UserNameTemplate{Template: text}
		got := programs.UserName(template, ada())
		if err == nil && !strings.Contains(text, "${") && got != text {
			t.Fatalf("text without expressions changed: %q", text)
		}
	})
}

// TestRules_TemplateAsExpression verifies that Rules returns the user name template as an equivalent expression.
func TestRules_TemplateAsExpression(t *testing.T) {
	for template, want := range map[string]string{
		"${source.login}": "source.login", "x-${source.login}": `"x-" + source.login`,
		"${source.firstName}.${String.len(user.login)}": `source.firstName + "." + (String.len(user.login))`,
		"fixed": `"fixed"`,
	} {
		app := &model.App{
			Credentials: model.AppCredentials{
				UserNameTemplate: model.UserNameTemplate{Type: model.TemplateCustom, Template: template, PushStatus: model.Push}}}
		rules := appprofile.Rules(app, nil, nil)
		require.Equal(t, map[string]model.MappingRule{"userName": {Expression: want, PushStatus: model.Push}}, rules)
		require.NoError(t, appprofile.CheckRule(model.ToApp, want, attributes, &model.Property{Type: model.PropertyString}))
		var programs appprofile.Programs
		require.Equal(t, programs.UserName(model.UserNameTemplate{Template: template}, ada()), programs.Text(want, ada()))
	}
	app := &model.App{
		Credentials: model.AppCredentials{
			UserNameTemplate: model.UserNameTemplate{Type: model.TemplateBuiltIn, Template: "${source.login}", Suffix: "@x"}}}
	require.Equal(t, model.MappingRule{Expression: `source.login + "@x"`, PushStatus: model.Push},
		appprofile.Rules(app, &model.Connection{}, nil)["userName"])
	require.Len(t, appprofile.Rules(app, &model.Connection{}, nil), 10)
	require.Equal(t, model.MappingRule{Expression: "appuser.familyName", PushStatus: model.Push},
		appprofile.Rules(app, &model.Connection{}, &model.Mapping{Direction: model.ToUser})["lastName"])
}

// property returns the property with a name from those of all kinds.
func property(name string) (model.Property, bool) {
	p, ok := map[string]model.Property{
		"text": {Type: model.PropertyString, MaxLength: new(5)}, "number": {Type: model.PropertyNumber}, "whole": {Type: model.PropertyInteger},
		"flag": {Type: model.PropertyBoolean}, "list": {Type: model.PropertyArray, Items: &model.Items{Type: model.PropertyString}},
		"numbers": {Type: model.PropertyArray, Items: &model.Items{Type: model.PropertyInteger}},
		"first":   {Type: model.PropertyString, Mutability: model.Immutable},
	}[name]
	return p, ok
}

func rules(push model.PushStatus, pairs ...string) map[string]model.MappingRule {
	out := map[string]model.MappingRule{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = model.MappingRule{Expression: pairs[i+1], PushStatus: push}
	}
	return out
}

// TestApply_ConvertsToAttributeType verifies that Apply returns values of the attribute type, or a problem for the attribute.
func TestApply_ConvertsToAttributeType(t *testing.T) {
	cases := map[string]struct {
		attribute, expression string
		want                  any
		problem               string
	}{
		"a text":                             {"text", "user.firstName", "Ada", ""},
		"a number as string":                 {"text", "user.shoeSize", "38.5", ""},
		"a boolean as string":                {"text", "user.driver", "true", ""},
		"nothing":                            {"text", "user.middleName", nil, ""},
		"no value for a removed attribute":   {"text", "user.gone", nil, ""},
		"no value for incompatible operands": {"text", "user.gone + user.skills < 3", nil, ""},
		"a string that is too long":          {"text", "user.lastName", nil, "at most 5"},
		"an array for a single value":        {"text", "user.skills", nil, "a string"},
		"a number":                           {"number", "user.shoeSize", 38.5, ""},
		"a number from a string":             {"number", `"12"`, 12.0, ""},
		"a string that is not a number":      {"number", "user.firstName", nil, "a number"},
		"infinity":                           {"number", `"1e999"`, nil, "a number"},
		"not an integer":                     {"whole", "user.shoeSize", nil, "an integer"},
		"an integer":                         {"whole", "String.len(user.firstName)", 3.0, ""},
		"a flag":                             {"flag", "user.driver", true, ""},
		"a false boolean":                    {"flag", "NOT user.driver", false, ""},
		"a boolean from a string":            {"flag", `"false"`, false, ""},
		"a list":                             {"list", "user.skills", []any{"go", "scim"}, ""},
		"an array of one element":            {"list", "user.firstName", []any{"Ada"}, ""},
		"an empty array":                     {"list", "Arrays.clear(user.skills)", nil, ""},
		"an array of strings for numbers":    {"numbers", "user.skills", nil, "Element 0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var programs appprofile.Programs
			out := programs.Compile(rules(model.Push, c.attribute, c.expression), property).Apply(ada(), true, nil, nil)
			require.Equal(t, c.want, out.Profile[c.attribute])
			require.Contains(t, out.Problems[c.attribute], c.problem)
			require.Equal(t, c.problem != "", out.Problems != nil)
		})
	}
}

// TestApply_KeepsFirstValue verifies that Apply keeps the first value of immutable attributes and of rules without push.
func TestApply_KeepsFirstValue(t *testing.T) {
	var programs appprofile.Programs
	user := ada()
	once := programs.Compile(rules(model.DontPush, "text", "user.firstName", "list", "user.middleName"), property)
	first := once.Apply(user, true, nil, nil)
	require.Equal(t, map[string]any{"text": "Ada", "list": nil}, first.Kept)

	user = ada()
	user.Source["firstName"], user.Source["middleName"] = "Eva", "K"
	second := once.Apply(user, false, first.Profile, first.Kept)
	require.Equal(t, first.Profile, second.Profile)
	require.Equal(t, first.Kept, second.Kept)

	pushed := programs.Compile(rules(model.Push, "text", "user.firstName"), property).Apply(user, false, first.Profile, first.Kept)
	require.Equal(t, map[string]any{"text": "Eva"}, pushed.Profile)
	require.Nil(t, pushed.Kept)

	later := programs.Compile(rules(model.DontPush, "text", "user.lastName"), property).Apply(user, false, pushed.Profile, nil)
	require.Equal(t, map[string]any{"text": "Eva"}, later.Profile, "the current value when the rule changes to DONT_PUSH")

	immutable := programs.Compile(rules(model.Push, "first", "user.middleName"), property)
	require.Equal(t, map[string]any{"first": "K"}, immutable.Apply(user, false, nil, nil).Profile, "a first value")
	user.Source["middleName"], user = "L", &appprofile.Values{Source: user.Source, App: user.App}
	require.Equal(t, map[string]any{"first": "K"},
		immutable.Apply(user, false, map[string]any{"first": "K"}, map[string]any{"first": "K"}).Profile)
}

// TestCheckRule_RejectsTypeMismatch verifies that CheckRule rejects expressions that cannot have the attribute type and accepts the
// convertible ones.
func TestCheckRule_RejectsTypeMismatch(t *testing.T) {
	check := func(text, attribute string) error {
		p, _ := property(attribute)
		return appprofile.CheckRule(model.ToApp, text, attributes, &p)
	}
	for text, attribute := range map[string]string{"user.driver": "number", "user.skills": "text", "user.shoeSize": "flag",
		"user.hatSize": "text", "appuser.login": "text", "": "text"} {
		require.Error(t, check(text, attribute), text)
	}
	for text, attribute := range map[string]string{
		"user.driver": "text", "user.firstName": "number", "user.shoeSize": "whole", "source.skills": "list", "user.login": "list",
		"String.len(user.login)": "number", "null": "flag", "org.id": "text", "app.name": "text",
	} {
		require.NoError(t, check(text, attribute), text)
	}
	p, _ := property("text")
	require.NoError(t, appprofile.CheckRule(model.ToUser, "appuser.login", attributes, &p))
	require.Error(t, appprofile.CheckRule(model.ToUser, "user.login", attributes, &p))
}

// TestParsePlace verifies where a parsed place writes and clears an attribute in a SCIM resource.
func TestParsePlace(t *testing.T) {
	const ext = scim.EnterpriseUserSchema
	cases := map[string]struct {
		namespace, name string
		value           any
		want, cleared   string
	}{
		"an attribute": {"", "title", "Boss", `{"title":"Boss"}`, `{"title":null}`},
		"of users":     {scim.UserSchema, "title", "Boss", `{"title":"Boss"}`, `{"title":null}`},
		"a part":       {"", "name.honorificPrefix", "Dr", `{"name":{"honorificPrefix":"Dr"}}`, `{"name":{"honorificPrefix":null}}`},
		"an element":   {"", `emails[type eq "home"].value`, "a@b", `{"emails":[{"type":"home","value":"a@b"}]}`, `{"emails":[]}`},
		"an extension": {ext, "costCenter", "7", `{"schemas":["` + ext + `"],"` + ext + `":{"costCenter":"7"}}`,
			`{"` + ext + `":{"costCenter":null}}`},
		"a part of an extension": {ext, "manager.displayName", "Eva",
			`{"schemas":["` + ext + `"],"` + ext + `":{"manager":{"displayName":"Eva"}}}`, `{"` + ext + `":{"manager":{"displayName":null}}}`},
		"a number": {"urn:x", "size", 38.5, `{"schemas":["urn:x"],"urn:x":{"size":38.5}}`, `{"urn:x":{"size":null}}`},
		"a list": {"urn:x", "skills", []any{"go"}, `{"schemas":["urn:x"],"urn:x":{"skills":["go"]}}`,
			`{"urn:x":{"skills":null}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			place, err := appprofile.ParsePlace(c.namespace, c.name)
			require.NoError(t, err)
			r, cleared := &scim.Resource{}, &scim.Resource{}
			place.Put(r, c.value)
			place.Put(cleared, nil)
			text, err := json.Marshal(r)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(text))
			text, err = json.Marshal(cleared)
			require.NoError(t, err)
			require.JSONEq(t, c.cleared, string(text))
		})
	}
	for _, c := range [][2]string{{"", "id"}, {"", "userName"}, {"", "groups"}, {"", "externalId"}, {"", ""}, {"", "a b"},
		{"", `emails[type eq "home"]`}, {"", `emails[type ne "home"].value`}, {"x", "y"}, {"", "urn:x:y"}} {
		_, err := appprofile.ParsePlace(c[0], c[1])
		require.Error(t, err, c)
	}
	whole, _ := appprofile.ParsePlace("", "name")
	part, _ := appprofile.ParsePlace("", "Name.givenName")
	require.True(t, part.Within(whole))
	require.False(t, whole.Within(part))
}

func TestOverlay_LastLayerWins(t *testing.T) {
	base := map[string]any{"a": "1", "b": "1", "c": "1"}
	got := appprofile.Overlay(base, map[string]any{"a": "2", "b": "2"}, map[string]any{"b": "3", "c": nil})
	require.Empty(t, cmp.Diff(map[string]any{"a": "2", "b": "3"}, got))
	require.Empty(t, cmp.Diff(map[string]any{"a": "1", "b": "1", "c": "1"}, base), "the base is not modified")
	require.Empty(t, cmp.Diff(map[string]any{}, appprofile.Overlay(nil)))
}
