package checks

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var discovery = []check{
	{
		ID: "discovery.service-provider-config",
		Title: "GET /ServiceProviderConfig returns 200 with one ServiceProviderConfig object that states for each optional feature " +
			"whether the server supports it",
		Requirements: reqs("RFC7643-5-04", "RFC7643-5-05", "RFC7643-5-06", "RFC7644-4-01", "RFC7644-3.8-06"),
		Level:        must,
		Requests:     1,
		Why: "Clients decide from this document whether they may send PATCH, filters or bulk requests. A client that does not find a " +
			"feature in the document does not use the feature, or stops.",
		Fix: "Serve the complete document of RFC 7643 section 5: patch, bulk, filter, changePassword, sort and etag, each an object " +
			"with a boolean \"supported\".",
		Run: discoveryServiceProviderConfig,
	},
	{
		ID: "discovery.limits",
		Title: "The ServiceProviderConfig states maxOperations, maxPayloadSize and maxResults as integers, even for features that are " +
			"not supported; the limits of a supported feature are positive",
		Requirements: reqs("RFC7643-5-05", "RFC7643-5-06", "RFC7643-2.3.4-01"),
		Level:        must,
		Requests:     1,
		Why: "The limits are required members; typed clients cannot read the document when one is missing or a string. A client that " +
			"applies the limit 0 requests no results.",
		Fix: "Add the members as JSON integers; use 0 only for a feature that is not supported.",
		Run: discoveryLimits,
	},
	{
		ID:           "discovery.authentication-schemes",
		Title:        "The ServiceProviderConfig lists authentication schemes with type, name and description, at most one of them primary",
		Requirements: reqs("RFC7643-5-07", "RFC7643-5-09", "RFC7643-5-10", "RFC7643-2.4-04"),
		Level:        must,
		Requests:     1,
		Why:          "Administrators and setup wizards learn from this list how to authenticate; without it, they have to guess.",
		Fix: "Return authenticationSchemes as an array of objects with type, name and description, even if the server has only " +
			"one scheme. The types of RFC 7643 are oauth, oauth2, oauthbearertoken, httpbasic and httpdigest.",
		Run: discoveryAuthenticationSchemes,
	},
	{
		ID:           "discovery.resource-types",
		Title:        "GET /ResourceTypes lists at least one resource type, each with name, endpoint and schema",
		Requirements: reqs("RFC7644-4-04", "RFC7643-6-03", "RFC7643-6-05", "RFC7643-6-06", "RFC7643-6-09", "RFC7644-3.8-06"),
		Level:        must,
		Requests:     1,
		Why:          "Clients read the endpoints and extensions from this list, and cannot use a resource type that the list omits.",
		Fix: "Return a ListResponse whose items have name, endpoint (starting with a slash) and schema; entries of schemaExtensions " +
			"have schema and a boolean required.",
		Run: discoveryResourceTypes,
	},
	{
		ID:           "discovery.resource-type-by-name",
		Title:        "Each resource type can be read at /ResourceTypes/{id or name}, and an unknown name returns 404",
		Requirements: reqs("RFC7644-4-05", "RFC7644-4-06"),
		Level:        must,
		Requests:     5,
		Why:          "Clients read each resource type at its own URI, and stop if the server does not find it.",
		Fix:          "Serve each resource type at /ResourceTypes/{id}, such as /ResourceTypes/User, with the same members as in the list.",
		Run:          discoveryResourceTypeByName,
	},
	{
		ID:    "discovery.schemas",
		Title: "GET /Schemas lists every schema that a resource type declares, each with id and attributes",
		Requirements: reqs("RFC7644-4-02", "RFC7643-7-01", "RFC7643-6-06", "RFC7643-6-08", "RFC7643-7-04", "RFC7643-7-06",
			"RFC7644-3.8-06"),
		Level:    must,
		Requests: 2,
		Why:      "Schema-driven clients transfer only the attributes that this list defines; those of a missing schema are lost.",
		Fix:      "List the schema of every resource type and of every extension, with all attribute definitions.",
		Run:      discoverySchemas,
	},
	{
		ID:           "discovery.schema-by-urn",
		Title:        "Each schema can be read at /Schemas/{URN}, and an unknown URN returns 404",
		Requirements: reqs("RFC7644-4-03", "RFC7644-4-06"),
		Level:        must,
		Requests:     5,
		Why:          "Clients read single schemas by URN; if the server cannot route the colons and dots of a URN, they get no schema and stop.",
		Fix:          "Route /Schemas/{URN} for every listed schema; check that the router does not truncate an id at its last dot.",
		Run:          discoverySchemaByUrn,
	},
	{
		ID:    "discovery.attribute-definitions",
		Title: "Every attribute definition in /Schemas is complete and uses the keywords of RFC 7643",
		Requirements: reqs("RFC7643-7-08", "RFC7643-7-07", "RFC7643-7-10", "RFC7643-7-12", "RFC7643-7-29", "RFC7643-2.1-02", "RFC7643-2.3.8-02",
			"RFC7643-1.2-01", "RFC7643-7-30"),
		Level:    must,
		Requests: 1,
		Why:      "Clients cannot interpret an attribute with an unknown type or mutability, and do not transfer its values.",
		Fix: "Compare the definition with RFC 7643 section 7: name, type, multiValued, the keywords of mutability, returned and " +
			"uniqueness, and the lists canonicalValues and referenceTypes.",
		Run: discoveryAttributeDefinitions,
	},
	{
		ID:           "discovery.user-schema",
		Title:        "The User schema describes userName, password, groups, active and emails as in RFC 7643, for example password as writeOnly",
		Requirements: reqs("RFC7643-4.1.1-14", "RFC7643-4.1.1-03", "RFC7643-8.7.1-01", "RFC7643-8.7.1-07", "RFC7643-8.7.1-13"),
		Level:        must,
		Requests:     1,
		Why:          "Clients that read a wrong definition omit userName, compare it case-sensitively, or expect to read passwords.",
		Fix:          "In /Schemas, define userName, password, groups, active and emails as in RFC 7643 section 8.7.1.",
		Run:          discoveryUserSchema,
	},
	{
		ID:           "discovery.user-types",
		Title:        "The User schema declares the types of RFC 7643, such as binary for x509Certificates.value",
		Requirements: reqs("RFC7643-8.7.1-15", "RFC7643-8.7.1-08", "RFC7643-8.7.1-11", "RFC7643-8.7.1-04"),
		Level:        should,
		Requests:     1,
		Why: "Clients convert and compare values by their declared type; with a wrong type, they compare binary values as strings, or do " +
			"not follow references.",
		Fix: "In /Schemas, declare the types of RFC 7643 section 8.7.1.",
		Run: discoveryUserTypes,
	},
	{
		ID:           "discovery.no-message-schemas",
		Title:        "The schemas of protocol messages are not listed in /Schemas",
		Requirements: reqs("RFC7644-3.1-03"),
		Level:        must,
		Requests:     1,
		Why:          "Messages are not resources; clients that generate types from the list offer them to administrators as resources.",
		Fix:          "Remove every urn:ietf:params:scim:api: entry from the list.",
		Run: func(ctx context.Context, t *T) {
			items := t.Get(ctx, "/Schemas").Resources()
			t.SkipIf(len(items) == 0, "blocked: /Schemas lists nothing")
			for _, s := range items {
				t.Holds(!strings.HasPrefix(strings.ToLower(s.Text("id")), "urn:ietf:params:scim:api:"), "ids in /Schemas", "no message schema",
					s.Text("id"))
			}
		},
	},
	{
		ID:           "discovery.ignores-paging",
		Title:        "Paging parameters are ignored on /Schemas and /ResourceTypes",
		Requirements: reqs("RFC7644-4-07"),
		Level:        must,
		Requests:     4,
		Why:          "A client that sends its usual paging parameters would otherwise read only part of the schemas.",
		Fix:          "Do not apply resource paging to discovery lists.",
		Run:          discoveryIgnoresPaging,
	},
	{
		ID:           "discovery.read-only",
		Title:        "Discovery documents cannot be created, replaced or deleted",
		Requirements: reqs("RFC7643-5-01", "RFC7643-6-01", "RFC7643-7-02", "RFC7644-4-10"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite),
		Requests:     4,
		Why:          "All clients rely on the discovery documents; one client that changes them breaks the others.",
		Fix:          "Return 405 for every method except GET and HEAD on /ServiceProviderConfig, /ResourceTypes and /Schemas.",
		Run:          discoveryReadOnly,
	},
}

