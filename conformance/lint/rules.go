package lint

import (
	"slices"

	"github.com/scimwright/scimwright/conformance"
)

// A Rule is one thing that is asked of a document.
type Rule struct {
	// ID is words, subject first: "patch.op-case". An id never changes its meaning.
	ID string
	// Requirement is the clause of the catalogue (package requirements) that the rule stands on.
	Requirement string
	// Level decides what breaking the rule is called: see [conformance.Level.Violation].
	Level conformance.Level
	// Title says what a right document does, without the final stop.
	Title string
	// Fix says how to mend what the rule finds.
	Fix string
}

// Rules lists all rules.
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
	{"json.syntax", "RFC7644-3.2-06", must, "The document is JSON", "Write it with a JSON library instead of by hand."},
	{"json.object", "RFC7644-3.2-06", must, "The document is one JSON object",
		"Send one object; several resources travel in a ListResponse or a BulkRequest."},
	{"json.depth", "RFC7644-3.2-06", must, "The document is not nested without bounds", "SCIM resources are four levels deep."},
	{"json.literal", "RFC7644-3.2-06", must, "Literals are those of JSON: true, false and null", "Leave the attribute out, or send null."},
	{"json.trailing-comma", "RFC7644-3.2-06", must, "No comma stands behind the last element", "Take the comma out."},
	{"json.byte-order-mark", "RFC7644-3.8-02", must, "The document begins without a byte order mark", "Save the file as UTF-8 without BOM."},
	{"json.utf8", "RFC7644-3.8-02", must, "Texts are valid UTF-8", "Convert texts of other encodings when they are read."},
	{"json.duplicate-member", "RFC7643-2.1-01", must, "No name comes twice in an object, whatever its letter case",
		"Keep one of them: readers differ in which they take."},
	{"json.size", "RFC7644-3.2-06", may, "The document can be looked at", "Split it."},
}

var schemasRules = []Rule{
	{"schemas.missing", "RFC7643-3-01", must, "schemas is an array of one or more URNs", "Name the schemas of the resource or message."},
	{"schemas.duplicate", "RFC7643-3-02", must, "No URN stands in schemas twice", "Take the second one out."},
	{"schemas.base", "RFC7643-3.3-01", must, "schemas names the base schema",
		"Add the URN of the resource type's base schema, or of the message."},
	{"schemas.unknown", "RFC7643-3-03", may, "The schemas are known here",
		"Pass the schema document with --schema to have its attributes judged."},
	{"schemas.message", "RFC7644-8.2-01", must, "Message URNs are the registered ones",
		"Compare the URN with RFC 7644 section 8.2, letter by letter."},
	{"schemas.extension-unnamed", "RFC7643-3-06", must, "The URN of every extension with data stands in schemas", "Add the URN to schemas."},
	{"schemas.extension-empty", "RFC7643-3-03", may, "Extensions in schemas have data",
		"Leave the URN out, or keep it: receivers have to cope."},
}

