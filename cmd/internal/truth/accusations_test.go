package truth_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
)

// TestSuite_AccusesOnlyFault applies faults that checks of other requirements have reported before (see mutants/observed.go). Only the
// checks of the violated requirement may complain, with the outcome for this requirement, and their findings describe the fault.
func TestSuite_AccusesOnlyFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mutant   string
		areas    []string
		outcomes map[string]conformance.Outcome
		// findings are parts of the texts of findings, by check. A part after "!" must not occur.
		findings map[string]string
	}{
		{"create.nameless-everywhere", []string{"bulk"}, map[string]conformance.Outcome{
			"bulk.error": conformance.Pass, "bulk.fail-on-errors": conformance.Pass, "bulk.fail-on-errors-counts": conformance.Pass,
			"bulk.reference-failed": conformance.Pass, "bulk.continues": conformance.Pass,
		}, nil},
		{"bulk.limit-reached-400", []string{"bulk"}, map[string]conformance.Outcome{
			"bulk.fail-on-errors": conformance.Fail, "bulk.fail-on-errors-counts": conformance.Fail, "bulk.error": conformance.Pass,
		}, map[string]string{"bulk.fail-on-errors": "reaches failOnErrors"}},
		{"bulk.unprocessed-results", []string{"bulk"}, map[string]conformance.Outcome{"bulk.fail-on-errors": conformance.Warn}, nil},
		{"bulk.location-lost", []string{"bulk"}, map[string]conformance.Outcome{
			"bulk.put": conformance.Fail, "bulk.delete": conformance.Fail,
		}, map[string]string{"bulk.put": "location of the result of PUT", "bulk.delete": "!the response has"}},
		{"bulk.location-of-collection", []string{"bulk"}, map[string]conformance.Outcome{"bulk.delete": conformance.Fail},
			map[string]string{"bulk.delete": "location of the result of DELETE"}},
		{"filter.absent-fails", []string{"filter"}, map[string]conformance.Outcome{
			"filter.multi-valued-sw": conformance.Fail, "filter.value-path-co": conformance.Fail, "filter.sub-attribute-eq": conformance.Pass,
		}, map[string]string{"filter.multi-valued-sw": "400 with scimType invalidValue"}},
		{"filter.refused-later", []string{"filter"}, map[string]conformance.Outcome{"filter.sub-attribute-eq": conformance.Fail},
			map[string]string{"filter.sub-attribute-eq": "as for the same filter with other operands"}},
		{"filter.display-name-exact", []string{"filter"}, map[string]conformance.Outcome{
			"filter.unicode-case": conformance.Skip, "filter.unicode": conformance.Pass,
		}, nil},
		{"filter.certificates-fail", []string{"filter"}, map[string]conformance.Outcome{
			"filter.binary-order-gt": conformance.Skip, "filter.binary-order-le": conformance.Skip, "filter.certificates": conformance.Warn,
			"filter.boolean-order-ge": conformance.Pass,
		}, nil},
		{"sort.element-path-ignored", []string{"sort"}, map[string]conformance.Outcome{
			"sort.primary-value": conformance.Skip, "sort.sub-attribute-path": conformance.Fail,
		}, nil},
		{"sort.first-not-primary", []string{"sort"}, map[string]conformance.Outcome{
			"sort.primary-value": conformance.Fail, "sort.sub-attribute-path": conformance.Pass,
		}, nil},
		{"patch.filter-sees-new-value", []string{"patch"}, map[string]conformance.Outcome{
			"patch.replace-all-matches": conformance.Pass, "patch.replace-filter-attribute": conformance.Fail,
		}, nil},
		{"patch.schema-not-needed", []string{"patch"}, map[string]conformance.Outcome{"patch.message-schema": conformance.Warn}, nil},
		{"patch.empty-name-generated", []string{"patch"}, map[string]conformance.Outcome{"patch.replace-empty-user-name": conformance.Fail},
			map[string]string{"patch.replace-empty-user-name": "after the PATCH that returned 20"}},
		{"groups.repeated-value-twice", []string{"groups"}, map[string]conformance.Outcome{
			"groups.patch-same-members": conformance.Pass, "groups.patch-repeated-members": conformance.Warn,
		}, nil},
		{"groups.same-members-refused", []string{"groups"}, map[string]conformance.Outcome{
			"groups.patch-same-members": conformance.Warn, "groups.patch-repeated-members": conformance.Pass,
		}, nil},
		{"groups.add-again-twice", []string{"groups"}, map[string]conformance.Outcome{"groups.patch-add-member": conformance.Warn}, nil},
		{"groups.add-again-replaces", []string{"groups"}, map[string]conformance.Outcome{"groups.patch-add-member": conformance.Fail}, nil},
	} {
		t.Run(c.mutant, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(mutants.All(), func(m mutants.Mutant) bool { return m.ID == c.mutant })
			require.NotEqual(t, -1, i, c.mutant)
			r := suite(t, mutants.All()[i].Wrap(newReferenceServer(t)), c.areas...)
			for _, result := range r.Checks {
				if want, ok := c.outcomes[result.Check.ID]; ok {
					require.Equal(t, want, result.Outcome, "%s", describe(result))
				}
				part, absent := strings.CutPrefix(c.findings[result.Check.ID], "!")
				if part != "" {
					require.Equal(t, !absent, strings.Contains(describe(result), part), "%s: %q", describe(result), part)
				}
			}
		})
	}
}