func discoveryServiceProviderConfig(ctx context.Context, t *T) {
	res := t.Get(ctx, "/ServiceProviderConfig")
	t.Require("status of "+res.Name, 200, res.Status)
	t.Must(res.Object() != nil, "body of "+res.Name, "a JSON object", string(res.Body))
	hasJSONType(t, res)
	t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ServiceProviderConfigSchema), "schemas of the ServiceProviderConfig",
		scim.ServiceProviderConfigSchema, texts(res.Object(), "schemas"))
	for _, feature := range []string{"patch", "bulk", "filter", "changePassword", "sort", "etag"} {
		supported := value(res.Object(), feature+".supported")
		_, isBool := supported.(bool)
		t.Holds(isBool, feature+".supported", "true or false", supported)
	}
}

// discoveryLimits accepts 0 as the limit of a feature that is not supported.
func discoveryLimits(ctx context.Context, t *T) {
	res := t.Get(ctx, "/ServiceProviderConfig")
	t.SkipIf(res.Status != 200 || res.Object() == nil, "blocked: the ServiceProviderConfig cannot be read")
	for _, path := range []string{"bulk.maxOperations", "bulk.maxPayloadSize", "filter.maxResults"} {
		feature, name, _ := strings.Cut(path, ".")
		if !isInteger(t, path, value(res.Object(), path)) {
			continue
		}
		if supported, _ := res.Object().Complex(feature).Bool("supported"); supported {
			t.Warn(limit(res.Object().Complex(feature), name) > 0, path+", while "+feature+".supported is true", "a positive integer",
				value(res.Object(), path))
		}
	}
}

