package lint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/lint"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/scim"
)

// The functions user, patch and so on build a document around the members that a case tests.
func user(members string) string {
	return fmt.Sprintf(`{"schemas":[%q],"userName":"ann"%s}`, scim.UserSchema, members)
}

func group(members string) string {
	return fmt.Sprintf(`{"schemas":[%q],"displayName":"crew"%s}`, scim.GroupSchema, members)
}

func enterprise(extension string) string {
	return fmt.Sprintf(`{"schemas":[%q,%q],"userName":"ann",%q:%s}`, scim.UserSchema, scim.EnterpriseUserSchema, scim.EnterpriseUserSchema,
		extension)
}

func patch(operations string) string {
	return fmt.Sprintf(`{"schemas":[%q],"Operations":%s}`, scim.PatchOpMessage, operations)
}

func list(members string) string {
	return fmt.Sprintf(`{"schemas":[%q],%s}`, scim.ListResponseMessage, members)
}

func bulk(operations string) string {
	return fmt.Sprintf(`{"schemas":[%q],"Operations":%s}`, scim.BulkRequestMessage, operations)
}

func bulkResponse(operations string) string {
	return fmt.Sprintf(`{"schemas":[%q],"Operations":%s}`, scim.BulkResponseMessage, operations)
}

func search(members string) string {
	return fmt.Sprintf(`{"schemas":[%q],%s}`, scim.SearchRequestMessage, members)
}

func scimError(members string) string {
	return fmt.Sprintf(`{"schemas":[%q],%s}`, scim.ErrorMessage, members)
}

const (
	goodFeatures = `"patch":{"supported":true},"changePassword":{"supported":false},"sort":{"supported":true},"etag":{"supported":true}`
	goodBulk     = `,"bulk":{"supported":true,"maxOperations":10,"maxPayloadSize":1000}`
	goodFilter   = `,"filter":{"supported":true,"maxResults":10}`
	goodSchemes  = `,"authenticationSchemes":[{"type":"oauthbearertoken","name":"Bearer","description":"A token"}]`
)

func config(members string) string {
	return fmt.Sprintf(`{"schemas":[%q],%s}`, scim.ServiceProviderConfigSchema, members)
}

func resourceType(members string) string {
	return fmt.Sprintf(`{"schemas":[%q],%s}`, scim.ResourceTypeSchema, members)
}

func schemaDoc(attributes string) string {
	return fmt.Sprintf(`{"schemas":[%q],"id":"urn:example:Thing","attributes":%s}`, scim.SchemaSchema, attributes)
}

func attribute(members string) string {
	return schemaDoc(`[{"name":"a","multiValued":false,` + members + `}]`)
}

type breach struct {
	rule, path, document string
	opts                 lint.Options
}

var fromServer, fromClient = lint.Options{From: lint.Server}, lint.Options{From: lint.Client}

