package causes

import (
	"regexp"
	"strconv"
	"strings"
)

// failed reports whether the target accepted a request that it must reject, or failed because of it.
func failed(e evidence) bool {
	return e.accepted() || erred(e) || strings.HasPrefix(e.want, "# (or") && strings.HasPrefix(e.got, "2") && status.MatchString(e.got)
}

// erred reports whether the response to a request is a server error.
func erred(e evidence) bool { return e.status >= 500 && e.got == strconv.Itoa(e.status) }

// rejected reports whether the target rejected a request that it must accept.
func rejected(e evidence) bool {
	return e.status >= 400 && (e.got == strconv.Itoa(e.status) || strings.HasPrefix(e.got, strconv.Itoa(e.status)+" ") ||
		strings.HasPrefix(e.got, "# with "))
}

// emailsRejected reports whether the target rejected a PATCH of all emails that it must accept.
func emailsRejected(e evidence) bool { return rejected(e) && strings.HasSuffix(e.operation, " emails") }

// stored reports whether the target accepted or returned a value that it must reject or ignore.
func stored(e evidence) bool {
	return failed(e) || e.status < 300 && !strings.HasPrefix(e.what, "scimType")
}

// succeeded reports whether the finding is about the content of a successful response.
func succeeded(e evidence) bool { return e.status >= 200 && e.status < 300 }

// content reports whether the finding is about a value in a successful response, not about its status.
func content(e evidence) bool { return succeeded(e) && !status.MatchString(e.got) }

// keyword reports whether the finding is about the scimType of an error.
func keyword(e evidence) bool { return strings.HasPrefix(e.what, "scimType") }

// selected reports whether a filter returned other objects than expected.
func selected(e evidence) bool {
	return e.status == 200 && strings.Contains(e.request, "filter") && !e.accepted()
}

// notFound reports whether a filter returned none of the objects that match.
func notFound(e evidence) bool { return selected(e) && (e.got == "[]" || e.got == "null") }

// unmatched reports whether a filter found none of the objects that match, or was rejected.
func unmatched(e evidence) bool { return notFound(e) || rejected(e) }

// crashed reports whether an error has the message of an exception of the target's program.
func crashed(e evidence) bool { return e.status >= 400 && programError.MatchString(e.detail) }

// programError matches the message of an exception that a program has not handled.
var programError = regexp.MustCompile(`(?i)\bundefined\b|not iterable|cannot (?:read|use|convert|invoke)|exception|internal error`)

// about returns a condition: the finding starts with the text.
func about(text string) func(e evidence) bool {
	return func(e evidence) bool { return strings.HasPrefix(e.what, text) }
}