// schemeTypes are the types of authentication schemes that RFC 7643 section 5 defines.
var schemeTypes = []string{"oauth", "oauth2", "oauthbearertoken", "httpbasic", "httpdigest"}

func discoveryAuthenticationSchemes(ctx context.Context, t *T) {
	res := t.Get(ctx, "/ServiceProviderConfig")
	t.SkipIf(res.Status != 200 || res.Object() == nil, "blocked: the ServiceProviderConfig cannot be read")
	schemes, _ := res.Object().Get("authenticationSchemes")
	items, isArray := schemes.([]any)
	t.Must(isArray, "authenticationSchemes", "an array", schemes)
	t.Warn(len(items) > 0, "authenticationSchemes", "at least one scheme", schemes)
	primaries := 0
	for i, item := range items {
		scheme, _ := item.(*scim.Object)
		for _, member := range []string{"type", "name", "description"} {
			t.Holds(scheme.Text(member) != "", fmt.Sprintf("authenticationSchemes[%d].%s", i, member), "a string", value(scheme, member))
		}
		if kind := scheme.Text("type"); kind != "" {
			t.Warn(slices.Contains(schemeTypes, strings.ToLower(kind)), fmt.Sprintf("authenticationSchemes[%d].type", i),
				"one of "+strings.Join(schemeTypes, ", "), kind)
		}
		if primary, _ := scheme.Bool("primary"); primary {
			primaries++
		}
	}
	t.Holds(primaries <= 1, "number of primary authentication schemes", "at most 1", primaries)
}