// breaches contains documents that violate one rule and no other, with the place of the violation.
var breaches = []breach{
	{"json.syntax", "$", `{"schemas":["a"] "userName":"ann"}`, lint.Options{}},
	{"json.syntax", "$", `{"schemas":["a]}`, lint.Options{}},
	{"json.syntax", "$", ``, lint.Options{}},
	{"json.syntax", "$", user(``) + "{}", lint.Options{}},
	{"json.syntax", "$", user(`,"title":'a'`), lint.Options{}},
	{"json.syntax", "$", user(`,"title":"\x"`), lint.Options{}},
	{"json.syntax", "$", user(`,"title":01`), lint.Options{}},
	{"json.syntax", "$", user(",\"title\":\"a\nb\""), lint.Options{}},
	{"json.object", "$", `[]`, lint.Options{}},
	{"json.depth", "$", user(`,"title":` + strings.Repeat("[", 10_000)), lint.Options{}},
	{"json.literal", "$.title", user(`,"title":NaN`), lint.Options{}},
	{"json.trailing-comma", "$", user(`,"emails":[{"value":"a@example.com",}]`), lint.Options{}},
	{"json.byte-order-mark", "$", "\uFEFF" + user(``), lint.Options{}},
	{"json.utf8", "$", user(",\"title\":\"\xff\""), lint.Options{}},
	{"json.utf8", "$.title", user(`,"title":"\ud800"`), lint.Options{}},
	{"json.duplicate-member", "$.userName", user(`,"userName":"ben"`), lint.Options{}},
	{"schemas.missing", "$.schemas", `{"userName":"ann"}`, lint.Options{}},
	{"schemas.missing", "$.schemas", `{"schemas":[],"userName":"ann"}`, lint.Options{}},
	{"schemas.missing", "$.schemas", `{"schemas":"` + scim.UserSchema + `","userName":"ann"}`, lint.Options{}},
	{"schemas.missing", "$.schemas", `{"Operations":[{"op":"remove","path":"title"}]}`, lint.Options{}},
	{"schemas.duplicate", "$.schemas[1]", `{"schemas":["` + scim.UserSchema + `","` + scim.UserSchema + `"],"userName":"ann"}`,
		lint.Options{}},
	{"schemas.base", "$.schemas", patch(`[{"op":"remove","path":"title"}]`), lint.Options{As: "SearchRequest"}},
	{"schemas.base", "$.schemas",
		`{"schemas":["` + scim.EnterpriseUserSchema + `"],"userName":"ann","` + scim.EnterpriseUserSchema + `":{"department":"R&D"}}`,
		lint.Options{}},
	{"schemas.unknown", "$.schemas[0]", `{"schemas":["urn:example:Staff"],"userName":"ann"}`, lint.Options{}},
	{"schemas.message", "$.schemas[0]", `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOperation"],"Operations":[]}`,
		lint.Options{}},
	{"schemas.unknown", "$.schemas[1]",
		`{"schemas":["` + scim.UserSchema + `","urn:example:Staff"],"userName":"ann","urn:example:Staff":{"badge":"1"}}`, lint.Options{}},
	{"schemas.extension-unnamed", `$["` + scim.EnterpriseUserSchema + `"]`, user(`,"` + scim.EnterpriseUserSchema + `":{"department":"R&D"}`),
		lint.Options{}},
	{"schemas.extension-empty", "$.schemas[1]", `{"schemas":["` + scim.UserSchema + `","` + scim.EnterpriseUserSchema + `"],"userName":"ann"}`,
		lint.Options{}},
	{"resource.unknown-attribute", "$.nickname2", user(`,"nickname2":"a"`), lint.Options{}},
	{"resource.unknown-attribute", "$.emails[0].mail", user(`,"emails":[{"mail":"a"}]`), lint.Options{}},
	{"resource.core-container", `$["` + scim.UserSchema + `"]`, user(`,"` + scim.UserSchema + `":{"title":"a"}`), lint.Options{}},
	{"resource.extension-container", "$.department", user(`,"department":"R&D"`), lint.Options{}},
	{"resource.extension-container", `$["` + scim.EnterpriseUserSchema + `:department"]`,
		user(`,"` + scim.EnterpriseUserSchema + `:department":"R&D"`), lint.Options{}},
	{"resource.name-case", "$.DisplayName", user(`,"DisplayName":"Ann"`), lint.Options{}},
	{"resource.required-username", "$.userName", `{"schemas":["` + scim.UserSchema + `"]}`, lint.Options{}},
	{"resource.required-username", "$.userName", `{"schemas":["` + scim.UserSchema + `"],"userName":" "}`, lint.Options{}},
	{"resource.required-displayname", "$.displayName", `{"schemas":["` + scim.GroupSchema + `"]}`, lint.Options{}},
	{"resource.multi-valued", "$.emails", user(`,"emails":{"value":"a@example.com"}`), lint.Options{}},
	{"resource.multi-valued", "$.title", user(`,"title":["a"]`), lint.Options{}},
	{"resource.kind", "$.name", user(`,"name":"Ann"`), lint.Options{}},
	{"resource.kind", "$.title", user(`,"title":7`), lint.Options{}},
	{"resource.boolean", "$.active", user(`,"active":"True"`), lint.Options{}},
	{"resource.date-time", "$.meta.created", user(`,"id":"1","meta":{"created":"2026-01-31"}`), lint.Options{}},
	{"resource.binary", "$.x509Certificates[0].value", user(`,"x509Certificates":[{"value":"%%"}]`), lint.Options{}},
	{"resource.certificate", "$.x509Certificates[0].value", user(`,"x509Certificates":[{"value":"AAAA"}]`), lint.Options{}},
	{"resource.reference", "$.photos[0].value", user(`,"photos":[{"value":"my photo"}]`), lint.Options{}},
	{"resource.one-primary", "$.emails[1].primary",
		user(`,"emails":[{"value":"a@example.com","primary":true},{"value":"b@example.com","primary":true}]`), lint.Options{}},
	{"resource.repeated-element", "$.emails[1]",
		user(`,"emails":[{"value":"a@example.com","type":"work"},{"value":"a@example.com","type":"work"}]`), lint.Options{}},
	{"resource.canonical-value", "$.emails[0].type", user(`,"emails":[{"value":"a@example.com","type":"office"}]`), lint.Options{}},
	{"resource.profile-url", "$.profileUrl", user(`,"profileUrl":"/ann"`), lint.Options{}},
	{"resource.preferred-language", "$.preferredLanguage", user(`,"preferredLanguage":"en us"`), lint.Options{}},
	{"resource.locale", "$.locale", user(`,"locale":"en US"`), lint.Options{}},
	{"resource.timezone", "$.timezone", user(`,"timezone":"CET/Berlin"`), lint.Options{}},
	{"resource.country", "$.addresses[0].country", user(`,"addresses":[{"country":"USA"}]`), lint.Options{}},
	{"resource.email", "$.emails[0].value", user(`,"emails":[{"value":"ann"}]`), lint.Options{}},
	{"resource.member-value", "$.members[0].value", group(`,"members":[{"display":"Ann"}]`), lint.Options{}},
	{"resource.manager-value", `$["` + scim.EnterpriseUserSchema + `"].manager.value`, enterprise(`{"manager":{"$ref":"../Users/26118915"}}`),
		lint.Options{}},
	{"resource.id", "$.id", user(``), fromServer},
	{"resource.id", "$.id", user(`,"id":7`), lint.Options{}},
	{"resource.id-bulkid", "$.id", user(`,"id":"bulkId:1"`), lint.Options{}},
	{"resource.client-id", "$.id", user(`,"id":"1"`), fromClient},
	{"resource.membership", "$.groups", user(`,"groups":[{"value":"1"}]`), fromClient},
	{"resource.no-password", "$.password", user(`,"id":"1","password":"tops3cret"`), fromServer},
	{"resource.password-here", "$.password", user(`,"password":"tops3cret"`), lint.Options{}},
	{"resource.meta-type", "$.meta.resourceType", user(`,"meta":{"resourceType":"user"}`), lint.Options{}},
	{"resource.meta-times", "$.meta.lastModified", user(`,"meta":{"created":"2026-01-31T10:00:00Z","lastModified":"2026-01-31T09:00:00Z"}`),
		lint.Options{}},
	{"resource.meta-location", "$.meta.location", user(`,"id":"1","meta":{"location":"https://example.com/Users/2"}`), lint.Options{}},
	{"resource.meta-version", "$.meta.version", user(`,"meta":{"version":"w/\"1\""}`), lint.Options{}},
	{"list.total-results", "$.totalResults", list(`"totalResults":"0"`), lint.Options{}},
	{"list.total-results", "$.totalResults", list(`"Resources":[]`), lint.Options{}},
	{"list.total-results", "$.totalResults", list(`"totalResults":0,"Resources":[` + user(`,"id":"1"`) + `]`), lint.Options{}},
	{"list.resources", "$.Resources", list(`"totalResults":3`), lint.Options{}},
	{"list.items-per-page", "$.itemsPerPage", list(`"totalResults":3,"itemsPerPage":3,"Resources":[` + user(`,"id":"1"`) + `]`),
		lint.Options{}},
	{"list.start-index", "$.startIndex", list(`"totalResults":0,"startIndex":0,"Resources":[]`), lint.Options{}},
	{"list.ids", "$.Resources[1].id", list(`"totalResults":2,"Resources":[` + user(`,"id":"1"`) + `,` + user(`,"id":"1"`) + `]`),
		lint.Options{}},
	{"resource.id", "$.Resources[0].id", list(`"totalResults":2,"Resources":[` + user(``) + `]`), lint.Options{}},
	{"patch.operations", "$.Operations", `{"schemas":["` + scim.PatchOpMessage + `"]}`, lint.Options{}},
	{"patch.operations", "$.Operations", patch(`[]`), lint.Options{}},
	{"patch.op", "$.Operations[0].op", patch(`[{"path":"title","value":"a"}]`), lint.Options{}},
	{"patch.op-known", "$.Operations[0].op", patch(`[{"op":"move","path":"title","value":"a"}]`), lint.Options{}},
	{"patch.op-case", "$.Operations[0].op", patch(`[{"op":"Replace","path":"title","value":"a"}]`), lint.Options{}},
	{"patch.remove-path", "$.Operations[0].path", patch(`[{"op":"remove"}]`), lint.Options{}},
	{"patch.path", "$.Operations[0].path", patch(`[{"op":"remove","path":"/title"}]`), lint.Options{}},
	{"patch.path", "$.Operations[0].path", patch(`[{"op":"remove","path":"emails[type eq work]"}]`), lint.Options{}},
	{"patch.value", "$.Operations[0].value", patch(`[{"op":"add","path":"title"}]`), lint.Options{}},
	{"patch.value-object", "$.Operations[0].value", patch(`[{"op":"replace","value":"a"}]`), lint.Options{}},
	{"patch.replace-value", "$.Operations[0].value", patch(`[{"op":"replace","path":"title"}]`), lint.Options{}},
	{"patch.remove-value", "$.Operations[0].value", patch(`[{"op":"remove","path":"members","value":[{"value":"1"}]}]`), lint.Options{}},
	{"patch.read-only", "$.Operations[0].path", patch(`[{"op":"add","path":"groups","value":[{"value":"1"}]}]`), lint.Options{}},
	{"patch.read-only", "$.Operations[0].path", patch(`[{"op":"replace","path":"id","value":"1"}]`), lint.Options{}},
	{"patch.unknown-attribute", "$.Operations[0].path", patch(`[{"op":"replace","path":"nickname2","value":"a"}]`), lint.Options{}},
	{"patch.dotted-name", `$.Operations[0].value["name.givenName"]`, patch(`[{"op":"replace","value":{"name.givenName":"Ann"}}]`),
		lint.Options{}},
	{"resource.boolean", "$.Operations[0].value", patch(`[{"op":"replace","path":"active","value":"False"}]`), lint.Options{}},
	{"resource.boolean", "$.Operations[0].value.active", patch(`[{"op":"replace","value":{"active":"False"}}]`), lint.Options{}},
	{"bulk.operations", "$.Operations", `{"schemas":["` + scim.BulkRequestMessage + `"]}`, lint.Options{}},
	{"bulk.method", "$.Operations[0].method", bulk(`[{"method":"GET","path":"/Users/1","data":{}}]`), lint.Options{As: "BulkRequest"}},
	{"bulk.bulk-id", "$.Operations[0].bulkId", bulk(`[{"method":"POST","path":"/Users","data":` + user(``) + `}]`), lint.Options{}},
	{"bulk.bulk-id-unique", "$.Operations[1].bulkId",
		bulk(`[{"method":"POST","bulkId":"a","path":"/Users","data":` + user(``) + `},{"method":"POST","bulkId":"a","path":"/Users","data":` +
			user(``) + `}]`), lint.Options{}},
	{"bulk.path", "$.Operations[0].path", bulk(`[{"method":"DELETE","path":"Users/1"}]`), lint.Options{}},
	{"bulk.path", "$.Operations[0].path", bulk(`[{"method":"DELETE","path":"/Users"}]`), lint.Options{}},
	{"bulk.data", "$.Operations[0].data", bulk(`[{"method":"PUT","path":"/Users/1"}]`), lint.Options{}},
	{"bulk.fail-on-errors", "$.failOnErrors", `{"schemas":["` + scim.BulkRequestMessage + `"],"failOnErrors":"1","Operations":[]}`,
		lint.Options{}},
	{"bulk.reference", "$.Operations[0].data.members[0].value",
		bulk(`[{"method":"POST","bulkId":"a","path":"/Groups","data":` + group(`,"members":[{"value":"bulkId:b"}]`) + `}]`), lint.Options{}},
	{"bulkresponse.fail-on-errors", "$.failOnErrors", `{"schemas":["` + scim.BulkResponseMessage + `"],"failOnErrors":1,"Operations":[]}`,
		lint.Options{}},
	{"bulkresponse.status", "$.Operations[0].status", bulkResponse(`[{"method":"DELETE","location":"https://example.com/Users/1"}]`),
		lint.Options{}},
	{"bulkresponse.status-text", "$.Operations[0].status",
		bulkResponse(`[{"method":"DELETE","status":204,"location":"https://example.com/Users/1"}]`), lint.Options{}},
	{"bulkresponse.location", "$.Operations[0].location", bulkResponse(`[{"method":"DELETE","status":"204"}]`), lint.Options{}},
	{"bulkresponse.location", "$.Operations[0].location",
		bulkResponse(`[{"method":"PUT","status":"412","response":` + scimError(`"status":"412"`) + `}]`), lint.Options{}},
	{"bulkresponse.response", "$.Operations[0].response", bulkResponse(`[{"method":"POST","bulkId":"a","status":"409"}]`), lint.Options{}},
	{"bulkresponse.bulk-id", "$.Operations[0].bulkId",
		bulkResponse(`[{"method":"POST","status":"201","location":"https://example.com/Users/1"}]`), lint.Options{}},
	{"error.status", "$.status", scimError(`"status":404`), lint.Options{}},
	{"error.scim-type", "$.scimType", scimError(`"status":"400","scimType":"badFilter"`), lint.Options{}},
	{"error.scim-type", "$.scimType", scimError(`"status":"404","scimType":"uniqueness"`), lint.Options{}},
	{"error.detail", "$.detail", scimError(`"status":"404","detail":["a"]`), lint.Options{}},
	{"search.member", "$.count", search(`"count":"10"`), lint.Options{}},
	{"search.both-projections", "$.excludedAttributes", search(`"attributes":["a"],"excludedAttributes":["b"]`), lint.Options{}},
	{"search.attribute", "$.attributes[0]", search(`"attributes":["a b"]`), lint.Options{}},
	{"search.filter", "$.filter", search(`"filter":"userName eq ann"`), lint.Options{}},
	{"search.filter-form", "$.filter", search(`"filter":"emails[type eq \"work\"].value eq \"a\""`), lint.Options{}},
	{"search.sort-order", "$.sortOrder", search(`"sortOrder":"up"`), lint.Options{}},
	{"search.paging", "$.startIndex", search(`"startIndex":0`), lint.Options{}},
	{"config.feature", "$.etag",
		config(strings.Replace(goodFeatures, `,"etag":{"supported":true}`, "", 1) + goodBulk + goodFilter + goodSchemes), lint.Options{}},
	{"config.feature", "$.etag.supported",
		config(strings.Replace(goodFeatures, `"etag":{"supported":true}`, `"etag":{"supported":"true"}`, 1) + goodBulk + goodFilter +
			goodSchemes), lint.Options{}},
	{"config.bulk", "$.bulk", config(goodFeatures + goodFilter + goodSchemes), lint.Options{}},
	{"config.filter", "$.filter.maxResults", config(goodFeatures + goodBulk + `,"filter":{"supported":true}` + goodSchemes), lint.Options{}},
	{"config.schemes", "$.authenticationSchemes", config(goodFeatures + goodBulk + goodFilter), lint.Options{}},
	{"config.scheme", "$.authenticationSchemes[0].description",
		config(goodFeatures + goodBulk + goodFilter + `,"authenticationSchemes":[{"type":"oauth2","name":"a"}]`), lint.Options{}},
	{"config.scheme-type", "$.authenticationSchemes[0].type",
		config(goodFeatures + goodBulk + goodFilter + `,"authenticationSchemes":[{"type":"bearer","name":"a","description":"b"}]`),
		lint.Options{}},
	{"config.pagination", "$.pagination.index", config(goodFeatures + goodBulk + goodFilter + goodSchemes + `,"pagination":{"cursor":true}`),
		lint.Options{}},
	{"config.pagination-limits", "$.pagination.maxPageSize",
		config(goodFeatures + goodBulk + goodFilter + goodSchemes + `,"pagination":{"cursor":true,"index":true,"maxPageSize":0}`),
		lint.Options{}},
	{"resourcetype.name", "$.name", resourceType(`"endpoint":"/Users","schema":"urn:a"`), lint.Options{}},
	{"resourcetype.endpoint", "$.endpoint", resourceType(`"name":"User","endpoint":"https://example.com/Users","schema":"urn:a"`),
		lint.Options{}},
	{"resourcetype.schema", "$.schema", resourceType(`"name":"User","endpoint":"/Users"`), lint.Options{}},
	{"resourcetype.extension", "$.schemaExtensions[0].schema",
		resourceType(`"name":"User","endpoint":"/Users","schema":"urn:a","schemaExtensions":[{"required":true}]`), lint.Options{}},
	{"resourcetype.extension-required", "$.schemaExtensions[0].required",
		resourceType(`"name":"User","endpoint":"/Users","schema":"urn:a","schemaExtensions":[{"schema":"urn:b"}]`), lint.Options{}},
	{"schema.id", "$.id", `{"schemas":["` + scim.SchemaSchema + `"],"attributes":[]}`, lint.Options{}},
	{"schema.attributes", "$.attributes", `{"schemas":["` + scim.SchemaSchema + `"],"id":"urn:a"}`, lint.Options{}},
	{"schema.attribute-name", "$.attributes[0].name", schemaDoc(`[{"type":"string","multiValued":false}]`), lint.Options{}},
	{"schema.attribute-grammar", "$.attributes[0].name", schemaDoc(`[{"name":"1a","type":"string","multiValued":false}]`), lint.Options{}},
	{"schema.attribute-twice", "$.attributes[1].name",
		schemaDoc(`[{"name":"a","type":"string","multiValued":false},{"name":"A","type":"string","multiValued":false}]`), lint.Options{}},
	{"schema.type", "$.attributes[0].type", attribute(`"type":"text"`), lint.Options{}},
	{"schema.multi-valued", "$.attributes[0].multiValued", schemaDoc(`[{"name":"a","type":"string"}]`), lint.Options{}},
	{"schema.boolean", "$.attributes[0].required", attribute(`"type":"string","required":"yes"`), lint.Options{}},
	{"schema.keyword", "$.attributes[0].mutability", attribute(`"type":"string","mutability":"readwrite"`), lint.Options{}},
	{"schema.reference-types", "$.attributes[0].referenceTypes", attribute(`"type":"string","referenceTypes":["User"]`), lint.Options{}},
	{"schema.sub-attributes", "$.attributes[0].subAttributes", attribute(`"type":"complex"`), lint.Options{}},
	{"schema.simple-sub-attributes", "$.attributes[0].subAttributes",
		attribute(`"type":"string","subAttributes":[{"name":"b","type":"string","multiValued":false}]`), lint.Options{}},
	{"schema.complex-in-complex", "$.attributes[0].subAttributes[0].type",
		attribute(`"type":"complex","subAttributes":[{"name":"b","type":"complex","multiValued":false,"subAttributes":[]}]`), lint.Options{}},
	{"schema.write-only", "$.attributes[0].mutability", attribute(`"type":"string","mutability":"writeOnly"`), lint.Options{}},
}

