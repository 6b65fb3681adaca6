package truth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/profiles"
)

// A server that stores members but never returns them gets one finding. Checks and steps that read members are blocked, because no response
// shows whether the server changes members.
func TestSuite_MembersNeverShown(t *testing.T) {
	t.Parallel()
	wrap := mutantNamed(t, "groups.members-never-shown")
	blocked := 0
	for _, c := range suite(t, wrap(newReferenceServer(t))).Checks {
		if c.Check.ID == "groups.create" {
			require.Equal(t, conformance.Fail, c.Outcome, describe(c))
			require.Len(t, c.Findings, 1)
			continue
		}
		assert.False(t, complains(c), describe(c))
		if c.BlockedBy != nil {
			blocked++
			assert.Contains(t, c.Reason, "without the members", c.Check.ID)
		}
		if c.Outcome == conformance.Pass {
			assert.NotContains(t, []string{"groups.patch-remove-all", "groups.patch-replace-empty", "groups.exclude-members"}, c.Check.ID,
				"the check cannot pass if responses contain no members")
		}
	}
	require.Greater(t, blocked, 20)

	r := runProfiles(t, wrap(newReferenceServer(t)), profiles.All()...)
	for _, v := range r.Profiles {
		assert.Empty(t, v.Breaks, "%+v", v)
	}
	for c := range r.All() {
		if strings.HasSuffix(c.Check.ID, "group-join") {
			assert.Contains(t, c.Reason, "without the members", describe(*c))
		}
	}
}