func discoveryResourceTypes(ctx context.Context, t *T) {
	res := t.Get(ctx, "/ResourceTypes")
	listEnvelope(t, res)
	t.Must(len(res.Resources()) > 0, "items of /ResourceTypes", "at least one", len(res.Resources()))
	for _, rt := range res.Resources() {
		name := rt.Text("name")
		t.Holds(name != "", "name of a resource type", "a string", value(rt, "name"))
		t.Holds(strings.HasPrefix(rt.Text("endpoint"), "/") || strings.Contains(rt.Text("endpoint"), "://"), "endpoint of resource type "+name,
			"a path below the base URL, such as /Users", value(rt, "endpoint"))
		t.Holds(rt.Text("schema") != "", "schema of resource type "+name, "the URN of a schema", value(rt, "schema"))
		for _, item := range rt.Array("schemaExtensions") {
			extension, _ := item.(*scim.Object)
			t.Holds(extension.Text("schema") != "", "schemaExtensions.schema of resource type "+name, "the URN of a schema",
				value(extension, "schema"))
			_, ok := extension.Bool("required")
			t.Holds(ok, "schemaExtensions.required of resource type "+name, "true or false", value(extension, "required"))
		}
	}
}

func discoveryResourceTypeByName(ctx context.Context, t *T) {
	items := t.Get(ctx, "/ResourceTypes").Resources()
	t.SkipIf(len(items) == 0, "blocked: /ResourceTypes lists nothing")
	for _, item := range items {
		id := item.Text("id")
		if id == "" {
			id = item.Text("name")
		}
		res := t.Get(ctx, "/ResourceTypes/"+url.PathEscape(id))
		if t.Expect("status of "+res.Name, 200, res.Status) {
			for _, member := range []string{"name", "endpoint", "schema"} {
				t.Expect(member+" in "+res.Name+", as in the list", value(item, member), value(res.Object(), member))
			}
		}
	}
	res := t.Get(ctx, "/ResourceTypes/NoSuchResourceType")
	t.Warn(res.Status == 404, "status of "+res.Name, "404", res.Status)
}

func discoverySchemas(ctx context.Context, t *T) {
	types := t.Get(ctx, "/ResourceTypes").Resources()
	res := t.Get(ctx, "/Schemas")
	listEnvelope(t, res)
	t.Must(len(res.Resources()) > 0, "items of /Schemas", "at least one", len(res.Resources()))
	listed := map[string]bool{}
	for _, s := range res.Resources() {
		listed[strings.ToLower(s.Text("id"))] = true
		t.Holds(s.Text("id") != "", "id of a schema", "its URN", value(s, "id"))
		t.Holds(len(s.Array("attributes")) > 0, "attributes of schema "+s.Text("id"), "a list of definitions", value(s, "attributes"))
	}
	for _, rt := range types {
		declared := []string{rt.Text("schema")}
		for _, item := range rt.Array("schemaExtensions") {
			if extension, ok := item.(*scim.Object); ok {
				declared = append(declared, extension.Text("schema"))
			}
		}
		for _, urn := range declared {
			t.Holds(urn == "" || listed[strings.ToLower(urn)], "schemas declared by resource type "+rt.Text("name"), urn+" in /Schemas",
				"not listed")
		}
	}
}

func discoverySchemaByUrn(ctx context.Context, t *T) {
	items := t.Get(ctx, "/Schemas").Resources()
	t.SkipIf(len(items) == 0, "blocked: /Schemas lists nothing")
	for _, item := range items[:min(len(items), 3)] {
		res := t.Get(ctx, "/Schemas/"+item.Text("id"))
		if t.Expect("status of "+res.Name, 200, res.Status) {
			t.Expect("id in "+res.Name, item.Text("id"), res.Object().Text("id"))
			t.Expect("number of attributes in "+res.Name+", as in the list", len(item.Array("attributes")), len(res.Object().Array("attributes")))
		}
	}
	res := t.Get(ctx, "/Schemas/urn:example:no-such-schema")
	t.Warn(res.Status == 404, "status of "+res.Name, "404", res.Status)
}