// byOwnSchema are the rules that cannot be violated with the core schemas; see TestLint_CustomSchemas.
var byOwnSchema = []string{"resource.required", "resource.integer", "resource.read-only", "json.size"}

// TestLint_FindsEachViolation checks that Lint reports each violation with its path, and no other finding.
func TestLint_FindsEachViolation(t *testing.T) {
	for _, b := range breaches {
		t.Run(b.rule, func(t *testing.T) {
			r := lint.Lint([]byte(b.document), b.opts)
			require.Len(t, r.Findings, 1, "%s\n%v", b.document, r.Findings)
			require.Equal(t, b.rule, r.Findings[0].Rule.ID, "%v", r.Findings)
			require.Equal(t, b.path, r.Findings[0].Path)
			require.NotContains(t, r.Findings[0].Got, "tops3cret")
		})
	}
}

func TestRules_EachHasViolation(t *testing.T) {
	for _, r := range lint.Rules() {
		shown := slices.ContainsFunc(breaches, func(b breach) bool { return b.rule == r.ID }) || slices.Contains(byOwnSchema, r.ID)
		require.True(t, shown, r.ID)
	}
}

// TestRules_CiteRequirements checks that each rule cites a known requirement, and has the level Must only if the requirement has it.
func TestRules_CiteRequirements(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range lint.Rules() {
		require.False(t, seen[r.ID], r.ID)
		seen[r.ID] = true
		clause, known := requirements.Lookup(r.Requirement)
		require.True(t, known, "%s cites %s", r.ID, r.Requirement)
		require.NotEmpty(t, r.Title)
		require.NotEmpty(t, r.Fix)
		if r.Level == conformance.Must {
			require.Contains(t, []requirements.Level{requirements.Must, requirements.MustNot}, clause.Level, "%s: %s", r.ID, clause.Text)
		}
	}
}

