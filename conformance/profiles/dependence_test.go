package profiles

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
)

// TestDependences_RowsApply checks that each row names existing checks, and that a step of a profile sends its request.
func TestDependences_RowsApply(t *testing.T) {
	var steps []step
	for _, p := range All() {
		for _, flow := range p.ClientFlows {
			steps = append(steps, flow.Steps...)
		}
	}
	all := checks.All()
	for _, d := range dependences {
		require.True(t, slices.ContainsFunc(steps, d.sent), "no step sends the request of %s", d.checks)
		for _, id := range strings.Fields(d.checks) {
			require.True(t, slices.ContainsFunc(all, func(c conformance.Check) bool { return c.ID == id }), id)
		}
	}
}

func TestDependents_FollowRequests(t *testing.T) {
	for id, want := range map[string][]string{
		"create.status":                     {"okta", "entra", "jumpcloud", "onelogin", "ping", "google", "authentik"},
		"patch.replace-no-path":             {"okta", "entra"},
		"patch.op-ignores-case":             {"entra"},
		"put.replaces":                      {"okta", "jumpcloud", "onelogin", "ping", "google", "authentik"},
		"list.stable-order":                 {"okta"},
		"create.accepts-json-media-type":    {"onelogin"},
		"groups.exclude-members":            {"entra"},
		"groups.patch-remove-member":        {"okta", "entra", "jumpcloud", "onelogin"},
		"discovery.service-provider-config": {"authentik"},
		"delete.unknown":                    {"entra"},
		"sort.ascending":                    nil,
		"okta.catalog-create":               {"okta"},
	} {
		var got []string
		for _, p := range Dependents(conformance.Check{ID: id}) {
			got = append(got, p.ID)
		}
		require.Equal(t, want, got, id)
	}
}

// TestChecks_WatchOnlyOwnEndpoints checks that a check with Watch ignores responses of endpoints that no selected client reads.
func TestChecks_WatchOnlyOwnEndpoints(t *testing.T) {
	for _, tt := range []struct {
		client string
		seen   []string
	}{
		{"okta", []string{"/Users", "/Users/1", "/Groups"}},
		{"authentik", []string{"/Users", "/Users/1", "/Groups", "/ServiceProviderConfig"}},
	} {
		var seen []string
		watch := func(x *conformance.ObservedExchange) { seen = append(seen, x.Request.Path) }
		selected, _, err := Select([]conformance.Check{{ID: "traffic.json", Watch: watch}}, tt.client)
		require.NoError(t, err)
		for _, path := range []string{"/Users", "/Users/1", "/Groups", "/ResourceTypes", "/Schemas", "/ServiceProviderConfig"} {
			selected[0].Watch(&conformance.ObservedExchange{Request: conformance.Request{Path: path}})
		}
		require.Equal(t, tt.seen, seen, tt.client)
	}
}

// TestSelect_OnlyReadEndpoints checks that the checks of Okta alone include none about /ServiceProviderConfig, which Okta does not read.
func TestSelect_OnlyReadEndpoints(t *testing.T) {
	selected, _, err := Select(checks.All(), "okta")
	require.NoError(t, err)
	for _, c := range selected {
		require.NotEqual(t, "patch.advertised", c.ID)
		require.NotEqual(t, "discovery", c.Area())
	}
}
