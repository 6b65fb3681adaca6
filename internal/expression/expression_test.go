package expression_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/expression"
)

var names = expression.Names{
	"user": {
		"login": expression.String, "firstName": expression.String, "lastName": expression.String, "department": expression.String,
		"age": expression.Integer, "height": expression.Number, "manager": expression.Boolean, "skills": expression.Array,
		"extra": expression.Any, "OR": expression.String,
	},
	"app": {"label": expression.String},
}

var values = expression.Values{
	Objects: map[string]map[string]any{
		"user": {
			"login": "ada.quist@example.com", "firstName": "Ada", "lastName": "Quist", "age": json.Number("37"), "height": 1.5, "manager": true,
			"skills": []string{"go", "scim"}, "extra": map[string]any{"a": 1}, "OR": "or",
		},
		"app": {"label": "Mail"},
	},
	Groups: []expression.Group{{ID: "g1", Name: "Everyone", App: "SVC"}, {ID: "g2", Name: "Eng Berlin", App: "SVC"},
		{ID: "g3", Name: "Eng Rome", App: "ad"}},
}

func TestEval_Results(t *testing.T) {
	for text, want := range map[string]any{
		`user.login`: "ada.quist@example.com", `"a"`: "a", `'it"s'`: `it"s`, `"a\"b"`: `a"b`, `3`: 3, `2.5`: 2.5, `true`: true, `null`: nil,
		`user.department`:                      nil,
		`user.firstName + " " + user.lastName`: "Ada Quist", `user.department + "-" + user.lastName`: "-Quist", `1 + 2`: 3, `user.age + 1`: 38,
		`user.height + 1`: 2.5, `"n" + 1`: "n1", `user.age + "y"`: "37y",
		`1 + 2 + "x"`:                     "3x",
		`user.manager ? "boss" : "staff"`: "boss", `user.department == null ? "none" : user.department`: "none",
		`user.firstName == "Ada"`: true, `user.firstName == "ada"`: false, `user.firstName != "ada"`: true, `user.department != null`: false,
		`user.department == "x"`: false,
		`user.department < "x"`:  false, `user.department >= "x"`: false, `user.age > 36.5`: true, `user.age <= 37`: true, `"a" < "b"`: true,
		`user.age == 37.0`:               true,
		`user.manager AND user.age > 30`: true, `user.manager && false`: false, `false OR user.manager`: true, `false || false`: false,
		`NOT user.manager`: false, `!user.manager`: false,
		`true OR false AND false`: true, `(true OR false) AND false`: false, `NOT user.age == 37`: false,
		`NOT user.firstName == "x" AND true`: true, `NOT user.manager == true`: false,
		`user.extra.b ? 1 : 2`: 2, `user.extra.a`: 1, `NOT user.extra.b`: true, `user.extra.b OR user.manager`: true, `user.OR`: "or",
		`"AND null OR"`: "AND null OR",

		`String.append("a", user.department)`: "a", `String.join("-", "a", user.department, "b")`: "a-b",
		`String.join(",", user.skills)`: "go,scim", `String.len("äö")`: 2, `String.len(user.department)`: nil,
		`String.removeSpaces(" a b ")`: "ab", `String.replace("aXbX", "X", "-")`: "a-b-", `String.replaceFirst("aXbX", "X", "-")`: "a-bX",
		`String.replace("ab", "", "-")`:  "ab",
		`String.startsWith("abc", "ab")`: true, `String.stringContains("abc", "bc")`: true, `String.stringContains("abc", "BC")`: false,
		`String.stringSwitch(user.firstName, "other", "Bea", "b", "Ada", "a")`: "a", `String.stringSwitch("x", "other", "y", "z")`: "other",
		`String.stringSwitch(user.department, "other", "", "z")`: "other",
		`String.substring("hello", 1, 3)`:                        "el", `String.substring("hello", 3)`: "lo",
		`String.substring("hello", 4, 99)`: "o",
		`String.substring("hello", 3, 1)`:  "", `String.substring("héllo", 1, 2)`: "é",
		`String.substringAfter(user.login, "@")`: "example.com", `String.substringBefore(user.login, "@")`: "ada.quist",
		`String.substringAfter("abc", "@")`: "", `fn:substringBefore(user.login, ".")`: "ada",
		`String.toLowerCase("ABC")`: "abc", `String.toUpperCase(user.lastName)`: "QUIST", `String.toUpperCase(user.department)`: nil,

		`Arrays.add(user.skills, "sql")`: []any{"go", "scim", "sql"}, `Arrays.clear(user.skills)`: []any{},
		`Arrays.contains(user.skills, "go")`: true, `Arrays.contains(user.skills, "Go")`: false,
		`Arrays.flatten("a", ["b", ["c"]])`: []any{"a", "b", "c"}, `Arrays.get(user.skills, 1)`: "scim", `Arrays.get(user.skills, 2)`: nil,
		`Arrays.isEmpty(user.skills)`:      false,
		`Arrays.remove(user.skills, "go")`: []any{"scim"}, `Arrays.size(user.skills)`: 2, `Arrays.toCsvString(user.skills)`: "go,scim",
		`Convert.toInt("12")`: 12, `Convert.toInt(12.6)`: 13, `Convert.toInt("x")`: nil, `Convert.toNum("1.5")`: 1.5,
		`Convert.toNum(user.department)`:                  nil,
		`Time.fromWindowsToIso8601("132539328000000000")`: "2021-01-01T00:00:00.000Z", `Time.now("Nowhere/Land")`: nil,
		`String.len(Time.now())`: 24,

		`isMemberOfGroup("g2")`: true, `isMemberOfGroup("g9")`: false, `isMemberOfAnyGroup("g9", "g3")`: true,
		`isMemberOfGroupName("Everyone")`: true, `isMemberOfGroupNameStartsWith("Eng")`: true,
		`isMemberOfGroupNameContains("Rome")`: true, `isMemberOfGroupNameRegex("^Eng .*e$")`: true, `isMemberOfGroupNameRegex("(")`: nil,
		`Groups.startsWith("SVC", "E", 10)`: []any{"Everyone", "Eng Berlin"}, `Groups.contains("", "Eng", 1)`: []any{"Eng Berlin"},
		`Groups.endsWith("AD", "Rome", 5)`: []any{"Eng Rome"},
	} {
		program, err := expression.Compile(text, names)
		require.NoError(t, err, text)
		got, err := program.Eval(values)
		require.NoError(t, err, text)
		require.Empty(t, cmp.Diff(want, got), text)
	}
}

