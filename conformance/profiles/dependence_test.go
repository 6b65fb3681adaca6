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
