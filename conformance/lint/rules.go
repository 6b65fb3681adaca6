package lint

import (
	"slices"

	"github.com/scimwright/scimwright/conformance"
)

// A Rule is one requirement for a document.
type Rule struct {
	// ID consists of words, subject first: "patch.op-case". The meaning of an id never changes.
	ID string
	// Requirement is the id of the requirement (package requirements) that the rule is based on.
	Requirement string
	// Level determines the outcome of a violation: see [conformance.Level.Violation].
	Level conformance.Level
	// Title states the requirement that a valid document meets, without the final period.
	Title string
	// Fix describes how to fix a violation.
	Fix string
}

// Rules returns all rules.
func Rules() []Rule {
	return slices.Concat(jsonRules, schemasRules, resourceRules, messageRules, discoveryRules)
}

const (
	must    = conformance.Must
	should  = conformance.Should
	interop = conformance.Interop
	may     = conformance.May
)

var jsonRules = []Rule{
	{"json.syntax", "RFC7644-3.2-06", must, "The document is JSON", "Write the document with a JSON library instead of by hand."},
	{"json.object", "RFC7644-3.2-06", must, "The document is one JSON object",
		"Send one object; send several resources in a ListResponse or a BulkRequest."},
	{"json.depth", "RFC7644-3.2-06", must, "Nesting is at most 64 levels deep",
		"Reduce the nesting: SCIM resources have at most four levels."},
	{"json.literal", "RFC7644-3.2-06", must, "Literals are true, false or null",
		"Write true, false and null in lower case. Omit an attribute whose value is NaN, Infinity or undefined, or send null."},
	{"json.trailing-comma", "RFC7644-3.2-06", must, "No comma follows the last element", "Remove the comma."},
	{"json.byte-order-mark", "RFC7644-3.8-02", must, "The document has no byte order mark", "Save the file as UTF-8 without BOM."},
	{"json.utf8", "RFC7644-3.8-02", must, "Strings are valid UTF-8",
		"Convert text in another encoding to UTF-8 before writing it into the JSON."},
	{"json.duplicate-member", "RFC7643-2.1-01", must, "The names in an object are unique, ignoring case",
		"Remove the duplicates: some receivers use the first value, others the last."},
	{"json.size", "RFC7644-3.2-06", may, "The document is not larger than the linter accepts", "Split the document."},
}

var schemasRules = []Rule{
	{"schemas.missing", "RFC7643-3-01", must, "schemas is an array of one or more URNs",
		"Add the URNs of the schemas of the resource or message."},
	{"schemas.duplicate", "RFC7643-3-02", must, "schemas contains no URN twice", "Remove the duplicate."},
	{"schemas.base", "RFC7643-3.3-01", must, "schemas contains the URN of the base schema",
		"Add the URN of the resource type's base schema, or of the message."},
	{"schemas.unknown", "RFC7643-3-03", may, "The schemas are known to the linter",
		"Pass the schema document with --schema to have its attributes checked."},
	{"schemas.message", "RFC7644-8.2-01", must, "Message URNs are registered ones", "Use the exact URN of RFC 7644 section 8.2."},
	{"schemas.extension-unnamed", "RFC7643-3-06", must, "schemas contains the URN of every extension with data", "Add the URN to schemas."},
	{"schemas.extension-empty", "RFC7643-3-03", may, "Every extension in schemas has data",
		"Omit the URN: receivers must accept it, but some reject it."},
}