func TestCompile_Errors(t *testing.T) {
	for text, want := range map[string]string{
		``: "at character 1: the expression is empty", `user.login +`: "at character 12: unexpected token EOF",
		`user.nothing`: "at character 6: unknown field nothing",
		`users.login`:  "at character 1: unknown name users", `String.lenn("a")`: "at character 1: unknown function String.lenn",
		`user.nothing == "x"`: "at character 6: unknown field nothing", `"a" + user.nothing`: "at character 12: unknown field nothing",
		`String.len(user.nothing) == 1`: "unknown field nothing",
		`NOT user.nothing`:              "unknown field nothing", `users.login == "x" OR true`: "at character 1: unknown name users",
		`isMemberOfGroup(groups)`:     "unknown name groups",
		`1 + String.tolowercase("a")`: "at character 5: unknown function String.tolowercase; did you mean String.toLowerCase?",
		`String.toUperCase("a")`:      "at character 1: unknown function String.toUperCase; did you mean String.toUpperCase?",
		`toUpperCase("a")`:            "at character 1: unknown function toUpperCase; did you mean String.toUpperCase?",
		`String.len(5)`:               "cannot use int", `String.len("a", "b")`: "too many arguments",
		`String.substring("a")`: "not enough arguments", `isMemberOfGroup()`: "not enough arguments",
		`"a" < 1`:                 "at character 1: the operator < does not accept an operand of the type string in this position",
		`NOT "x"`:                 "at character 5: a string is neither true nor false",
		`user.department ? 1 : 2`: "a string is neither true nor false", `truth(1)`: "unknown function truth",
		`len("a")`: "unknown function len; did you mean String.len?", `"abc`: "literal not terminated",
		`user.login 1`:                   "unexpected token Number",
		strings.Repeat("1+", 3000) + "1": "exceeds maximum allowed nodes", strings.Repeat(" ", 9000): "longer than 8192 bytes",
	} {
		_, err := expression.Compile(text, names)
		require.ErrorContains(t, err, want, text)
	}
}

