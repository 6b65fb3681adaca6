// Package mutants breaks correct SCIM servers, one rule at a time. A mutant wraps a handler and rewrites requests on their
// way in or answers on their way out, so it works on any server that is right. A check that fails on no mutant proves
// nothing; a mutant that no check notices is a hole in the suite.
//
// Variants are the opposite: they turn a correct server into another correct one, by choices that the RFCs leave open and
// that other test suites have wrongly failed. No check may complain about them.
//
// The package is for tests of the suite. It is no chaos proxy and no model of any vendor.
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
	return slices.Concat(discovery, discoveryMore, auth, authEverywhere, create, read, list, listPages, filter, filterTypes, filterLogic,
		filterSyntax, filterValues, filterSchema, sort, projection, projectionForms, search, root, cursor, put, patch, del, groups, errors,
		traffic, patchPaths, bulk, etag, me, concurrency, characteristics, customTypes, groupsMore, createMore, body, putMore, deleteMore, oracle)
}

// A Variant is a permitted way to be different.
type Variant struct {
	ID string
	// Permits says what the variant does, and why it is right.
	Permits string
	Wrap    func(next http.Handler) http.Handler
}