var resourceRules = []Rule{
	{"resource.unknown-attribute", "RFC7643-3-05", interop, "Every attribute is one that the schemas declare",
		"Correct the name, or move it into an extension whose schema declares it."},
	{"resource.core-container", "RFC7643-3-05", must, "Attributes of the base schema stand at the top level",
		"Move them out of the object that carries the URN."},
	{"resource.extension-container", "RFC7643-3.3-03", must, "Attributes of an extension stand in an object named by its URN",
		"Move them into the object of the extension."},
	{"resource.name-case", "RFC7643-2.1-01", may, "Names are spelled as the schema spells them",
		"Readers must ignore letter case, but not all do."},
	{"resource.required-username", "RFC7643-4.1.1-01", must, "Every User has a userName that is not empty", "Send userName."},
	{"resource.required-displayname", "RFC7643-4.2-02", must, "Every Group has a displayName", "Send displayName."},
	{"resource.required", "RFC7643-7-32", must, "Required attributes are there", "Send the attribute."},
	{"resource.multi-valued", "RFC7643-2.4-01", must, "Multi-valued attributes are arrays, and only they",
		"Put the value in brackets, or take them away."},
	{"resource.kind", "RFC7643-2.3-02", must, "Every value has the JSON kind of its type",
		"Write the value as the kind that the schema declares."},
	{"resource.boolean", "RFC7643-2.3.2-01", must, "Booleans are true or false, without quotation marks",
		"Write true or false without quotation marks."},
	{"resource.integer", "RFC7643-2.3.4-01", must, "Integers have neither fraction nor exponent", "Write the number in digits alone."},
	{"resource.date-time", "RFC7643-2.3.5-01", must, "Times are dates with times, such as 2026-01-31T10:20:30Z", "Format times as RFC 3339."},
	{"resource.binary", "RFC7643-2.3.6-01", must, "Binary values are base64", "Encode the bytes as base64."},
	{"resource.reference", "RFC7643-2.3.7-01", must, "References are URIs", "Percent-encode the URI."},
	{"resource.one-primary", "RFC7643-2.4-04", must, "At most one element of an attribute is primary", "Clear primary on the others."},
	{"resource.repeated-element", "RFC7643-2.4-11", should, "No element comes twice with the same type and value", "Send it once."},
	{"resource.canonical-value", "RFC7643-7-13", may, "Values are among those that the schema suggests", "Receivers may ignore other values."},
	{"resource.profile-url", "RFC7643-4.1.1-07", must, "profileUrl is an absolute URL", "Send the whole URL, with https."},
	{"resource.preferred-language", "RFC7643-4.1.1-08", must, "preferredLanguage is written as in Accept-Language",
		"Send tags such as en-GB, en;q=0.8."},
	{"resource.locale", "RFC7643-4.1.1-09", must, "locale is one language tag", "Send a tag such as en-US."},
	{"resource.timezone", "RFC7643-4.1.1-11", must, "timezone is a name of the IANA database", "Send a name such as Europe/Berlin."},
	{"resource.country", "RFC7643-4.1.2-10", must, "country is an ISO 3166-1 alpha-2 code", "Send the code of two letters, such as DE."},
	{"resource.certificate", "RFC7643-4.1.2-16", must, "Certificates are the base64 of one certificate in DER",
		"Send one certificate a value, without PEM lines."},
	{"resource.email", "RFC7643-4.1.2-01", should, "Values of emails are addresses", "Send an address such as ann@example.com."},
	{"resource.member-value", "RFC7643-4.2-05", must, "Every member has the id of a resource as its value", "Send the id in value."},
	{"resource.manager-value", "RFC7643-4.3-02", should, "A manager has the id of a user as its value", "Send the id in manager.value."},
	{"resource.id", "RFC7643-3.1-05", must, "Every resource of a server has an id that is a text", "Return id with every resource."},
	{"resource.id-bulkid", "RFC7643-3.1-11", must, "No id has the word bulkId in it",
		"Resolve references before the answer, and generate ids without the word."},
	{"resource.client-id", "RFC7643-3.1-09", may, "New resources come without an id", "Leave id out: the server chooses it."},
	{"resource.read-only", "RFC7644-3.3-02", may, "Clients send no read-only attributes", "Leave it out: servers ignore it."},
	{"resource.membership", "RFC7643-4.1.2-14", may, "Membership is not sent with the user",
		"Change the group's members instead; servers ignore groups of a user."},
	{"resource.no-password", "RFC7643-4.1.1-13", must, "No answer has a password", "Treat password as returned never."},
	{"resource.password-here", "RFC7643-4.1.1-13", may, "A password stands only in what a client sends",
		"Fine in a request; in an answer it is a leak."},
	{"resource.meta-type", "RFC7643-3.1-20", must, "meta.resourceType is the name of the resource type",
		"Write User or Group as /ResourceTypes spells it."},
	{"resource.meta-times", "RFC7643-3.1-22", must, "Nothing was modified before it was created", "Take both times from one clock."},
	{"resource.meta-location", "RFC7643-3.1-24", must, "meta.location is the URI of the resource itself and ends in its id",
		"Build it from the base URL, the endpoint and the id."},
	{"resource.meta-version", "RFC7643-3.1-27", must,
		"A weak version begins with W/ in upper case, and every version stands in quotation marks", `Write versions as W/"..." or "...".`},
}