func discoveryAttributeDefinitions(ctx context.Context, t *T) {
	items := t.Get(ctx, "/Schemas").Resources()
	t.SkipIf(len(items) == 0, "blocked: /Schemas lists nothing")
	for _, s := range items {
		for _, item := range s.Array("attributes") {
			definition, _ := item.(*scim.Object)
			attributeDefinition(t, s.Text("id")+":"+definition.Text("name"), definition, true)
		}
	}
}

func discoveryUserSchema(ctx context.Context, t *T) {
	var user *scim.Object
	for _, s := range t.Get(ctx, "/Schemas").Resources() {
		if scim.EqualName(s.Text("id"), scim.UserSchema) {
			user = s
		}
	}
	t.SkipIf(user == nil, "the target does not list the User schema")
	for _, row := range []struct{ attribute, characteristic, want string }{
		{"userName", "required", "true"}, {"userName", "uniqueness", "server or global"}, {"userName", "caseExact", "false"},
		{"userName", "multiValued", "false"}, {"password", "mutability", "writeOnly"}, {"password", "returned", "never"},
		{"groups", "mutability", "readOnly"}, {"active", "type", "boolean"}, {"emails", "multiValued", "true"},
	} {
		definition := element(user, "attributes", "name", row.attribute)
		if definition == nil {
			t.Holds(row.attribute != "userName", "attributes of the User schema", "userName among them", "missing")
			continue // every other attribute is optional
		}
		got, given := definition.Get(row.characteristic)
		if !given && row.want == "false" {
			continue // false is the default
		}
		t.Holds(slices.Contains(strings.Split(row.want, " or "), fmt.Sprint(got)), row.characteristic+" of "+row.attribute, row.want, got)
	}
}

// declaredTypes are types of attributes of users that the User schema of RFC 7643 section 8.7.1 declares.
var declaredTypes = []struct{ attribute, sub, want string }{
	{"userName", "", "string"}, {"active", "", "boolean"}, {"profileUrl", "", "reference"}, {"name", "familyName", "string"},
	{"emails", "primary", "boolean"}, {"emails", "value", "string"}, {"photos", "value", "reference"},
	{"groups", "$ref", "reference"}, {"x509Certificates", "value", "binary"},
}

func discoveryUserTypes(ctx context.Context, t *T) {
	var user *scim.Object
	for _, s := range t.Get(ctx, "/Schemas").Resources() {
		if scim.EqualName(s.Text("id"), scim.UserSchema) {
			user = s
		}
	}
	t.SkipIf(user == nil, "the target does not list the User schema")
	for _, row := range declaredTypes {
		definition, name := element(user, "attributes", "name", row.attribute), row.attribute
		if row.sub != "" {
			definition, name = element(definition, "subAttributes", "name", row.sub), row.attribute+"."+row.sub
		}
		if definition != nil { // every attribute is optional
			t.Expect("type of "+name, row.want, value(definition, "type"))
		}
	}
}

func discoveryIgnoresPaging(ctx context.Context, t *T) {
	for _, path := range []string{"/ResourceTypes", "/Schemas"} {
		whole := t.Get(ctx, path)
		if len(whole.Resources()) < 2 {
			continue
		}
		page := t.Get(ctx, path, "startIndex", "2", "count", "1")
		t.Expect("status of "+page.Name+" with startIndex=2 and count=1", 200, page.Status)
		t.Expect("items of "+page.Name+" with startIndex=2 and count=1", len(whole.Resources()), len(page.Resources()))
	}
}

func discoveryReadOnly(ctx context.Context, t *T) {
	body := doc{"schemas": []string{scim.SchemaSchema}, "id": "urn:example:" + t.Prefix() + "schema", "name": t.Prefix() + "schema"}
	for _, request := range []conformance.Request{
		{Method: "POST", Path: "/Schemas", Body: body},
		{Method: "POST", Path: "/ResourceTypes", Body: body},
		{Method: "PUT", Path: "/ServiceProviderConfig", Body: body},
		{Method: "DELETE", Path: "/Schemas/urn:example:" + t.Prefix() + "schema"},
	} {
		res := t.Call(ctx, request)
		t.Holds(res.Status >= 400, "status of "+res.Name, "an error status, preferably 405", res.Status)
		t.Warn(res.Status < 500 || res.Status == 501, "status of "+res.Name, "a 4xx status or 501, preferably 405", res.Status)
	}
}