// topics are in the order of precedence.
var topics = []topic{
	// Attributes and values of resources.
	{id: "required", evidence: "requests without a required value are accepted", when: failed,
		pair: []string{"create.missing-user-name", "patch.replace-empty-user-name"}, checks: []string{
			"create.missing-user-name", "put.null-required", "patch.remove-required", "patch.replace-required",
			"patch.replace-empty-user-name", "groups.missing-display-name", "groups.put-no-display-name", "characteristics.required"}},
	{id: "repeated", evidence: "values that a multi-valued attribute already has are stored a second time", min: 1,
		provedShare: 50, checks: []string{
			"create.repeated-emails", "patch.add-existing", "groups.patch-add-member", "groups.patch-repeated-members",
			"groups.add-again-unchanged", "groups.repeated-members"}},
	{id: "primary", evidence: "several elements of one attribute have primary true", when: succeeded, provedShare: 70, checks: []string{
		"read.primary-once", "put.two-primaries", "patch.two-primaries", "patch.add-primary", "patch.replace-primary",
		"patch.primary-last-wins", "traffic.one-primary"}},
	{id: "read-only-errors", evidence: "requests that change readOnly attributes lead to a server error", when: erred, checks: []string{
		"patch.read-only", "patch.read-only-no-path", "patch.remove-read-only", "patch.atomic-read-only", "groups.member-immutable",
		"groups.rename-with-id"}},
	{id: "read-only", evidence: "requests change readOnly attributes", min: 1, when: stored,
		pair: []string{"patch.read-only", "patch.remove-read-only"}, checks: []string{
			"create.ignores-meta", "create.groups-ignored", "put.ignores-read-only", "patch.read-only", "patch.read-only-no-path",
			"patch.remove-read-only", "patch.groups-read-only"}},
	{id: "unique", evidence: "a second user with the same userName is accepted", when: failed, checks: []string{
		"create.duplicate-user-name", "create.duplicate-other-case", "put.conflict", "patch.replace-conflict"}},
	{id: "types", evidence: "values of a wrong JSON type are not rejected", when: stored, min: 3, checks: []string{
		"create.kind-*", "create.wrong-types", "put.wrong-type", "patch.wrong-type*", "patch.boolean-as-text"}},
	{id: "undeclared", evidence: "attributes and schemas that the target does not declare are stored", min: 1, when: succeeded,
		checks: []string{
			"create.unknown-schema", "create.unknown-attribute", "patch.unknown-attribute"}},
	{id: "names-in-bodies", evidence: "attribute names and URNs in bodies are compared case-sensitively", checks: []string{
		"create.names-ignore-case", "create.extension-urn-case", "put.names-ignore-case"}},
	{id: "password", evidence: "responses contain the password", checks: []string{
		"patch.password", "traffic.no-password", "traffic.no-secrets"}},
	{id: "member-object", evidence: "a PATCH that adds a member without an array is rejected", min: 1, when: rejected,
		checks: []string{"groups.patch-add-object"}},
	{id: "member-immutable", evidence: "a PATCH changes the value of a member of a group", min: 1, when: failed,
		checks: []string{"groups.member-immutable"}},
	{id: "group-external-id", evidence: "externalId of a group is not stored", min: 1, checks: []string{"groups.external-id"}},
	{id: "external-id-unique", evidence: "a second user with the same externalId is " +
		"rejected", min: 1, checks: []string{"create.external-id-shared"}},
	{id: "external-id-filter", evidence: "externalId cannot be used in a filter", min: 1, when: rejected,
		checks: []string{"filter.external-id"}},

	{id: "declared-types", evidence: "the /Schemas document declares other types than RFC 7643", when: about("type of"), checks: []string{
		"discovery.user-types", "discovery.enterprise-schema"}},

	// Messages.
	{id: "not-an-object", evidence: "bodies that are not a JSON object are stored", when: stored,
		unless: []string{"body.deep"}, checks: []string{"create.malformed-json", "body.put", "traffic.json"}},
	{id: "empty-body", evidence: "an empty body leads to a server error", when: erred, checks: []string{
		"create.malformed-json", "body.put", "body.patch"}},
	{id: "body-scim-type", evidence: "the scimType of a malformed body is not registered", min: 1, when: keyword, checks: []string{
		"create.malformed-json", "body.put", "body.patch", "bulk.no-operations", "traffic.scim-type"}},
	{id: "conflict-scim-type", evidence: "a response with 409 has no scimType", min: 1, when: keyword,
		checks: []string{"create.duplicate-user-name"}},
	{id: "after-the-body", evidence: "text after the JSON object is ignored", checks: []string{"body.trailing", "body.two-objects"}},
	{id: "deep-body", evidence: "deeply nested JSON leads to a server error", min: 1, when: erred, checks: []string{"body.deep"}},
	{id: "header-injection", evidence: "a header field of the response contains the decoded id of the request",
		when:   func(e evidence) bool { return strings.Contains(e.what+e.got, "header") },
		checks: []string{"body.id-in-header", "body.odd-ids"}},
	{id: "message-schemas", evidence: "messages without their schema are accepted", min: 1, when: failed, provedShare: 50, checks: []string{
		"patch.message-schema", "search.schema-required", "search.wrong-schema", "bulk.message-schema"}},
	{id: "json-media-type", evidence: "requests with the media type application/json are rejected", share: 100, checks: []string{
		"*.accepts-json-media-type"}},
	{id: "location-header", evidence: "responses to POST have no header field Location", min: 1, when: about("Location"),
		checks: []string{"create.location"}},
	{id: "delete", evidence: "responses to DELETE have a wrong status", checks: []string{"delete.status", "delete.group-status"}},
	{id: "error-status", evidence: "the body of an error has no status", checks: []string{"errors.status-text", "traffic.error-status"}},
	{id: "error-schemas", evidence: "the body of an error is not an Error message", min: 1, checks: []string{"traffic.error-schemas"}},
	{id: "me", evidence: "requests to /Me lead to a server error", when: erred, checks: []string{"me.answer", "me.mistakes"}},

	// Lists and projection.
	{id: "paging", evidence: "lists ignore count and startIndex", when: succeeded, requires: "list.count", checks: []string{
		"list.count", "list.start-index", "list.count-zero", "list.start-index-beyond", "list.start-index-only", "list.last-page",
		"list.with-sort", "list.groups", "filter.total", "sort.pages", "sort.pages-descending", "oracle.pages"}},
	{id: "items-per-page", evidence: "itemsPerPage is not the number of items", when: about("itemsPerPage"), checks: []string{
		"list.last-page", "traffic.counters"}},
	{id: "empty-page", evidence: "totalResults of a page without items is 0 although objects " +
		"match", when: about("totalResults"), checks: []string{
		"list.count-zero", "list.start-index-beyond", "list.known-total", "list.while-deleting", "search.count-zero"}},
	{id: "page-parameters", evidence: "invalid numbers in startIndex or count lead to a wrong status", min: 1, when: rejected,
		checks: []string{
			"list.garbage-parameters", "list.overflow"}},
	{id: "page-range", evidence: "a negative count or startIndex is not replaced, but applied or returned in the " +
		"response", min: 1, unless: []string{"list.last-page"},
		when: func(e evidence) bool {
			return about("itemsPerPage")(e) || about("startIndex")(e) || about("ids with startIndex")(e)
		},
		checks: []string{"traffic.counters", "list.start-index-below-one"}},
	{id: "projection", evidence: "responses to GET ignore attributes and excludedAttributes", when: succeeded, checks: []string{
		"projection.attributes", "projection.excluded", "projection.id-alone"}},
	{id: "projection-on-patch", evidence: "a PATCH with attributes leads to a server error", min: 1, when: erred,
		checks: []string{"projection.on-patch"}},
	{id: "always-returned", evidence: "attributes that the parameter attributes does not name are returned", when: succeeded, checks: []string{
		"projection.id-alone", "projection.on-patch", "oracle.projection"}},
	{id: "projection-urn", evidence: "names with the URN of their schema select no attribute", when: succeeded, checks: []string{
		"projection.names-ignore-case", "projection.excluded-urn", "search.attributes"}},
	{id: "projection-unknown", evidence: "unknown names in attributes or excludedAttributes are " +
		"rejected", when: rejected, min: 3, checks: []string{
		"projection.unknown-name", "projection.unknown-only", "projection.excluded-unknown"}},
	{id: "projection-blank", evidence: "a space after a comma in attributes or excludedAttributes is rejected", when: rejected,
		checks: []string{"projection.*blank-behind-comma"}},
	{id: "projection-meta", evidence: "attributes cannot select a sub-attribute of meta", min: 1, checks: []string{"projection.meta-part"}},
	{id: "projection-schemas", evidence: "a request that excludes the attribute schemas is rejected", min: 1, when: rejected,
		checks: []string{"projection.schemas-stay"}},
	{id: "projection-parts", evidence: "attributes with the name of a sub-attribute is rejected", when: rejected, min: 4, checks: []string{
		"projection.id-always", "projection.two-parts", "projection.every-element", "projection.urn-sub-attribute",
		"projection.sub-attribute-case", "projection.extension", "projection.extension-part", "projection.unknown-only", "oracle.projection"}},
	{id: "projection-id", evidence: "excludedAttributes can omit id", checks: []string{"projection.id-stays", "traffic.id"}},

	// Filters.
	{id: filtersTopic, evidence: "even a filter with one comparison by eq finds nothing", when: notFound, requires: "filter.eq",
		share: topicShare, checks: []string{"filter.*", "put.rename", "patch.rename", "create.odd-user-name"}},
	{id: "urn-case", evidence: "URNs are compared case-sensitively", unless: []string{"filter.urn-pr", "patch.add-core-urn"},
		checks: []string{
			"patch.urn-case", "filter.urn-ignores-case", "projection.urn-case", "sort.name-ignores-case"}},
	{id: "literals", evidence: "the escape sequences of strings in filters are not decoded", min: 4, checks: []string{
		"filter.literal-*", "filter.escapes", "filter.unicode-escapes", "filter.invalid-escape", "create.odd-user-name"}},
	{id: "unicode-escapes", evidence: "the escape sequence \\u in filters is not decoded", when: notFound, checks: []string{
		"filter.literal-unicode-escape", "filter.unicode-escapes"}},
	{id: "not-ascii", evidence: "filters with characters beyond ASCII are rejected", when: func(e evidence) bool { return e.status == 400 },
		checks: []string{"filter.unicode", "create.odd-user-name"}},
	{id: "ordered-kinds", evidence: "filters with gt, ge, lt or le on booleans or binary values are accepted",
		when:   func(e evidence) bool { return e.accepted() },
		checks: []string{"filter.boolean-order", "filter.boolean-order-*", "filter.binary-order-*"}},
	{id: "filter-scim-type", evidence: "the rejection of an invalid filter has no scimType", when: keyword, checks: []string{
		"filter.invalid-*", "filter.unknown-operator"}},
	{id: "filter-syntax", evidence: "filters with invalid syntax are accepted", min: 5, when: failed, checks: []string{
		"filter.invalid-*", "filter.unknown-operator", "search.invalid-filter"}},
	{id: "filter-rest", evidence: "the text after a complete filter is ignored",
		when: func(e evidence) bool { return failed(e) || selected(e) },
		checks: []string{
			"filter.invalid-syntax", "filter.group-without-blanks", "filter.invalid-no-conjunction", "filter.invalid-operand-of-pr"}},
	{id: "filter-end", evidence: "filters with unbalanced parentheses or quotation marks are accepted", min: 1, when: failed,
		checks: []string{
			"filter.invalid-syntax"}},
	{id: "filter-urn", evidence: "filters on names with a URN, such as attributes of the enterprise extension, find " +
		"nothing", when: unmatched, min: 4, checks: []string{
		"filter.urn-pr", "filter.urn-ge", "filter.urn-ignores-case", "filter.enterprise-*", "filter.manager", "filter.manager-present",
		"filter.case-insensitive-extension", "filter.case-insensitive-own"}},
	{id: "other-urn", evidence: "filters ignore a URN that no schema of users has", when: selected, checks: []string{
		"filter.unknown-schema", "filter.core-schema-of-group"}},
	{id: "absent-less", evidence: "filters with lt or le return users without a value of the attribute", min: 1, when: selected,
		checks: []string{"filter.absent-less"}},
	{id: "dates", evidence: "filters compare values of dateTime attributes wrongly", when: selected, min: 3, checks: []string{
		"filter.date-time", "filter.date-time-*"}},
	{id: "date-zone", evidence: "filters compare values of dateTime attributes as strings", min: 1, when: notFound,
		checks: []string{"filter.date-time-zone"}},
	{id: "references", evidence: "filters on reference attributes find nothing", when: notFound,
		checks: []string{"filter.reference-*"}},
	{id: "schemas-attribute", evidence: "filters on schemas find nothing", when: notFound, checks: []string{
		"filter.schemas", "filter.schemas-extension"}},
	{id: "location", evidence: "filters on meta.location find nothing", min: 1, when: notFound, checks: []string{"filter.meta"}},
	{id: "several-values", evidence: "filters with pr or eq on multi-valued attributes are rejected", when: crashed,
		checks: []string{
			"filter.pr", "filter.not-present", "filter.schemas", "filter.schemas-extension"}},
	{id: "elements", evidence: "filters on the sub-attributes of multi-valued attributes are rejected", when: crashed, min: 3,
		checks: []string{
			"filter.multi-valued*", "filter.value-path*", "filter.element-type", "filter.group-members", "filter.certificates",
			"filter.sees-removals", "filter.urn-prefix", "groups.find-by-member"}},
	{id: "elements-not-found", evidence: "filters on the sub-attributes of multi-valued attributes find nothing", when: selected, min: 3,
		requires: "filter.multi-valued-eq", checks: []string{"filter.pr", "filter.multi-valued", "filter.multi-valued-eq",
			"filter.element-type", "filter.group-members", "groups.find-by-member"}},
	{id: "value-paths", evidence: "conditions in square brackets match values of different elements", when: selected, min: 4, checks: []string{
		"filter.value-path*"}},
	{id: "letter-case", evidence: "filters compare values case-sensitively", when: selected,
		pair: []string{"filter.case-insensitive-substring", "filter.case-insensitive-order"}, checks: []string{
			"filter.case-insensitive-values", "filter.case-insensitive-substring", "filter.case-insensitive-order", "groups.find-ignores-case",
			"oracle.filter"}},
	{id: "group-letter-case", evidence: "displayName of groups is compared case-sensitively", when: selected, min: 1,
		checks: []string{"groups.find-ignores-case"}},
	{id: "negation", evidence: "filters with the operator \"not\" return wrong objects or values", when: succeeded,
		unless: []string{"patch.filter-and"}, checks: []string{
			"filter.not", "filter.not-of-and", "filter.not-before-*", "filter.de-morgan-*", "filter.double-negation", "patch.filter-not-group"}},
	{id: "primary-absent", evidence: "filters do not treat a value without primary like a value with primary false", when: succeeded, min: 1,
		unless: []string{"patch.filter-and", "filter.value-path"},
		checks: []string{"filter.value-path-primary", "patch.filter-not-primary"}},
	{id: "primary-absent-in-paths", evidence: "filters in PATCH paths do not treat a value without primary like a value with primary " +
		"false", when: succeeded, min: 1, unless: []string{"patch.filter-and"}, checks: []string{"patch.filter-not-primary"}},
	{id: "precedence", evidence: "the operators \"and\" and \"or\" have the wrong precedence", when: succeeded,
		unless: []string{"patch.filter-and"}, checks: []string{
			"filter.precedence", "filter.precedence-between", "filter.precedence-mirrored", "patch.filter-precedence"}},
	{id: "sort-attributes", evidence: "the parameter attributes changes the order by sortBy", min: 1, when: succeeded,
		unless: []string{"sort.ascending"}, checks: []string{"sort.with-attributes"}},
	{id: "sort-names", evidence: "sortBy does not recognize names in another case or with a URN", when: succeeded, min: 3, checks: []string{
		"sort.name-ignores-case", "sort.urn", "oracle.sort"}},
	{id: "sort-missing", evidence: "users without a value of the attribute in sortBy have a wrong position", when: succeeded, checks: []string{
		"sort.missing-first", "sort.extension"}},
	{id: "sort-hostile", evidence: "SQL code in sortBy leads to a server error", min: 1, when: erred, checks: []string{
		"sort.hostile-name"}},

	// PATCH.
	{id: "unknown-path-scim-type", evidence: "unknown attributes in PATCH paths lead to a wrong scimType", when: keyword, checks: []string{
		"patch.unknown-attribute", "patch.unknown-urn"}},
	{id: "patch-urn", evidence: "names with the URN of the core schema are not recognized in PATCH paths", min: 3, checks: []string{
		"patch.*-core-urn", "patch.urn-case", "patch.urn-value-path", "groups.patch-core-urn", "traffic.extensions-named", "oracle.patch"}},
	{id: "patch-case", evidence: "names in PATCH requests are compared case-sensitively", min: 1, when: rejected, checks: []string{
		"patch.replace-names-ignore-case", "patch.filter-ignores-case", "patch.extension-key-case"}},
	{id: "patch-message", evidence: "invalid operations of a PATCH are accepted", when: failed, min: 3, checks: []string{
		"patch.unknown-operation", "patch.empty-operation", "patch.absent-operation", "patch.remove-no-path", "patch.remove-no-path-value",
		"patch.*-no-value", "patch.*-no-path-text", "patch.no-operations", "body.patch"}},
	{id: "patch-message-scim-type", evidence: "the scimType of the rejection of an invalid PATCH operation is " +
		"wrong", when: keyword, min: 3, checks: []string{
		"patch.remove-no-path", "patch.*-no-path-text", "patch.no-operations"}},
	{id: "no-value-scim-type", evidence: "the scimType of the rejection of a PATCH add without a value is wrong", when: keyword, min: 1,
		checks: []string{"patch.add-no-value"}},
	{id: "no-op", evidence: "a PATCH operation without op is accepted", when: failed, min: 1, checks: []string{"patch.absent-operation"}},
	{id: "operations-object", evidence: "a PATCH in which Operations is absent or not an array is accepted", when: failed, checks: []string{
		"body.patch", "patch.no-operations"}},
	{id: "array-as-text", evidence: "an array is accepted as the value of a string " +
		"attribute", when: failed, min: 1, checks: []string{"patch.wrong-type-list"}},
	{id: "removal-scim-type", evidence: "the scimType of the rejected removal of a required attribute is " +
		"wrong", when: keyword, min: 1, checks: []string{
		"patch.remove-required"}},
	{id: "patch-quotes", evidence: "PATCH paths are split inside the strings of their filters", when: succeeded,
		unless: []string{"patch.filter-and"},
		checks: []string{"patch.filter-quotes", "patch.filter-brackets"}},
	{id: "patch-filters", evidence: "the filters in the paths of a PATCH are not evaluated", when: stored, min: 5,
		requires: "patch.remove-value-path", checks: []string{
			"patch.remove-value-path", "patch.replace-value-path-object", "patch.replace-all-matches", "patch.add-value-path",
			"patch.replace-filter-attribute", "patch.replace-no-target", "patch.invalid-path", "patch.atomic-removal", "patch.array-index",
			"patch.two-level-path"}},
	{id: "elements-in-paths", evidence: "PATCH paths that end with a filter, and so select whole elements, are " +
		"rejected", when: rejected, min: 3, checks: []string{
		"patch.remove-value-path", "patch.replace-value-path-object", "patch.again-and-again", "patch.remove-all-matches"}},
	{id: "patch-paths", evidence: "invalid PATCH paths are accepted", when: failed, checks: []string{
		"patch.invalid-path", "patch.array-index", "patch.two-level-path", "patch.atomic-removal"}},
	{id: "no-match", evidence: "a PATCH replace whose path has a filter without a match is accepted", when: failed, min: 1, checks: []string{
		"patch.replace-no-target"}},
	{id: "unknown-paths", evidence: "unknown attributes in PATCH paths lead to a server error", when: erred, checks: []string{
		"patch.unknown-attribute", "patch.unknown-urn"}},
	{id: "patch-extension", evidence: "a PATCH of an extension of which the user has no data leads to a server error", when: erred, min: 3,
		checks: []string{"patch.*-extension-*", "patch.*-absent-extension", "patch.extension-keys", "oracle.patch"}},
	{id: "extension-part", evidence: "a PATCH add whose path is a sub-attribute of an extension is rejected", when: rejected, min: 1,
		unless: []string{"patch.add-extension"}, checks: []string{"patch.extension-part"}},
	{id: "merged", evidence: "a PATCH add replaces the stored values", when: succeeded, checks: []string{
		"patch.add-multi-valued", "patch.add-object", "patch.add-no-path", "patch.add-several"}},
	{id: "replaced", evidence: "a PATCH replace without a path adds to the stored values", when: succeeded, checks: []string{
		"patch.replace-no-path", "groups.patch-replace-no-path"}},
	{id: "complex", evidence: "a PATCH of a complex attribute removes the sub-attributes that it does not name", when: succeeded, min: 1,

		checks: []string{"patch.add-complex", "patch.replace-complex", "patch.replace-no-path-complex", "patch.replace-null-sub-attribute"}},
	{id: "remove-without-value", evidence: "a PATCH remove without a value is rejected", min: 1, when: rejected, checks: []string{
		"patch.remove-external-id"}},
	{id: "emails-required", evidence: "a PATCH that removes all emails is rejected", when: emailsRejected, checks: []string{
		"patch.replace-null", "patch.remove-multi-valued"}},
	{id: "single-object", evidence: "an object in place of an array is rejected as the value of a multi-valued " +
		"attribute", when: rejected, min: 1,
		checks: []string{"patch.add-object"}},
	{id: "null", evidence: "null is rejected as the value of an attribute", when: rejected, checks: []string{
		"put.extension-null", "patch.replace-null", "patch.replace-null-sub-attribute"}},
	{id: "creates-element", evidence: "a PATCH add whose path has a filter without a match is " +
		"rejected", min: 1, when: rejected, checks: []string{
		"patch.add-creates-element"}},
	{id: "manager-text", evidence: "a string as manager is rejected", min: 1, when: rejected, checks: []string{"patch.manager-as-text"}},

	// ETags and bulk requests.
	{id: "if-match", evidence: "If-Match is ignored", min: 3, checks: []string{
		"etag.advertised", "etag.put-stale", "etag.patch-stale", "etag.delete-stale", "etag.group-stale", "etag.race", "bulk.precondition"}},
	{id: "version", evidence: "meta.version differs from the ETag", checks: []string{
		"etag.header", "etag.in-lists", "traffic.etag-is-version"}},
	{id: "bulk-location", evidence: "results of bulk operations have no location or a wrong one", when: about("location"), checks: []string{
		"bulk.put", "bulk.delete", "bulk.mixed", "bulk.error-location"}},
	{id: "bulk-patch", evidence: "bulk requests with a PATCH are rejected", when: rejected, min: 3, checks: []string{
		"bulk.patch", "bulk.mixed", "bulk.order", "bulk.reference-in-patch", "bulk.operation-atomic"}},
	{id: "bulk-limits", evidence: "bulk requests over a limit have a wrong status",
		checks: []string{"bulk.max-operations", "bulk.max-payload"}},
	{id: "bulk-operations", evidence: "invalid bulk operations are accepted", when: failed, checks: []string{
		"bulk.no-bulk-id", "bulk.unknown-path"}},
	{id: "bulk-empty", evidence: "a bulk request without operations leads to a server error", when: erred, min: 1, checks: []string{
		"bulk.no-operations"}},
	{id: "bulk-status", evidence: "the status of the result of a bulk operation is not a string", min: 1, when: content,
		checks: []string{"bulk.status-text"}},
	{id: "bulk-fail-on-errors", evidence: "operations after the one that reaches failOnErrors are processed or have a " +
		"result", min: 1, when: about("result of"), checks: []string{
		"bulk.fail-on-errors"}},
	{id: "bulk-reference", evidence: "bulkId references in attributes of an extension are not " +
		"resolved", min: 1, when: content, checks: []string{
		"bulk.reference-extension"}},
	{id: "bulk-version", evidence: "results of bulk operations have no version or a wrong " +
		"one", min: 1, when: content, checks: []string{"bulk.version"}},
}
