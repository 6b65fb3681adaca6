// Package lenient lists the nonstandard requests that well-known provisioning clients send and that a server may accept anyway.
//
// Packages schema, patch and filter take the [Set] of leniencies to accept, and reject all other nonstandard requests. This package only
// names and describes the leniencies; it parses no requests. It does not cover nonstandard responses of a server.
package lenient

import (
	"fmt"
	"slices"
	"strings"
)

// Set is a set of leniencies.
type Set uint32

// To add a leniency: declare it before end, add a row to Rules, and implement it in scim/schema, scim/patch, scim/filter or scimserver with
// Set.Has. The tests of this package write docs/reference/leniencies.md with -update.

// The leniencies. [Rules] describes the requests that each leniency accepts.
const (
	OpCase Set = 1 << iota
	SpelledBooleans
	PathKeys
	RemoveValues
	CreateElement
	ReadOnlyEcho
	PlainValues
	EmptyReferences
	SingleValues
	UnknownAttributes
	UnknownSchemas
	LooseValues
	EchoedSchemas
	JSONValues
	DottedURNs
	BareExtensions

	end
	// All is the set of all leniencies.
	All = end - 1
)

// Rule describes one leniency.
type Rule struct {
	Set     Set // contains this leniency only
	Name    string
	Accepts string // human-readable, completes the sentence "the server accepts"
	SentBy  string
	RFC     string // what the RFC requires
}

// Rules returns the table of leniencies. The caller owns the result.
func Rules() []Rule {
	return []Rule{
		{OpCase, "op-case", "`Add`, `Replace` and `Remove` as op of a PATCH", "Entra ID without aadOptscim062020",
			"RFC 7644 section 3.5.2: lower case"},
		{SpelledBooleans, "spelled-booleans", "`\"True\"` and `\"False\"` (case-insensitive) for a boolean, also in filters",
			"Entra ID without aadOptscim062020",
			"RFC 7643 section 2.3.2: true and false are JSON literals"},
		{PathKeys, "path-keys", "paths as keys of a PATCH value without path: `name.givenName`, `urn:...:User:department`",
			"Entra ID with aadOptscim062020",
			"RFC 7644 section 3.5.2: the value holds attributes in the same form as a resource"},
		{RemoveValues, "remove-values", "PATCH remove with a list of the values to remove", "Entra ID without aadOptscim062020, JumpCloud",
			"RFC 7644 section 3.5.2.2 defines no value for remove; the path selects all values"},
		{CreateElement, "create-element", "PATCH add to `emails[type eq \"work\"].value` if no such element exists; the server creates it",
			"Entra ID",
			"RFC 7644 section 3.5.2.1 does not define this case. Without the leniency: 400 noTarget"},
		{ReadOnlyEcho, "read-only-echo", "`id`, `meta` and other read-only attributes in a PATCH value without path; the server ignores them",
			"Okta, authentik",
			"RFC 7644 section 3.5.2: the error mutability, unless the value is unchanged"},
		{PlainValues, "plain-values", "a plain value for an object with a `value`: `\"manager\": \"26\"`", "Entra ID",
			"RFC 7643 section 2.3.8: an object of sub-attributes"},
		{EmptyReferences, "empty-references",
			"`\"\"` and `{\"value\": \"\"}` for a reference to a resource, such as the manager; the server unassigns it", "Entra ID",
			"RFC 7643 section 2.5: null unassigns; an empty string is a value"},
		{SingleValues, "single-values", "a single value instead of an array, in POST and PUT", "Entra ID",
			"RFC 7643 section 2.4: an array"},
		{UnknownAttributes, "unknown-attributes", "attributes in POST and PUT that no schema defines; the server drops them",
			"Okta (a PUT with attributes read from another system), Entra ID",
			"RFC 7644 section 3.3: invalidValue for attributes that do not match the schema"},
		{UnknownSchemas, "unknown-schemas", "URIs in `schemas` that the resource type does not define; the server drops them",
			"Entra ID (`http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group`)",
			"RFC 7643 section 3: only schemas of the resource type"},
		{LooseValues, "loose-values",
			"values that violate the syntax of their attribute; the server stores them: `\"USA\"` as country, `\"Eastern Standard " +
				"Time\"` as timezone, a userName with spaces",
			"Okta, Entra ID: any value of their directories",
			"RFC 7643 section 4.1: ISO 3166-1, BCP 47, IANA time zones, URLs, one DER certificate; RFC 7644 section 5: PRECIS"},
		{EchoedSchemas, "echoed-schemas", "`schemas` inside the object of an extension; the server ignores it",
			"scim2-tester, libraries that model an extension as a resource",
			"RFC 7643 section 3.3: the object holds the attributes of the extension"},
		{JSONValues, "json-values",
			"an object as a JSON string in the `value` of an element; the server uses its `value` and `displayName`: `{\"value\": \"{\\\"id\\\": " +
				"\\\"6b\\\", \\\"value\\\": \\\"25\\\", \\\"displayName\\\": \\\"Admin\\\"}\"}`",
			"Entra ID (roles whose attribute mapping has no function, or the function AppRoleAssignmentsComplex)",
			"RFC 7643 section 2.4: `value` and `display` are sub-attributes; the string is a plain value"},
		{DottedURNs, "dotted-urns",
			"a dot between the URN of an extension and its attribute in the path of a PATCH: `urn:...:enterprise:2.0:User.manager`",
			"older versions of Azure AD",
			"RFC 7644 section 3.10: a colon. Without the leniency: 400 invalidPath"},
		{BareExtensions, "bare-extensions",
			"an attribute of an extension without its URN in the path of a PATCH, if exactly one extension defines it: `manager`",
			"Entra ID, if an attribute mapping has this form",
			"RFC 7644 section 3.10: the URN and a colon precede the name. Without the leniency: 400 invalidPath"},
	}
}

// Has reports whether the set contains all leniencies of other.
func (s Set) Has(other Set) bool { return s&other == other }

// Names returns the names of the leniencies in the set, in the order of [Rules].
func (s Set) Names() []string {
	var names []string
	for _, r := range Rules() {
		if s.Has(r.Set) {
			names = append(names, r.Name)
		}
	}
	return names
}

// Parse returns the set of the named leniencies.
func Parse(names ...string) (Set, error) {
	var set Set
	rules := Rules()
	for _, name := range names {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("unknown leniency %q; known leniencies: %s", name, strings.Join(All.Names(), ", "))
		}
		set |= rules[i].Set
	}
	return set, nil
}