func TestProgram_Kind(t *testing.T) {
	for text, want := range map[string]expression.Kind{
		`user.login`: expression.String, `user.age`: expression.Integer, `user.age + 1`: expression.Integer, `user.age + 1.5`: expression.Number,
		`user.age + "x"`:        expression.String,
		`user.manager AND true`: expression.Boolean, `user.skills`: expression.Array, `user.extra`: expression.Any,
		`user.login == "a"`: expression.Boolean,
		`String.len("a")`:   expression.Integer, `user.manager ? "a" : "b"`: expression.String, `user.manager ? "a" : 1`: expression.Any,
		`null`: expression.Any,
	} {
		program, err := expression.Compile(text, names)
		require.NoError(t, err, text)
		require.Equal(t, want, program.Kind(), text)
	}
}

func TestTemplates(t *testing.T) {
	for text, want := range map[string]string{
		``: "", `plain`: "plain", `${user.login}`: "ada.quist@example.com", `${user.firstName}.${user.lastName}@x`: "Ada.Quist@x",
		`a${user.department}b`: "ab", `${"}"}`: "}", `$5 {x}`: "$5 {x}",
		`${fn:substringBefore(user.login, "@")}`: "ada.quist", `${user.skills}`: "go,scim",
		`${user.age}${user.height}${user.manager}`: "371.5true",
	} {
		template, err := expression.CompileTemplate(text, names)
		require.NoError(t, err, text)
		got, err := template.Eval(values)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		`a ${user.login`: "at character 3: the ${ is not closed", `ab${user.nothing}`: "at character 10: unknown field nothing",
		`x${}`: "at character 4: the expression is empty",
	} {
		_, err := expression.CompileTemplate(text, names)
		require.ErrorContains(t, err, want, text)
	}
}

func TestEval_Bounded(t *testing.T) {
	for _, text := range []string{`Arrays.size(0..100000000)`, `String.replace(user.login, "a", String.join("", 0..90000))`} {
		program, err := expression.Compile(text, names)
		if err != nil {
			continue // Compile may also reject the expression
		}
		_, err = program.Eval(values)
		require.Error(t, err, text)
	}
}

func FuzzExpression(f *testing.F) {
	for _, seed := range []string{`user.login`, `NOT a == b`, `String.join("-", 1, null)`, `user.manager ? "a" : fn:substringBefore("b", 'c')`,
		"`x`", `Groups.startsWith("", "E", 1.5)`, `a${user.age + 1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if program, err := expression.Compile(text, names); err == nil {
			_, _ = program.Eval(values)
			_, _ = program.Eval(expression.Values{})
		}
		if template, err := expression.CompileTemplate(text, names); err == nil {
			_, _ = template.Eval(values)
		}
	})
}

func TestCompile_AnyAttribute(t *testing.T) {
	open := expression.Names{"user": {expression.AnyAttribute: expression.Any}}
	values := expression.Values{Objects: map[string]map[string]any{"user": {"shoe": 42.0, "tags": []any{"a"}, "ok": true}}}
	for text, want := range map[string]any{
		`user.gone`: nil, `user.gone == null`: true, `user.gone + "x"`: "x", `user.shoe > 40`: true, `user.shoe + 1`: 43.0,
		`user.ok AND Arrays.contains(user.tags, "a")`: true,
		`user.gone > 3`: false, `String.toUpperCase(user.gone)`: nil, `fn:substringBefore("abc", "@")`: "abc",
		`fn:substringBefore("abc", user.gone)`: "abc", `fn:substringBefore("a@b", "@")`: "a",
	} {
		program, err := expression.Compile(text, open)
		require.NoError(t, err, text)
		got, err := program.Eval(values)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	_, err := expression.Compile("app.gone", open)
	require.Error(t, err)
}
