package truth_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
)

// An accusation is a check that has complained about servers that behave as permitted.
type accusation struct {
	check string
	// variants are permitted servers about which the check complained. rule is what keeps the check silent: without it, the check complains
	// about each of the variants.
	variants []string
	rule     string
}

const (
	bySurvey = "an attribute that the target does not store as sent is replaced by another one"
	byOrder  = "pages are compared as numbers or sets if the order of lists is not stable"
	byState  = "the state after a rejected PATCH is compared with the state before, not with what was sent"
	byWrite  = "a read is compared with the response to the write, not with what was sent"
	byRepeat = byOrder + "; a finding that does not occur again is unsteady"
)

// accusations are the false accusations that were seen on servers that derive or reject attributes, and on one with lists in random order.
var accusations = []accusation{
	{"patch.response", []string{"display-name-read-only"}, bySurvey},
	{"patch.no-change", []string{"display-name-derived", "display-name-read-only", "two-attributes", "three-attributes"}, bySurvey},
	{"patch.replace-unicode", []string{"display-name-derived", "display-name-read-only", "two-attributes", "three-attributes"}, bySurvey},
	{"projection.on-patch", []string{"display-name-derived", "display-name-read-only", "two-attributes", "three-attributes"}, bySurvey},
	{"concurrency.patch-attributes", []string{"display-name-derived", "family-name-capitals", "two-attributes", "three-attributes"}, bySurvey},
	{"concurrency.put-whole", []string{"display-name-derived", "family-name-capitals", "two-attributes", "three-attributes"}, bySurvey},
	{"create.long-text", []string{"display-name-derived", "display-name-read-only"}, bySurvey},
	{"patch.message-schema", []string{"display-name-read-only"}, bySurvey},
	{"patch.atomic", []string{"display-name-derived"}, byState},
	{"patch.wrong-type", []string{"family-name-capitals"}, byState},
	{"concurrency.read-your-writes", []string{"given-name-capitals"}, byWrite},
	{"concurrency.add-members", []string{"concurrent-writes-409"}, "concurrent requests may be rejected with 409, 412, 429 or 503"},
	{"filter.no-match", []string{"id-filters-rejected"}, "400 invalidFilter is a permitted rejection of a filter on id"},
	{"list.start-index-below-one", []string{"steadiness.random-order"}, byOrder},
	{"list.start-index-only", []string{"steadiness.random-order"}, byOrder},
	{"list.count-only", []string{"steadiness.random-order"}, byRepeat},
	{"list.with-attributes", []string{"steadiness.random-order"}, byRepeat},
}

// permittedServer returns the wrapper of a variant, or that of the mutant whose fault only the checks of the steadiness report.
func permittedServer(t *testing.T, id string) func(http.Handler) http.Handler {
	t.Helper()
	all := mutants.Variants()
	if i := slices.IndexFunc(all, func(v mutants.Variant) bool { return v.ID == id }); i >= 0 {
		return all[i].Wrap
	}
	require.Equal(t, "steadiness", areaOf(id))
	return mutantNamed(t, id)
}

// TestVariants_SilenceAccusations checks that no check complains about the permitted servers about which it complained before, and that it
// gives a reason if it does not evaluate them.
func TestVariants_SilenceAccusations(t *testing.T) {
	t.Parallel()
	byVariant := map[string][]string{}
	for _, a := range accusations {
		require.NotEmpty(t, a.rule, a.check)
		for _, v := range a.variants {
			byVariant[v] = append(byVariant[v], a.check)
		}
	}
	for variant, ids := range byVariant {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			r := suite(t, permittedServer(t, variant)(newReferenceServer(t)), ids...)
			require.Len(t, r.Checks, len(ids))
			for _, c := range r.Checks {
				require.False(t, complains(c), "%s", describe(c))
				require.True(t, c.Outcome != conformance.Skip || c.Reason != "", c.Check.ID)
			}
		})
	}
}
