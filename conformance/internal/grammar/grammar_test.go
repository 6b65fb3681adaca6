package grammar_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance/internal/grammar"
)

func TestFilter_AcceptsGrammar(t *testing.T) {
	for _, filter := range []string{
		`userName eq "bjensen"`, `name.familyName co "O'Malley"`, `userName sw "J"`, `title pr`, `meta.lastModified gt "2011-05-13T04:42:34Z"`,
		`urn:ietf:params:scim:schemas:core:2.0:User:userName sw "J"`, `title pr and userType eq "Employee"`, `title pr or userType eq "Intern"`,
		`schemas eq "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"`,
		`userType eq "Employee" and (emails co "example.com" or emails.value co "example.org")`,
		`userType ne "Employee" and not (emails co "example.com" or emails.value co "example.org")`,
		`userType eq "Employee" and emails[type eq "work" and value co "@example.com"]`,
		`emails[type eq "work" and value co "@example.com"] or ims[type eq "xmpp" and value co "@foo.com"]`, `active EQ true`,
		`NOT(active eq true)`,
		`a eq null`, `a eq -1.5e3`, `userName eq "a \"b\" ) ]"`, `emails[not (type pr)]`, `(((a pr)))`, `members[$ref eq "x"]`,
		`userName  eq  "a"  and  b pr `,
	} {
		require.NoError(t, grammar.Filter(filter), filter)
	}
}

func TestFilter_RejectsWithOffset(t *testing.T) {
	for filter, place := range map[string]int{
		``: 0, ` `: 1, `userName`: 8, `userName "a"`: 9, `userName xx "a"`: 9, `userName eq`: 11, `userName eq "a`: 12, `userName eq 'a'`: 12,
		`userName eq a`:       12,
		`userName eq "a" and`: 19, `userName eq "a" and or b pr`: 23, `and userName eq "a"`: 4, `userName eq "a" b pr`: 16, `(userName pr`: 12,
		`userName pr)`:    11,
		`not userName pr`: 0, `emails[]`: 7, `emails[type pr`: 14, `emails[value[type pr] pr]`: 13, `userName pr "a"`: 12, `a.b.c eq "x"`: 0,
		`userName eq "\x"`: 12,
		`userName eq {}`:   12, `title pranduserName pr`: 6, `a pr and"b" pr`: 8, `1a pr`: 0, `userName eq "a", b pr`: 15,
	} {
		err := grammar.Filter(filter)
		at, ok := errors.AsType[*grammar.Error](err)
		require.True(t, ok, filter)
		require.Equal(t, place, at.Offset, "%s: %v", filter, err)
		require.False(t, at.Common, filter)
	}
}

// TestFilter_MarksCommonForm checks that only a sub-attribute after a value path, a form that many clients send, is marked as common.
func TestFilter_MarksCommonForm(t *testing.T) {
	at, ok := errors.AsType[*grammar.Error](grammar.Filter(`emails[type eq "work"].value eq "a@example.com"`))
	require.True(t, ok)
	require.True(t, at.Common)
	at, ok = errors.AsType[*grammar.Error](grammar.Filter(`emails[type eq "work"].value eq`))
	require.True(t, ok)
	require.False(t, at.Common)
}

func TestPaths(t *testing.T) {
	for _, path := range []string{
		`members`, `name.familyName`, `addresses[type eq "work"]`, `members[value eq "2819c223"]`, `members[value eq "2819c223"].displayName`,
		`urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value`, `emails[type eq "work" and value ew "x"].value`,
	} {
		require.NoError(t, grammar.Path(path), path)
	}
	for _, path := range []string{``, `/userName`, `emails[type eq "work"`, `emails[].value`, `emails[0]`, `a.b.c`,
		`emails[type eq "work"].a.b`, `emails[type eq "work"]value`, ` userName`, `userName eq "a"`} {
		require.Error(t, grammar.Path(path), path)
	}
}

func TestFilter_RejectsDeepNesting(t *testing.T) {
	require.Error(t, grammar.Filter(strings.Repeat("(", 10_000)+"a pr"+strings.Repeat(")", 10_000)))
}

func FuzzFilterAndPath(f *testing.F) {
	f.Add(`emails[type eq "work"].value eq "a"`)
	f.Add(`not (a pr and b eq "\u00e4")`)
	f.Fuzz(func(_ *testing.T, s string) {
		_ = grammar.Filter(s)
		_ = grammar.Path(s)
	})
}
