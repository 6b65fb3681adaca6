// Package checks holds the checks of the conformance suite: one file per area, each check a value with its id, the
// statements it proves, why they matter and what to mend. Expectations are written out by hand.
//
// A check detects its fault: besides what must be there it looks for what must not be there. It never blames a target for
// something the RFCs permit; package mutants has the proof of both. What a check needs before it can ask its question (an
// object to read, say) is not its question: when that does not work the check is skipped and another one has the finding.
//
// A new check is a row in the list of its area here, cites ids of conformance/requirements/catalogue.json, and has a mutant in the file of
// the same name in conformance/mutants. The tests are in cmd/internal/sandbox: TestChecks_Complete reports what a row lacks,
// TestRequirements_ProvedOrJustified writes docs/requirements.md, and TestSuite_KillMatrix, with SCIMWRIGHT_TEST_ALL=1,
// shows that the check can fail and writes docs/kill-matrix.md (-update).
package checks

import (
	"slices"

	"github.com/scimwright/scimwright/conformance"
)

// All returns every check, grouped by area, in the order in which they run. The caller may change the slice.
func All() []conformance.Check {
	return slices.Concat(
		discovery,
		discoveryMore,
		auth,
		authEverywhere,
		create,
		createMore,
		body,
		read,
		plainHTTP,
		list,
		listPages,
		filterOperators,
		filterTypes,
		filterLogic,
		filterGrammar,
		filterSyntax,
		filterValues,
		filterSchema,
		sort,
		projection,
		projectionForms,
		projectionAnswers,
		searching,
		rootQueries,
		cursorPaging,
		put,
		putMore,
		patchAdd,
		patchReplace,
		patchRemove,
		patchRequest,
		patchMatrix,
		patchRefused,
		patchRules,
		del,
		deleteMore,
		etag,
		me,
		concurrency,
		characteristics,
		customTypes,
		groups,
		memberChanges,
		groupsMore,
		bulk,
		errors,
		oracles,
		traffic,
	)
}