var messageRules = []Rule{
	{"list.total-results", "RFC7644-3.4.2-04", must, "totalResults is an integer, not smaller than the page",
		"Count all matches of the query, and write a JSON integer."},
	{"list.resources", "RFC7644-3.4.2-05", must, "Resources is there when there are results",
		"Add the array Resources; its name begins with a capital letter."},
	{"list.items-per-page", "RFC7644-3.4.2-07", must, "itemsPerPage is how many resources the page has", "Count the resources of the page."},
	{"list.start-index", "RFC7644-3.4.2-06", must, "startIndex is an integer from 1", "Return the index of the first resource of the page."},
	{"list.ids", "RFC7643-3.1-06", must, "No two resources of a list have one id", "Page over a stable order, so that none comes twice."},
	{"patch.operations", "RFC7644-3.5.2-03", must, "Operations is an array of one or more operations", "Wrap the changes into Operations."},
	{"patch.op", "RFC7644-3.5.2-04", must, "Every operation has an op", "Send add, remove or replace."},
	{"patch.op-known", "RFC7644-3.5.2-05", must, "op is add, remove or replace", "Send add, remove or replace: SCIM has no other operations."},
	{"patch.op-case", "RFC7644-3.5.2-07", must, "op is in lower case", "Write op in lower case."},
	{"patch.remove-path", "RFC7644-3.5.2-08", must, "remove has a path", "Name in path what is to be removed."},
	{"patch.path", "RFC7644-3.5.2-09", must, "path is one by the grammar",
		`Write paths as members[value eq "id"] or name.familyName, without a slash.`},
	{"patch.value", "RFC7644-3.5.2.1-01", must, "add has a value", "Send the value to be added."},
	{"patch.value-object", "RFC7644-3.5.2.3-01", must, "Without a path the value is an object of attributes",
		"Name the attribute in path, or send an object."},
	{"patch.replace-value", "RFC7644-3.5.2.3-01", should, "replace has a value", "Send the new value, or use remove."},
	{"patch.remove-value", "RFC7644-3.5.2-08", may, "remove has no value", `Say in the path what goes: members[value eq "id"].`},
	{"patch.read-only", "RFC7644-3.5.2-14", must, "No operation changes a read-only attribute", "Leave the operation out."},
	{"patch.unknown-attribute", "RFC7644-3.5.2-09", may, "Paths name attributes of known schemas",
		"Correct the name, or pass the schema with --schema."},
	{"patch.dotted-name", "RFC7643-3-05", interop, "Members of the value are attributes, not paths",
		"Send an object for name.familyName: {\"name\":{\"familyName\":...}}, or one operation with a path for each."},
	{"bulk.operations", "RFC7644-3.7-05", must, "Operations is an array", "Wrap the requests into Operations."},
	{"bulk.method", "RFC7644-3.7-06", must, "method is POST, PUT, PATCH or DELETE",
		"Send the method in upper case; reading is no bulk operation."},
	{"bulk.bulk-id", "RFC7644-3.7-07", must, "Every POST has a bulkId", "Invent a bulkId for each new resource."},
	{"bulk.bulk-id-unique", "RFC7644-3.7-08", must, "No bulkId comes twice", "Invent another one."},
	{"bulk.path", "RFC7644-3.7-10", must, "path is relative to the base URL: an endpoint for POST, a resource otherwise",
		"Send /Users to create and /Users/{id} for the rest."},
	{"bulk.data", "RFC7644-3.7-11", must, "POST, PUT and PATCH have data that is an object", "Put the body of the request into data."},
	{"bulk.fail-on-errors", "RFC7644-3.7-22", must, "failOnErrors is an integer from 1", "Send a positive integer, or leave it out."},
	{"bulk.reference", "RFC7644-3.7.2-01", must, "Every bulkId: reference names a POST of the job",
		"Use the bulkId of the operation that creates the resource."},
	{"bulkresponse.fail-on-errors", "RFC7644-3.7-04", must, "failOnErrors stands in no response", "Leave it out."},
	{"bulkresponse.status", "RFC7644-3.7-16", must, "Every result has the HTTP status", "Return status with each operation."},
	{"bulkresponse.status-text", "RFC7644-3.7-17", should, "status is a text such as \"201\"", "Write the code in quotation marks."},
	{"bulkresponse.location", "RFC7644-3.7-13", must, "Every result but that of a failed POST has a location",
		"Return the URI of the resource."},
	{"bulkresponse.response", "RFC7644-3.7-14", must, "A failed operation has its Error in response",
		"Return the Error message that the single request would have."},
	{"bulkresponse.bulk-id", "RFC7644-3.7-25", must, "The result of a POST has its bulkId", "Return the bulkId of the request."},
	{"error.status", "RFC7644-3.12-02", must, "status is a text of three digits", "Write the HTTP status in quotation marks."},
	{"error.scim-type", "RFC7644-3.12-03", should, "scimType is a registered keyword that fits the status",
		"Use the keywords of RFC 7644 table 9."},
	{"error.detail", "RFC7644-3.12-04", should, "detail is a text", "Write one sentence for the client."},
	{"search.member", "RFC7644-3.4.3-03", should, "The members of a search have their types",
		"attributes are arrays of texts, startIndex and count integers, everything else texts."},
	{"search.both-projections", "RFC7644-3.4.2.5-03", may, "attributes and excludedAttributes do not come together", "Send one of them."},
	{"search.attribute", "RFC7644-3.4.2.5-04", must, "Names of attributes are in attribute notation",
		"Write names as name.familyName or urn:...:department."},
	{"search.filter", "RFC7644-3.4.2.2-06", must, "filter is one by the grammar",
		`Write filters as userName eq "ann", with texts in double quotation marks.`},
	{"search.filter-form", "RFC7644-3.4.2.2-06", interop, "Filters compare nothing behind brackets",
		`Put the comparison into the brackets: emails[type eq "work" and value eq "a"].`},
	{"search.sort-order", "RFC7644-3.4.3-03", may, "sortOrder is ascending or descending", "Send one of the two."},
	{"search.paging", "RFC7644-3.4.3-03", may, "startIndex is 1 or more, count 0 or more", "Servers read smaller values as 1 and 0."},
}

