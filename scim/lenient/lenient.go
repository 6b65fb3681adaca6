// Package lenient names what well-known provisioning clients send outside the RFCs and a server may accept all the same.
//
// Packages schema and patch take a [Set] and refuse what is not in it. This package is the list and the words for it; it
// reads nothing itself. What a server sends outside the RFCs is no part of it.
package lenient

import (
	"fmt"
	"slices"
	"strings"
)

// Set is a set of leniencies.
type Set uint32

// The leniencies. [Rules] describes what each accepts. A new one is added before end, has a row in Rules, and is implemented where
// scim/schema, scim/patch, scim/filter or scimserver call Set.Has. The tests of this package write docs/leniencies.md with -update.
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
	// All is everything that is accepted.
	All = end - 1
)

// Rule describes one leniency.
type Rule struct {
	Set     Set // with this leniency alone
	Name    string
	Accepts string // in words, as the end of "the server accepts"
	SentBy  string
	RFC     string // what the RFC says instead
}

// Rules returns the table of leniencies. The value is the caller's own.
func Rules() []Rule {
	return []Rule{
		{OpCase, "op-case", "`Add`, `Replace` and `Remove` as op of a PATCH", "Entra ID without aadOptscim062020",
			"RFC 7644 section 3.5.2 has lower case"},
		{SpelledBooleans, "spelled-booleans", "`\"True\"` and `\"False\"` in any letter case for a boolean, in filters too",
			"Entra ID without aadOptscim062020",
			"RFC 7643 section 2.3.2: true and false are JSON literals"},
		{PathKeys, "path-keys", "paths as keys of a PATCH value without path: `name.givenName`, `urn:...:User:department`",
			"Entra ID with aadOptscim062020",
			"RFC 7644 section 3.5.2: the value has attributes as a resource has them"},
		{RemoveValues, "remove-values", "PATCH remove with a list of the values to remove", "Entra ID without aadOptscim062020, JumpCloud",
			"RFC 7644 section 3.5.2.2 knows no value; the path names all values"},
		{CreateElement, "create-element", "PATCH add to `emails[type eq \"work\"].value` when there is none such, which creates it", "Entra ID",
			"RFC 7644 section 3.5.2.1 is silent; noTarget otherwise"},
		{ReadOnlyEcho, "read-only-echo", "`id`, `meta` and other read-only attributes in a PATCH value without path, and ignores them",
			"Okta, authentik",
			"RFC 7644 section 3.5.2: mutability, unless the value is the one there"},
		{PlainValues, "plain-values", "a plain value for an object with a `value`: `\"manager\": \"26\"`", "Entra ID",
			"RFC 7643 section 2.3.8: an object of sub-attributes"},
		{EmptyReferences, "empty-references",
			"`\"\"` and `{\"value\": \"\"}` for a reference to a resource, such as the manager, which unassigns it", "Entra ID",
			"RFC 7643 section 2.5: null unassigns; an empty string is a value"},
		{SingleValues, "single-values", "one value where an array is due, in POST and PUT", "Entra ID",
			"RFC 7643 section 2.4: an array"},
		{UnknownAttributes, "unknown-attributes", "attributes that no schema defines in POST and PUT, and drops them",
			"Okta (a PUT of what it read elsewhere), Entra ID",
			"RFC 7644 section 3.3: invalidValue is due for what does not fit the schema"},
		{UnknownSchemas, "unknown-schemas", "URIs in `schemas` that the resource type does not have, and drops them",
			"Entra ID (`http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group`)",
			"RFC 7643 section 3: only schemas of the resource type"},
		{LooseValues, "loose-values",
			"values outside the syntax that their attribute has beyond its type, and keeps them: `\"USA\"` as country, `\"Eastern Standard " +
				"Time\"` as timezone, a userName with spaces",
			"Okta, Entra ID: whatever their directories hold",
			"RFC 7643 section 4.1: ISO 3166-1, BCP 47, IANA time zones, URLs, one DER certificate; RFC 7644 section 5: PRECIS"},
		{EchoedSchemas, "echoed-schemas", "`schemas` inside the object of an extension, and ignores it",
			"scim2-tester, libraries that model an extension as a resource",
			"RFC 7643 section 3.3: the object holds the attributes of the extension"},
		{JSONValues, "json-values",
			"an object as JSON text in the `value` of an element, of which it takes `value` and `displayName`: `{\"value\": \"{\\\"id\\\": " +
				"\\\"6b\\\", \\\"value\\\": \\\"25\\\", \\\"displayName\\\": \\\"Admin\\\"}\"}`",
			"Entra ID (roles mapped without a function, or by AppRoleAssignmentsComplex)",
			"RFC 7643 section 2.4: `value` and `display` are sub-attributes; the text is a value"},
		{DottedURNs, "dotted-urns",
			"a dot between the URN of an extension and its attribute in the path of a PATCH: `urn:...:enterprise:2.0:User.manager`",
			"Azure AD of old",
			"RFC 7644 section 3.10: a colon; invalidPath otherwise"},
		{BareExtensions, "bare-extensions",
			"an attribute of an extension without its URN in the path of a PATCH, when one extension alone has it: `manager`",
			"Entra ID, where an attribute is mapped that way",
			"RFC 7644 section 3.10: the URN and a colon come first; invalidPath otherwise"},
	}
}

// Has says whether all leniencies of other are in the set.
func (s Set) Has(other Set) bool { return s&other == other }

// Names lists the set by name, in the order of [Rules].
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
			return 0, fmt.Errorf("there is no leniency %q; there are %s", name, strings.Join(All.Names(), ", "))
		}
		set |= rules[i].Set
	}
	return set, nil
}