var resourceRules = []Rule{
	{"resource.unknown-attribute", "RFC7643-3-05", interop, "Every attribute is declared in a schema",
		"Correct the name, or move the attribute into an extension whose schema declares it."},
	{"resource.core-container", "RFC7643-3-05", must, "Attributes of the base schema are at the top level",
		"Move the attributes out of the object that has the URN as its name."},
	{"resource.extension-container", "RFC7643-3.3-03", must, "Attributes of an extension are in an object named by its URN",
		"Move the attributes into the object of the extension."},
	{"resource.name-case", "RFC7643-2.1-01", may, "Names have the same case as in the schema",
		"Write names with the case of the schema: receivers must ignore case, but some do not."},
	{"resource.required-username", "RFC7643-4.1.1-01", must, "Every User has a non-empty userName", "Send userName."},
	{"resource.required-displayname", "RFC7643-4.2-02", must, "Every Group has a displayName", "Send displayName."},
	{"resource.required", "RFC7643-7-32", must, "Required attributes are present", "Send the attribute."},
	{"resource.multi-valued", "RFC7643-2.4-01", must, "Multi-valued attributes are arrays, other attributes are not",
		"Add or remove the brackets around the value."},
	{"resource.kind", "RFC7643-2.3-02", must, "Every value has the JSON kind of its type",
		"Write the value in the JSON kind of the declared type."},
	{"resource.boolean", "RFC7643-2.3.2-01", must, "Booleans are true or false, without quotation marks",
		"Write true or false without quotation marks."},
	{"resource.integer", "RFC7643-2.3.4-01", must, "Integers have no fraction and no exponent", "Write the number with digits only."},
	{"resource.date-time", "RFC7643-2.3.5-01", must, "dateTime values have a date and a time, such as 2026-01-31T10:20:30Z",
		"Format dateTime values as in RFC 3339."},
	{"resource.binary", "RFC7643-2.3.6-01", must, "Binary values are base64", "Encode the bytes as base64."},
	{"resource.reference", "RFC7643-2.3.7-01", must, "References are URIs", "Percent-encode the URI."},
	{"resource.one-primary", "RFC7643-2.4-04", must, "At most one element of an attribute is primary",
		"Remove primary from the other elements."},
	{"resource.repeated-element", "RFC7643-2.4-11", should, "No two elements have the same type and value", "Send the element once."},
	{"resource.canonical-value", "RFC7643-7-13", may, "Values are canonical values of the schema",
		"Use a canonical value: receivers may ignore others."},
	{"resource.profile-url", "RFC7643-4.1.1-07", must, "profileUrl is an absolute URL", "Send the complete URL, with https."},
	{"resource.preferred-language", "RFC7643-4.1.1-08", must, "preferredLanguage has the format of Accept-Language",
		"Send tags such as en-GB, en;q=0.8."},
	{"resource.locale", "RFC7643-4.1.1-09", must, "locale is one language tag", "Send a tag such as en-US."},
	{"resource.timezone", "RFC7643-4.1.1-11", must, "timezone is a name of the IANA time zone database",
		"Send a name such as Europe/Berlin."},
	{"resource.country", "RFC7643-4.1.2-10", must, "country is an ISO 3166-1 alpha-2 code", "Send the two-letter code, such as DE."},
	{"resource.certificate", "RFC7643-4.1.2-16", must, "Each certificate is one DER certificate in base64",
		"Send one certificate per value, without PEM lines."},
	{"resource.email", "RFC7643-4.1.2-01", should, "Email values are addresses", "Send an address such as ann@example.com."},
	{"resource.member-value", "RFC7643-4.2-05", must, "The value of every member is the id of a resource", "Send the id in value."},
	{"resource.manager-value", "RFC7643-4.3-02", should, "The value of a manager is the id of a user", "Send the id in manager.value."},
	{"resource.id", "RFC7643-3.1-05", must, "Every resource of a server has an id that is a string", "Return id with every resource."},
	{"resource.id-bulkid", "RFC7643-3.1-11", must, "No id contains the word bulkId",
		"Replace bulkId references before the response, and generate ids that do not contain the word bulkId."},
	{"resource.client-id", "RFC7643-3.1-09", may, "New resources have no id", "Omit id: the server assigns it."},
	{"resource.read-only", "RFC7644-3.3-02", may, "Clients send no read-only attributes", "Omit the attribute: servers ignore it."},
	{"resource.membership", "RFC7643-4.1.2-14", may, "Users are sent without groups",
		"Change the members of the group instead: servers ignore the groups of a user."},
	{"resource.no-password", "RFC7643-4.1.1-13", must, "No response contains a password",
		"Omit password from every response, as returned \"never\" requires."},
	{"resource.password-here", "RFC7643-4.1.1-13", may, "Only requests contain a password",
		"Remove the password if the document is a response. In a request it is permitted."},
	{"resource.meta-type", "RFC7643-3.1-20", must, "meta.resourceType is the name of the resource type",
		"Write the name as in /ResourceTypes, such as User or Group."},
	{"resource.meta-times", "RFC7643-3.1-22", must, "lastModified is not before created", "Set created and lastModified from the same clock."},
	{"resource.meta-location", "RFC7643-3.1-24", must, "meta.location is the URI of the resource itself and ends in its id",
		"Build meta.location from the base URL, the endpoint and the id."},
	{"resource.meta-version", "RFC7643-3.1-27", must,
		"A weak version starts with an upper-case W/, and every version is in quotation marks", `Write versions as W/"..." or "...".`},
}

