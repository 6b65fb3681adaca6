package mutants

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseFilter_RoundTrip(t *testing.T) {
	for _, filter := range []string{
		`userName eq "a \"b\" [c] (d) and e"`,
		`title pr`,
		`name.familyName ne "x" and (title co "y" or not (active eq true)) or id sw ""`,
		`emails[type eq "work" and (value co "@" or primary eq false)]`,
		`not (urn:ietf:params:scim:schemas:core:2.0:User:emails[type eq "home"] and weight gt -1.5e3)`,
		`urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value eq null`,
	} {
		e, ok := parseFilter(filter)
		require.True(t, ok, filter)
		require.Equal(t, filter, e.String())
	}
}

func TestParseFilter_Invalid(t *testing.T) {
	for _, filter := range []string{
		``, `title`, `title eq`, `title eq x`, `title eq "x`, `title has "x"`, `(title pr`, `title pr)`, `title pr title pr`, `not title pr`,
		`emails[]`, `emails[type pr`, `emails[type pr].value eq "x"`, `and title pr`, `title pr or`,
	} {
		_, ok := parseFilter(filter)
		require.False(t, ok, filter)
		require.Equal(t, filter, rebuilt(filter, never), filter)
	}
}

func TestOutsiderFilters_Rewritten(t *testing.T) {
	inner := func(fn func(string) string) func(string) string {
		return func(f string) string { return insideBrackets(f, fn) }
	}
	tree := func(fn func(expr) expr) func(string) string {
		return func(f string) string { return rebuilt(f, fn) }
	}
	for _, c := range []struct {
		name            string
		fn              func(string) string
		filter, rewrite string
	}{
		{"or first", orFirst, `a pr or b pr and c pr`, `(a pr or b pr) and (c pr)`},
		{"or first, three conditions", orFirst, `a pr and b pr or c pr and d pr`, `(a pr) and (b pr or c pr) and (d pr)`},
		{"or first, keyword in a string", orFirst, `a eq " and " or b pr`, `a eq " and " or b pr`},
		{"or first, parentheses", orFirst, `a pr or (b pr and c pr)`, `a pr or (b pr and c pr)`},
		{"without groups", withoutGroups, `(a pr or b pr) and not (c pr or d pr)`, `a pr or b pr and not (c pr or d pr)`},
		{"brackets only", inner(orFirst), `x pr or e[a pr or b pr and c eq "]"]`, `x pr or e[(a pr or b pr) and (c eq "]")]`},
		{"not of the first", tree(notOfFirst), `not (a pr and b pr)`, `not (a pr) and b pr`},
		{"ne needs a value", tree(neNeedsValue), `a ne "x"`, `a pr and a ne "x"`},
		{"false needs a value", tree(falseNeedsValue), `a eq false or b eq true`, `a pr and a eq false or b eq true`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.rewrite, c.fn(c.filter))
		})
	}
}

func TestSplitPath_Parts(t *testing.T) {
	for _, c := range []struct{ path, attribute, filter, sub string }{
		{`name.givenName`, `name.givenName`, ``, ``},
		{`emails[type eq "work"].value`, `emails`, `type eq "work"`, `value`},
		{`urn:ietf:params:scim:schemas:core:2.0:User:emails[value co "]."]`, `urn:ietf:params:scim:schemas:core:2.0:User:emails`,
			`value co "]."`, ``},
	} {
		attribute, filter, sub := splitPath(c.path)
		require.Equal(t, c.attribute, attribute.String(), c.path)
		require.Equal(t, c.filter, filter, c.path)
		require.Equal(t, c.sub, sub, c.path)
	}
}
