package mutants

import (
	"net/http"
	"slices"
)

// A Mutant is a named fault.
type Mutant struct {
	// ID is the area, a dot and a name. The areas are those of the checks. A check of the same area must detect the mutant.
	ID string
	// Breaks describes the fault as a sentence without a full stop.
	Breaks string
	// Wrap returns next with the fault. Each call has its own state.
	Wrap func(next http.Handler) http.Handler
}

// All returns every mutant. The caller may change the slice.
func All() []Mutant {
	return slices.Concat(
		steadiness,
		discovery,
		schemaDefinitions,
		plainHTTP,
		auth,
		authEverywhere,
		create,
		read,
		list,
		listPages,
		filter,
		filterTypes,
		filterLogic,
		filterSyntax,
		filterValues,
		filterSchema,
		sort,
		projection,
		projectionForms,
		search,
		root,
		cursor,
		put,
		patch,
		del,
		groups,
		errors,
		traffic,
		patchPaths,
		bulk,
		etag,
		me,
		concurrency,
		characteristics,
		customTypes,
		groupMembers,
		createValues,
		body,
		putEffects,
		deleteEffects,
		oracle,
		outsider(),
		missed,
		observed,
		clientFaults,
	)
}

// A Variant is a permitted change to a correct server.
type Variant struct {
	ID string
	// Permits describes the variant as a sentence without a full stop.
	Permits string
	Wrap    func(next http.Handler) http.Handler
}
