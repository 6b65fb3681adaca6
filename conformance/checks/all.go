package checks

import (
	"slices"

	"github.com/scimwright/scimwright/conformance"
)

// All returns every check, grouped by area. Reports have this order; [Order] is that of a run. The caller may change the slice.
func All() []conformance.Check {
	return withCreatesNothing(slices.Concat(
		steadiness,
		discovery,
		schemaDefinitions,
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
	))
}