func TestLint_AcceptsRFCSamples(t *testing.T) {
	samples, err := filepath.Glob("../../fixtures/rfc/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	for _, name := range samples {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		r := lint.Lint(data, lint.Options{})
		require.NotEmpty(t, r.Kind)
		for _, f := range r.Findings {
			cut := f.Rule.ID == "resource.certificate" // the example in the RFC contains only the first line of a certificate
			require.True(t, cut || f.Outcome() == conformance.Info, "%s: %+v", name, f)
		}
	}
}

func TestLint_NoFalsePositives(t *testing.T) {
	for name, c := range map[string]struct{ kind, document string }{
		"user":            {"User", user(`,"name":{"familyName":"Ode"},"emails":[],"title":null,"active":true,"timezone":"Europe/Berlin"`)},
		"enterprise user": {"User", enterprise(`{"department":"R&D","manager":{"value":"1"}}`)},
		"group":           {"Group", group(`,"members":[{"value":"1","$ref":"../Users/1","type":"User"}]`)},
		"empty list":      {"ListResponse", list(`"totalResults":0`)},
		"count=0":         {"ListResponse", list(`"totalResults":7,"itemsPerPage":0`)},
		"cursor list":     {"ListResponse", list(`"nextCursor":"a","Resources":[` + user(`,"id":"1"`) + `]`)},
		"patch": {"PatchOp",
			patch(`[{"op":"add","path":"members","value":[{"value":"1"}]},{"op":"add","path":"members","value":{"value":"1"}},{"op":"remove",` +
				`"path":"members[value eq \"1\"]"},{"op":"replace","value":{"active":false,"name":{"givenName":"Ann"}}},{"op":"replace",` +
				`"path":"emails[type eq \"work\"].value","value":"a@example.com"}]`)},
		"patch of extension": {"PatchOp",
			patch(`[{"op":"replace","path":"` + scim.EnterpriseUserSchema + `:manager.value","value":"1"},{"op":"add","value":{"` +
				scim.EnterpriseUserSchema + `":{"department":"R&D"}}}]`)},
		"bulk": {"BulkRequest",
			bulk(`[{"method":"POST","bulkId":"a","path":"/Users","data":` + user(``) + `},{"method":"POST","bulkId":"g","path":"/Groups","data":` +
				group(`,"members":[{"value":"bulkId:a"}]`) + `},{"method":"PATCH","path":"/Users/bulkId:a","data":` +
				patch(`[{"op":"remove","path":"title"}]`) + `},{"method":"DELETE","path":"/Users/1"}]`)},
		"bulk response": {"BulkResponse",
			bulkResponse(`[{"method":"POST","bulkId":"a","status":"201","location":"https://example.com/Users/1"},{"method":"POST","bulkId":"b",` +
				`"status":"409","response":` + scimError(`"status":"409","scimType":"uniqueness"`) + `}]`)},
		"rejected bulk": {"BulkResponse",
			bulkResponse(`[{"method":"PUT","status":"400","response":` + scimError(`"status":"400"`) +
				`},{"method":"POST","status":"400","response":` + scimError(`"status":"400"`) + `}]`)},
		"error": {"Error", scimError(`"status":"400","scimType":"invalidFilter","detail":"a"`)},
		"search": {"SearchRequest",
			search(`"filter":"userName sw \"a\"","attributes":["userName","name.familyName"],"count":10,"startIndex":1,"sortBy":"userName",` +
				`"sortOrder":"descending"`)},
		"provider config": {"ServiceProviderConfig", config(goodFeatures + goodBulk + goodFilter + goodSchemes)},
		"resource type": {"ResourceType",
			resourceType(`"name":"User","endpoint":"/Users","schema":"urn:a","schemaExtensions":[{"schema":"urn:b","required":false}]`)},
		"schema": {"Schema",
			attribute(`"type":"reference","referenceTypes":["User"],"mutability":"readWrite","returned":"default","uniqueness":"none"`)},
		"surrogates in order": {"User", user(`,"title":"\ud83d\ude00 \ufffd"`)},
	} {
		r := lint.Lint([]byte(c.document), lint.Options{})
		require.Empty(t, r.Findings, name)
		require.Equal(t, c.kind, r.Kind, name)
	}
}

