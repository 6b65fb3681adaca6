package sandbox_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/profiles"
)

// talk holds the conversations of one profile with a handler.
func talk(t *testing.T, h http.Handler, name string) *conformance.Result {
	t.Helper()
	_, selected, err := profiles.Select(name)
	require.NoError(t, err)
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{h}}
	r, err := conformance.Run(t.Context(), target, conformance.Options{Profiles: selected})
	require.NoError(t, err)
	return r
}

func TestEveryClientWorksWithTheReferenceServer(t *testing.T) {
	for _, p := range profiles.All() {
		t.Run(p.ID, func(t *testing.T) {
			r := talk(t, newReferenceServer(t), p.ID)
			for _, c := range r.Checks {
				require.Equal(t, conformance.Pass, c.Outcome, "%s", describe(c))
				require.LessOrEqual(t, c.Requests, c.Check.Requests, c.Check.ID)
			}
			require.Len(t, r.Profiles, len(p.Conversations))
			for _, v := range r.Profiles {
				require.Equal(t, conformance.Works, v.Fit, "%+v", v)
				require.Empty(t, v.Limits)
				require.Equal(t, p.Doubt, v.Doubt)
			}
			require.Empty(t, r.Leftovers)
			require.Equal(t, conformance.Clean, r.Verdict, r.Reason)
		})
	}
}