var messageRules = []Rule{
	{"list.total-results", "RFC7644-3.4.2-04", must, "totalResults is an integer, not smaller than the number of resources in the page",
		"Count all matches of the query, and write a JSON integer."},
	{"list.resources", "RFC7644-3.4.2-05", must, "Resources is present if there are results",
		"Add the array Resources; its name starts with a capital letter."},
	{"list.items-per-page", "RFC7644-3.4.2-07", must, "itemsPerPage is the number of resources in the page",
		"Count the resources of the page."},
	{"list.start-index", "RFC7644-3.4.2-06", must, "startIndex is an integer of at least 1",
		"Return the index of the first resource of the page."},
	{"list.ids", "RFC7643-3.1-06", must, "No two resources of a list have the same id",
		"Return resources in a stable order, and select each of them once."},
	{"patch.operations", "RFC7644-3.5.2-03", must, "Operations is an array of one or more operations", "Put the changes into Operations."},
	{"patch.op", "RFC7644-3.5.2-04", must, "Every operation has an op", "Send add, remove or replace."},
	{"patch.op-known", "RFC7644-3.5.2-05", must, "op is add, remove or replace",
		"Send add, remove or replace: SCIM has no other operations."},
	{"patch.op-case", "RFC7644-3.5.2-07", must, "op is lower case", "Write op in lower case."},
	{"patch.remove-path", "RFC7644-3.5.2-08", must, "remove has a path", "Set path to the attribute to remove."},
	{"patch.path", "RFC7644-3.5.2-09", must, "path conforms to the grammar",
		`Write paths as members[value eq "id"] or name.familyName, without a slash.`},
	{"patch.value", "RFC7644-3.5.2.1-01", must, "add has a value", "Send the value to add."},
	{"patch.value-object", "RFC7644-3.5.2.3-01", must, "Without a path, the value is an object of attributes",
		"Set path to the attribute, or send an object such as {\"active\":false}."},
	{"patch.replace-value", "RFC7644-3.5.2.3-01", should, "Every replace operation contains a value", "Send the new value, or use remove."},
	{"patch.remove-value", "RFC7644-3.5.2-08", may, "No remove operation contains a value",
		`Select the elements to remove in the path: members[value eq "id"].`},
	{"patch.read-only", "RFC7644-3.5.2-14", must, "No operation changes a read-only attribute", "Omit the operation."},
	{"patch.unknown-attribute", "RFC7644-3.5.2-09", may, "Paths name attributes of known schemas",
		"Correct the name, or pass the schema with --schema."},
	{"patch.dotted-name", "RFC7643-3-05", interop, "Without a path, the names in the value are attributes, not paths",
		`Send an object for name.familyName: {"name":{"familyName":...}}, or one operation with a path for each attribute.`},
	{"bulk.operations", "RFC7644-3.7-05", must, "Operations is an array", "Put the requests into Operations."},
	{"bulk.method", "RFC7644-3.7-06", must, "method is POST, PUT, PATCH or DELETE",
		"Send one of these methods in upper case; a bulk request cannot contain GET."},
	{"bulk.bulk-id", "RFC7644-3.7-07", must, "Every POST has a bulkId", "Generate a bulkId for each new resource."},
	{"bulk.bulk-id-unique", "RFC7644-3.7-08", must, "Every bulkId is unique", "Generate a different bulkId for each operation."},
	{"bulk.path", "RFC7644-3.7-10", must, "path is relative to the base URL: an endpoint for POST, a resource for other methods",
		"Send /Users to create a resource, and /Users/{id} for other methods."},
	{"bulk.data", "RFC7644-3.7-11", must, "POST, PUT and PATCH have data that is an object", "Put the body of the request into data."},
	{"bulk.fail-on-errors", "RFC7644-3.7-22", must, "failOnErrors is an integer of at least 1",
		"Send a positive integer, or omit failOnErrors."},
	{"bulk.reference", "RFC7644-3.7.2-01", must, "Every reference such as bulkId:qwerty names a POST of the bulk request",
		"Use the bulkId of the operation that creates the resource."},
	{"bulkresponse.fail-on-errors", "RFC7644-3.7-04", must, "No response contains failOnErrors", "Omit failOnErrors."},
	{"bulkresponse.status", "RFC7644-3.7-16", must, "Every result has an HTTP status", "Return status for each operation."},
	{"bulkresponse.status-text", "RFC7644-3.7-17", should, `status is a string such as "201"`, "Write the code in quotation marks."},
	{"bulkresponse.location", "RFC7644-3.7-13", must, "Every result except that of a failed POST has a location",
		"Return the URI of the resource."},
	{"bulkresponse.response", "RFC7644-3.7-14", must, "A failed operation has an Error message in response",
		"Return the Error message that the single request would return."},
	{"bulkresponse.bulk-id", "RFC7644-3.7-25", must, "The result of a POST has its bulkId", "Return the bulkId of the request."},
	{"error.status", "RFC7644-3.12-02", must, "status is a string of three digits", "Write the HTTP status in quotation marks."},
	{"error.scim-type", "RFC7644-3.12-03", should, "scimType is a keyword of RFC 7644 or RFC 9865 that fits the status",
		"Use 409 with uniqueness, 403 with sensitive, and 400 with every other keyword of RFC 7644 table 9."},
	{"error.detail", "RFC7644-3.12-04", should, "detail is a string", "Write one sentence for a human reader."},
	{"search.member", "RFC7644-3.4.3-03", should, "The members of a search have the types that the RFCs define",
		"Send attributes as arrays of strings, startIndex and count as integers, other members as strings."},
	{"search.both-projections", "RFC7644-3.4.2.5-03", may, "attributes and excludedAttributes are not combined",
		"Send either attributes or excludedAttributes."},
	{"search.attribute", "RFC7644-3.4.2.5-04", must, "Attribute names are in attribute notation",
		"Write names as name.familyName or urn:...:department."},
	{"search.filter", "RFC7644-3.4.2.2-06", must, "filter conforms to the grammar",
		`Write filters as userName eq "ann", with strings in double quotation marks.`},
	{"search.filter-form", "RFC7644-3.4.2.2-06", interop, "Filters have no comparison after brackets",
		`Put the comparison into the brackets: emails[type eq "work" and value eq "a"].`},
	{"search.sort-order", "RFC7644-3.4.3-03", may, "sortOrder is ascending or descending", "Send ascending or descending."},
	{"search.paging", "RFC7644-3.4.3-03", may, "startIndex is at least 1, count at least 0",
		"Send values in this range: servers read a smaller startIndex as 1 and a smaller count as 0."},
}

