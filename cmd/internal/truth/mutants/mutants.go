// Package mutants breaks correct SCIM servers, one rule at a time. A mutant wraps a handler and rewrites requests or responses, so that it
// works on any correct server. A check that fails on no mutant proves nothing. A mutant that passes every check shows a missing check.
//
// A variant turns a correct server into another correct one, by a choice that the RFCs leave open and that other test suites have wrongly
// failed. No check may fail on a variant.
//
// The package is for the tests of the suite. It simulates neither unreliable networks nor the servers of vendors (scimserver/quirks does).
package mutants

import (
	"net/http"
	"slices"
)

// A Mutant is a named fault.
type Mutant struct {
	// ID is words, area first. The areas are those of the checks, and checks of the same area must notice the mutant.
	ID string
	// Breaks says what the mutant does wrong, as a sentence without the final stop.
	Breaks string
	// Wrap returns next with the fault. State that a fault needs is per call of Wrap.
	Wrap func(next http.Handler) http.Handler
}

// All returns every mutant. The caller may change the slice.
func All() []Mutant {
	return slices.Concat(
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
	)
}

// A Variant is a permitted way to be different.
type Variant struct {
	ID string
	// Permits says what the variant does, and why it is right.
	Permits string
	Wrap    func(next http.Handler) http.Handler
}
