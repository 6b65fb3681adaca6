package catalog_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
)

func TestTable_Consistent(t *testing.T) {
	seen := map[string]bool{}
	for e := range catalog.All() {
		require.NotEmpty(t, e.Modes, e.Name)
		for _, m := range e.Modes {
			require.Contains(t, catalog.Modes(), m, e.Name)
			require.True(t, e.Has(m))
		}
		if e.Custom() {
			require.Len(t, e.Modes, 1, "a custom entry is found by its mode")
			require.NotEmpty(t, e.SignOn, "a custom entry has sign-on settings only")
			continue
		}
		require.False(t, seen[e.Name], "duplicate entry %s", e.Name)
		seen[e.Name] = true
		found, ok := catalog.Named(e.Name)
		require.True(t, ok)
		require.Same(t, e, found)
	}
	require.Equal(t, len(seen), len(catalog.Names()))
}

func TestSettings_UniqueNames(t *testing.T) {
	for e := range catalog.All() {
		var names []string
		for _, s := range slices.Concat(e.App, e.SignOn) {
			names = append(names, s.Name)
			if s.Alias != "" {
				names = append(names, s.Alias)
			}
		}
		slices.Sort(names)
		require.Equal(t, slices.Compact(slices.Clone(names)), names, e.Name)
	}
}

func TestMandatorySettingsByTemplate(t *testing.T) {
	want := map[string][]string{
		"bookmark":            {"url"},
		"template_basic_auth": {"url", "authURL"},
		"template_swa":        {"url", "usernameField", "passwordField", "buttonField"},
		"template_swa3field": {
			"targetURL", "usernameSelector", "passwordSelector", "buttonSelector", "extraFieldSelector", "extraFieldValue",
		},
		"template_sps": {"url", "usernameField", "passwordField"},
	}
	got := map[string][]string{}
	for e := range catalog.All() {
		for _, s := range e.App {
			if s.Required {
				got[e.Name] = append(got[e.Name], s.Name)
			}
		}
	}
	require.Empty(t, cmp.Diff(want, got))
}

func TestCustomWith_FindsByMode(t *testing.T) {
	for _, m := range []catalog.Mode{catalog.SAML, catalog.AutoLogin} {
		e, ok := catalog.CustomWith(m)
		require.True(t, ok, m)
		require.True(t, e.Custom())
	}
	_, ok := catalog.CustomWith(catalog.Bookmark)
	require.False(t, ok)
	_, ok = catalog.Named("")
	require.False(t, ok, "custom entries have no name")
}