var discoveryRules = []Rule{
	{"config.feature", "RFC7643-5-04", must, "patch, changePassword, sort and etag each have the boolean supported",
		"Add an object with the boolean supported."},
	{"config.bulk", "RFC7643-5-05", must, "bulk has supported, maxOperations and maxPayloadSize",
		"Send both limits. If bulk is not supported, their value is 0."},
	{"config.filter", "RFC7643-5-06", must, "filter has supported and maxResults",
		"Send maxResults. If filters are not supported, its value is 0."},
	{"config.schemes", "RFC7643-5-07", must, "authenticationSchemes is an array", "Describe at least one scheme."},
	{"config.scheme", "RFC7643-5-09", must, "Every scheme has type, name and description", "Add the missing members."},
	{"config.scheme-type", "RFC7643-5-10", should, "The type of a scheme is a defined type",
		"Use oauth, oauth2, oauthbearertoken, httpbasic or httpdigest."},
	{"config.pagination", "RFC9865-4-02", must, "pagination has the booleans cursor and index", "Add the missing booleans."},
	{"config.pagination-limits", "RFC9865-4-04", may, "Limits of pagination are positive integers", "Omit limits that do not exist."},
	{"resourcetype.name", "RFC7643-6-03", must, "A resource type has a name", "Add name with the value of meta.resourceType, such as User."},
	{"resourcetype.endpoint", "RFC7643-6-05", must, "endpoint is relative to the base URL", "Write a path such as /Users."},
	{"resourcetype.schema", "RFC7643-6-06", must, "schema is the URN of the base schema",
		"Add schema with the id of a schema in /Schemas."},
	{"resourcetype.extension", "RFC7643-6-08", must, "Every extension names its schema",
		"Add schema with the id of the extension in /Schemas."},
	{"resourcetype.extension-required", "RFC7643-6-09", must, "Every extension has the boolean required", "Add required with true or false."},
	{"schema.id", "RFC7643-7-04", must, "id is the URN of the schema", "Add the URN as id."},
	{"schema.attributes", "RFC7643-7-06", must, "attributes is an array of definitions", "List the attributes."},
	{"schema.attribute-name", "RFC7643-7-07", must, "Every definition has a name", "Add the member name."},
	{"schema.attribute-grammar", "RFC7643-2.1-02", must, "Names start with a letter and continue with letters, digits, -, _ and $",
		"Choose another name."},
	{"schema.attribute-twice", "RFC7643-2.1-01", must, "Attribute names are unique, ignoring case", "Remove the duplicate definition."},
	{"schema.type", "RFC7643-7-08", must, "type is one of the eight types",
		"Use string, boolean, decimal, integer, dateTime, binary, reference or complex."},
	{"schema.multi-valued", "RFC7643-7-10", must, "multiValued is a boolean", "Set multiValued to true or false."},
	{"schema.boolean", "RFC7643-7-12", must, "required and caseExact are booleans", "Write true or false without quotation marks."},
	{"schema.keyword", "RFC7643-7-29", must, "mutability, returned and uniqueness have the defined keywords",
		"Use the exact keywords: readWrite, readOnly, immutable, writeOnly; default, always, never, request; none, server, global."},
	{"schema.reference-types", "RFC7643-7-30", must, "referenceTypes is an array, and only references have it",
		"List names of resource types, \"external\" or \"uri\"."},
	{"schema.sub-attributes", "RFC7643-7-09", should, "A complex attribute lists its sub-attributes", "Add the member subAttributes."},
	{"schema.simple-sub-attributes", "RFC7643-1.2-01", must, "Simple attributes have no sub-attributes",
		"Set type to complex, or remove subAttributes."},
	{"schema.complex-in-complex", "RFC7643-2.3.8-02", must, "No sub-attribute is complex", "Replace it with simple sub-attributes."},
	{"schema.write-only", "RFC7643-7-31", should, "A writeOnly attribute has returned \"never\"", "Set returned to never."},
}