func TestLint_CustomSchemas(t *testing.T) {
	own, err := lint.ReadSchemas([]byte(`{"schemas":["` + scim.SchemaSchema + `"],"id":"urn:example:Thing","name":"Thing","attributes":[
		{"name":"serial","type":"string","multiValued":false,"required":true},
		{"name":"price","type":"integer","multiValued":false},
		{"name":"stock","type":"integer","multiValued":false,"mutability":"readOnly"}]}`))
	require.NoError(t, err)
	rules := func(document string, opts lint.Options) (out []string) {
		opts.Schemas = own
		for _, f := range lint.Lint([]byte(document), opts).Findings {
			out = append(out, f.Rule.ID+" "+f.Path)
		}
		return out
	}
	require.Empty(t, rules(`{"schemas":["urn:example:Thing"],"serial":"1","price":7}`, lint.Options{}))
	require.Equal(t, []string{"resource.required $.serial", "resource.integer $.price"},
		rules(`{"schemas":["urn:example:Thing"],"price":7.5}`, lint.Options{}))
	require.Equal(t, []string{"resource.integer $.price"}, rules(`{"schemas":["urn:example:Thing"],"serial":"1","price":"7"}`, lint.Options{}))
	require.Equal(t, []string{"resource.read-only $.stock"},
		rules(`{"schemas":["urn:example:Thing"],"serial":"1","stock":7}`, lint.Options{From: lint.Client}))
	require.Equal(t, []string{"resource.required $.serial"}, rules(`{"schemas":["urn:example:Thing"]}`, lint.Options{As: "urn:example:Thing"}))
	require.Empty(t, rules(`{"schemas":["urn:example:Thing"]}`, lint.Options{Partial: true}))
	_, err = lint.ReadSchemas([]byte(`{"totalResults":0,"Resources":[]}`))
	require.Error(t, err)
}

