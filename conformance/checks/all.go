package checks

import (
	"slices"

	"github.com/scimwright/scimwright/conformance"
)

// All returns every check, grouped by area, in the order in which they run. The caller may change the slice.
func All() []conformance.Check {
	return slices.Concat(
		discovery,
		schemaDefinitions,
		discoveryClaims,
		auth,
		authEverywhere,
		create,
		createValues,
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
		putEffects,
		patchAdd,
		patchReplace,
		patchRemove,
		patchRequest,
		patchMatrix,
		patchRejected,
		patchRules,
		del,
		deleteEffects,
		etag,
		me,
		concurrency,
		characteristics,
		characteristicValues,
		customTypes,
		groups,
		memberChanges,
		groupMembers,
		bulk,
		bulkReferences,
		bulkLimits,
		bulkMalformed,
		errors,
		oracles,
		traffic,
		trafficResources,
		trafficHeaders,
		trafficSchemas,
	)
}