// listEnvelope requires a complete ListResponse of a discovery endpoint.
func listEnvelope(t *T, res *conformance.Response) {
	t.Require("status of "+res.Name, 200, res.Status)
	t.Must(slices.Contains(texts(res.Object(), "schemas"), scim.ListResponseMessage), "schemas of "+res.Name, scim.ListResponseMessage,
		value(res.Object(), "schemas"))
	hasJSONType(t, res)
	t.Expect("totalResults of "+res.Name, len(res.Resources()), res.Total())
}

// hasJSONType expects that a response has the Content-Type application/scim+json or application/json.
func hasJSONType(t *T, res *conformance.Response) {
	t.Holds(isJSON(res.MediaType()), "Content-Type of "+res.Name, scim.MediaType, res.Header.Get("Content-Type"))
}

func isInteger(t *T, what string, v any) bool {
	n, ok := v.(interface{ Int64() (int64, error) })
	if ok {
		_, err := n.Int64()
		ok = err == nil
	}
	return t.Holds(ok, what, "a JSON integer", v)
}

var attributeName = regexp.MustCompile(`^([A-Za-z][-_$0-9A-Za-z]*|\$ref)$`)

// attributeDefinition checks one attribute definition; top is false for the definition of a sub-attribute.
func attributeDefinition(t *T, where string, d *scim.Object, top bool) {
	t.Holds(attributeName.MatchString(d.Text("name")), "name of "+where,
		"a letter, then letters, digits, hyphens, underscores or dollar signs", value(d, "name"))
	keyword := func(characteristic, words string, optional bool) {
		got, given := d.Get(characteristic)
		if given || !optional {
			text, _ := got.(string)
			t.Holds(slices.Contains(strings.Fields(words), text), characteristic+" of "+where, "one of "+words, got)
		}
	}
	// RFC 7643 section 2.2 gives each of these characteristics a default, but section 7 requires type and multiValued in every definition.
	keyword("type", "string boolean decimal integer dateTime binary reference complex", false)
	keyword("mutability", "readOnly readWrite immutable writeOnly", true)
	keyword("returned", "always never default request", true)
	keyword("uniqueness", "none server global", true)
	for _, characteristic := range []string{"multiValued", "required", "caseExact"} {
		got, given := d.Get(characteristic)
		_, isBool := got.(bool)
		t.Holds(isBool || !given && characteristic != "multiValued", characteristic+" of "+where, "true or false", got)
	}
	for _, characteristic := range []string{"canonicalValues", "referenceTypes"} {
		got, _ := d.Get(characteristic)
		t.Holds(got == nil || texts(d, characteristic) != nil && len(texts(d, characteristic)) == len(d.Array(characteristic)),
			characteristic+" of "+where, "an array of strings", got)
	}
	subs := d.Array("subAttributes")
	if d.Text("type") != "complex" {
		t.Holds(len(subs) == 0, "subAttributes of "+where+", which is not complex", "none", len(subs))
		return
	}
	t.Warn(len(subs) > 0, "subAttributes of "+where+", which is complex", "at least one", len(subs))
	// Only in the schema of schemas may a sub-attribute be complex: its attribute definitions contain definitions of sub-attributes.
	nested := strings.HasPrefix(where, scim.SchemaSchema)
	t.Holds(top || nested, "type of "+where, "a type other than complex, since it is a sub-attribute", "complex")
	for _, item := range subs {
		if sub, ok := item.(*scim.Object); ok && !nested {
			attributeDefinition(t, where+"."+sub.Text("name"), sub, false)
		}
	}
}
