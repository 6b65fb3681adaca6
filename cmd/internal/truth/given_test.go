package truth_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/scim"
)

// TestSuite_PassesWithGivenAttributes checks that the reference server passes with attributes that the options add to every user.
func TestSuite_PassesWithGivenAttributes(t *testing.T) {
	t.Parallel()
	users := map[string]conformance.Doc{
		"a type":                  {"userType": "staff"},
		"strings":                 {"title": "x", "preferredLanguage": "en", "locale": "en-US", "timezone": "Europe/Berlin"},
		"members of an extension": {scim.EnterpriseUserSchema: map[string]any{"employeeNumber": "7", "department": "d"}},
		"one of an extension":     {scim.EnterpriseUserSchema: map[string]any{"costCenter": "4130"}},
		"addresses":               {"emails": []any{map[string]any{"value": "fixed@example.com", "type": "home"}}},
		"a name":                  {"name": map[string]any{"givenName": "A", "familyName": "B", "formatted": "A B"}},
	}
	for _, name := range alltest.Sample(slices.Sorted(maps.Keys(users)), 3) {
		user := users[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{newReferenceServer(t)}}
			r, err := conformance.Run(t.Context(), target,
				conformance.Options{Checks: checks.All(), Attributes: map[string]conformance.Doc{"User": user}})
			require.NoError(t, err)
			for _, c := range r.Checks {
				assert.False(t, complains(c), "%s", describe(c))
			}
			require.Greater(t, r.Count(conformance.Pass), len(checks.All())*9/10, "only checks of these attributes are skipped")
		})
	}
}