// TestFinding_LineAndColumn checks that the column of a finding counts characters, not bytes.
func TestFinding_LineAndColumn(t *testing.T) {
	r := lint.Lint([]byte("{\n  \"schemas\": [\""+scim.UserSchema+"\"],\n  \"userName\": \"ä\", \"title\": \"ü\", \"active\": \"yes\"\n}"),
		lint.Options{})
	require.Len(t, r.Findings, 1)
	require.Equal(t, [2]int{3, 44}, [2]int{r.Findings[0].Line, r.Findings[0].Column})
}

func TestLint_RedactsSecrets(t *testing.T) {
	for _, document := range []string{
		user(`,"password":4711471147114711`),
		user(`,"PASSWORD":["tops3cret"]`),
		patch(`[{"op":"replace","path":"password","value":"tops3cret"},{"op":"Replace","path":"password","value":["tops3cret"]}]`),
		patch(`[{"value":{"a":"tops3cret"},"path":"password","op":"replace"}]`),
		patch(`[{"op":"replace","value":{"password":["tops3cret"]}}]`),
		user(`,"password":"tops3cret`),
		user(`,"password":tops3cret`),
		search(`"filter":"password eq \"tops3cret"`),
		user(`,"clientSecret":"tops3cret","urn:x":{"apiToken":"tops3cret"}`),
	} {
		for _, side := range []lint.Side{lint.Unknown, lint.Client, lint.Server} {
			text, err := json.Marshal(lint.Lint([]byte(document), lint.Options{From: side}))
			require.NoError(t, err)
			require.NotContains(t, string(text), "s3cret", document)
			require.NotContains(t, string(text), "4711", document)
		}
	}
}

func TestLint_RejectsLargeDocument(t *testing.T) {
	r := lint.Lint(make([]byte, lint.MaxSize+1), lint.Options{})
	require.Equal(t, "json.size", r.Findings[0].Rule.ID)
}

func TestLint_BoundsFindings(t *testing.T) {
	r := lint.Lint([]byte(user(`,"emails":[`+strings.TrimSuffix(strings.Repeat(`7,`, lint.MaxFindings+50), ",")+`]`)), lint.Options{})
	require.Len(t, r.Findings, lint.MaxFindings)
	require.Equal(t, 50, r.More)
}

func FuzzLint(f *testing.F) {
	for _, b := range breaches {
		if len(b.document) < 4096 {
			f.Add([]byte(b.document))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, as := range append(lint.Kinds(), "") {
			for _, finding := range lint.Lint(data, lint.Options{As: as}).Findings {
				require.NotEmpty(t, finding.Rule.Requirement, finding)
			}
		}
	})
}