var discoveryRules = []Rule{
	{"config.feature", "RFC7643-5-04", must, "patch, changePassword, sort and etag each say whether they are supported",
		"Add an object with the boolean supported."},
	{"config.bulk", "RFC7643-5-05", must, "bulk has supported, maxOperations and maxPayloadSize",
		"Send the integers also when bulk is not supported, 0 then."},
	{"config.filter", "RFC7643-5-06", must, "filter has supported and maxResults",
		"Send the integer also when filters are not supported, 0 then."},
	{"config.schemes", "RFC7643-5-07", must, "authenticationSchemes is an array", "Describe at least one scheme."},
	{"config.scheme", "RFC7643-5-09", must, "Every scheme has type, name and description", "Add what is missing."},
	{"config.scheme-type", "RFC7643-5-10", should, "The type of a scheme is a defined one",
		"Use oauth, oauth2, oauthbearertoken, httpbasic or httpdigest."},
	{"config.pagination", "RFC9865-4-02", must, "pagination has the booleans cursor and index", "Add both."},
	{"config.pagination-limits", "RFC9865-4-04", may, "Limits of pagination are positive integers", "Leave out what has no limit."},
	{"resourcetype.name", "RFC7643-6-03", must, "A resource type has a name", "Add the value that meta.resourceType has."},
	{"resourcetype.endpoint", "RFC7643-6-05", must, "endpoint is relative to the base URL", "Write it as /Users."},
	{"resourcetype.schema", "RFC7643-6-06", must, "schema is the URN of the base schema", "Add the id of a schema."},
	{"resourcetype.extension", "RFC7643-6-08", must, "Every extension names its schema", "Add the id of a schema."},
	{"resourcetype.extension-required", "RFC7643-6-09", must, "Every extension says whether it is required", "Add the boolean required."},
	{"schema.id", "RFC7643-7-04", must, "id is the URN of the schema", "Add the URN as id."},
	{"schema.attributes", "RFC7643-7-06", must, "attributes is an array of definitions", "List the attributes."},
	{"schema.attribute-name", "RFC7643-7-07", must, "Every definition has a name", "Add name."},
	{"schema.attribute-grammar", "RFC7643-2.1-02", must, "Names begin with a letter and go on with letters, digits, -, _ and $",
		"Choose another name."},
	{"schema.attribute-twice", "RFC7643-2.1-01", must, "No attribute is defined twice, whatever its letter case", "Take one definition out."},
	{"schema.type", "RFC7643-7-08", must, "type is one of the eight",
		"Use string, boolean, decimal, integer, dateTime, binary, reference or complex."},
	{"schema.multi-valued", "RFC7643-7-10", must, "multiValued is a boolean", "Add true or false."},
	{"schema.boolean", "RFC7643-7-12", must, "required and caseExact are booleans", "Write true or false without quotation marks."},
	{"schema.keyword", "RFC7643-7-29", must, "mutability, returned and uniqueness have the defined keywords",
		"Mind the spelling: readWrite, readOnly, immutable, writeOnly; default, always, never, request; none, server, global."},
	{"schema.reference-types", "RFC7643-7-30", must, "referenceTypes is an array, at references alone",
		"List the resource types, external or uri."},
	{"schema.sub-attributes", "RFC7643-7-09", should, "A complex attribute lists its sub-attributes", "Add subAttributes."},
	{"schema.simple-sub-attributes", "RFC7643-1.2-01", must, "Simple attributes have no sub-attributes", "Make the attribute complex."},
	{"schema.complex-in-complex", "RFC7643-2.3.8-02", must, "No sub-attribute is complex", "Flatten it."},
	{"schema.write-only", "RFC7643-7-31", should, "What is writeOnly is returned never", "Set returned to never."},
}
