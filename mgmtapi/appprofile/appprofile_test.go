package appprofile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/appprofile"
)

// ada answers for a user whose middle name is not set.
func ada(name string) string {
	return map[string]string{
		"login": "ada@northwind.example", "firstName": "Ada", "lastName": "Lindqvist", "nickName": "ada.l",
	}[name]
}

func known(name string) bool {
	return name == "middleName" || ada(name) != ""
}

func TestATemplateGivesTheUserName(t *testing.T) {
	cases := map[string]struct{ template, want string }{
		"from the login":                     {"${source.login}", "ada@northwind.example"},
		"from the user under its other name": {"${user.login}", "ada@northwind.example"},
		"with literal text around":           {"nw-${source.firstName}.${source.lastName}-x", "nw-Ada.Lindqvist-x"},
		"from the part before the sign":      {`${fn:substringBefore(source.login, "@")}`, "ada"},
		"with single quotes and spaces":      {`${ fn:substringBefore( source.login , '@' ) }`, "ada"},
		"from nested calls":                  {`${fn:substringBefore(fn:substringBefore(source.login, "@"), "d")}`, "a"},
		"whole when the separator is absent": {`${fn:substringBefore(source.nickName, "@")}`, "ada.l"},
		"whole when the separator is empty":  {`${fn:substringBefore(source.login, source.middleName)}`, "ada@northwind.example"},
		"with nothing for an unset value":    {"${source.firstName}${source.middleName}", "Ada"},
		"from literal text alone":            {"everybody", "everybody"},
		"from a quoted string":               {`${"$"}{x}`, "${x}"},
		"as nothing when empty":              {"", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			template, err := appprofile.CompileTemplate(c.template, known)
			require.NoError(t, err)
			require.Equal(t, c.want, template.Eval(ada))
		})
	}
}

func TestATemplateIsRefused(t *testing.T) {
	cases := map[string]struct{ template, clue string }{
		"when an attribute is unknown":   {"${source.shoeSize}", "shoeSize"},
		"when the owner is unknown":      {"${org.login}", "org.login"},
		"when the owner is missing":      {"${login}", "login"},
		"when the attribute is missing":  {"${source.}", "source."},
		"when the function is unknown":   {"${String.toUpperCase(source.login)}", "String.toUpperCase"},
		"when an operator is used":       {`${source.firstName + "x"}`, `"}" is expected`},
		"when it is not closed":          {"${source.login", "ends where"},
		"when the expression is empty":   {"${}", "an expression is expected"},
		"when an argument is missing":    {"${fn:substringBefore(source.login)}", `"," is expected`},
		"when the call is not closed":    {`${fn:substringBefore(source.login, "@"}`, `")" is expected`},
		"when a string is not closed":    {`${fn:substringBefore(source.login, "@)}`, "is not closed"},
		"when a string is empty":         {`${fn:substringBefore(source.login, "")}`, "empty string"},
		"when calls are nested too deep": {"${" + strings.Repeat("fn:substringBefore(", 20), "deeper"},
		"when it is too long":            {strings.Repeat("x", appprofile.MaxTemplateLength+1), "longer"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := appprofile.CompileTemplate(c.template, known)
			require.ErrorContains(t, err, c.clue)
		})
	}
}

func FuzzCompileTemplate(f *testing.F) {
	for _, seed := range []string{
		"${source.login}", `a${fn:substringBefore(source.login, "@")}b`, "${", "}${user.x}", `${'`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		template, err := appprofile.CompileTemplate(text, known)
		if err == nil {
			template.Eval(ada)
		}
		if err == nil && !strings.Contains(text, "${") && template.Eval(ada) != text {
			t.Fatalf("text without expressions changed: %q", text)
		}
	})
}

func TestDeriveLeavesOutWhatTheUserDoesNotHave(t *testing.T) {
	want := map[string]any{"givenName": "Ada", "familyName": "Lindqvist"}
	require.Empty(t, cmp.Diff(want, appprofile.Derive(ada)))
}

func TestOverlayLaysTheLastLayerOnTop(t *testing.T) {
	base := map[string]any{"a": "1", "b": "1", "c": "1"}
	got := appprofile.Overlay(base, map[string]any{"a": "2", "b": "2"}, map[string]any{"b": "3", "c": nil})
	require.Empty(t, cmp.Diff(map[string]any{"a": "2", "b": "3"}, got))
	require.Empty(t, cmp.Diff(map[string]any{"a": "1", "b": "1", "c": "1"}, base), "the base is not changed")
	require.Empty(t, cmp.Diff(map[string]any{}, appprofile.Overlay(nil)))
}
