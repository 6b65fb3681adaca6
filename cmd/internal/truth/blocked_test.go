package truth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// A fault of a simpler feature is a finding of the check of that feature. Checks that depend on the feature do not accuse the server of a
// fault of their own.
func TestSuite_SimplerFeatureBlocks(t *testing.T) {
	t.Parallel()
	for mutant, expected := range map[string]struct {
		reports string // the checks that have a finding
		silent  string // the checks that have none
	}{
		"patch.value-path-refused": {"patch.remove-value-path patch.replace-value-path patch.replace-value-path-object",
			"patch.filter-ignores-case patch.again-and-again patch.primary-last-wins patch.replace-primary patch.filter-quotes " +
				"patch.filter-brackets patch.urn-value-path patch.replace-value-path-same"},
		"patch.remove-needs-value":        {"patch.remove-external-id patch.remove-simple", "patch.remove-required patch.remove-read-only"},
		"patch.deactivation-refused":      {"patch.deactivate", "patch.inactive-stays"},
		"patch.list-unwrapped":            {"patch.wrong-type-text", "patch.wrong-type"},
		"patch.add-needs-array":           {"patch.add-object", "patch.add-multi-valued"},
		"patch.absent-operation-replaces": {"patch.absent-operation", "patch.unknown-operation patch.empty-operation"},
		"patch.empty-operation-replaces":  {"patch.empty-operation", "patch.unknown-operation patch.absent-operation"},
		"projection.attributes-ignored": {"projection.attributes",
			"projection.meta-part projection.meta projection.sub-attribute projection.urn-case projection.whole-complex"},
		"projection.excluded-ignored": {"projection.excluded", "projection.excluded-case projection.excluded-urn projection.excluded-part"},
		"projection.user-name-always": {"projection.id-alone",
			"projection.meta-part projection.members-on-demand projection.whole-complex"},
		"filter.eq-by-name-only":            {"filter.eq", "filter.reference-eq"},
		"filter.absent-is-less":             {"filter.absent-less", "filter.multi-valued-lt filter.sub-attribute-le"},
		"filter.percent-raw":                {"filter.encoding-percent", "filter.encoding-lower-case"},
		"discovery.certificates-as-strings": {"discovery.user-types", "filter.binary-order-gt filter.binary-order-le"},
	} {
		t.Run(mutant, func(t *testing.T) {
			t.Parallel()
			reports, silent := strings.Fields(expected.reports), strings.Fields(expected.silent)
			r := suite(t, mutantNamed(t, mutant)(newReferenceServer(t)), append(reports, silent...)...)
			require.Len(t, r.Checks, len(reports)+len(silent))
			byID := map[string]conformance.CheckResult{}
			for _, c := range r.Checks {
				byID[c.Check.ID] = c
			}
			for _, id := range reports {
				assert.True(t, noticed(byID[id]), describe(byID[id]))
			}
			for _, id := range silent {
				assert.False(t, complains(byID[id]), describe(byID[id]))
			}
		})
	}
}
