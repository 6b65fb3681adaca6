package mutants

import (
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// denied returns a wrapper that sets supported to false in a member of the ServiceProviderConfig.
func denied(name string) wrap {
	return afterBody(config, func(o *scim.Object) { complexOf(o, name).Set("supported", false) })
}

// published returns a wrapper that changes a limit in the ServiceProviderConfig.
func published(name, limit string, value any) wrap {
	return afterBody(config, func(o *scim.Object) { complexOf(o, name).Set(limit, value) })
}

// inType returns a wrapper that changes the resource type with this name.
func inType(name string, fn func(o *scim.Object)) wrap {
	return afterEach(readTypes, func(o *scim.Object) {
		if o.Text("name") == name {
			fn(o)
		}
	})
}

// inDefinition returns a wrapper that changes the definition of an attribute, or of a sub-attribute after a full stop, in a schema.
func inDefinition(urn, path string, fn func(d *scim.Object)) wrap {
	name, sub, _ := strings.Cut(path, ".")
	return afterEach(readSchemas, func(o *scim.Object) {
		if o.Text("id") != urn {
			return
		}
		d := definition(o, name)
		if sub != "" {
			d = find(d, "subAttributes", "name", sub)
		}
		if d != nil {
			fn(d)
		}
	})
}

// declares returns a wrapper that sets a characteristic of an attribute in a schema.
func declares(urn, path, characteristic string, value any) wrap {
	return inDefinition(urn, path, func(d *scim.Object) { d.Set(characteristic, value) })
}

var outsiderConfig = []Mutant{
	// RFC7644-3.5-03
	{"patch.config-denied", "patch.supported is false although PATCH works", denied("patch")},
	// RFC7644-3.14-11
	{"etag.config-denied", "etag.supported is false although preconditions are evaluated", denied("etag")},
	// RFC7644-3.7-01
	{"bulk.config-denied", "bulk.supported is false although /Bulk works", denied("bulk")},
	// RFC7643-5-07
	{"discovery.schemes-empty", "authenticationSchemes is empty although a token is required",
		afterBody(config, func(o *scim.Object) { o.Set("authenticationSchemes", []any{}) })},
	// RFC7643-5-07
	{"discovery.scheme-not-listed", "authenticationSchemes is a single object", afterBody(config, func(o *scim.Object) {
		if schemes := o.Array("authenticationSchemes"); len(schemes) > 0 {
			o.Set("authenticationSchemes", schemes[0])
		}
	})},
	// RFC7643-5-10
	{"discovery.scheme-type-invented", "the type of an authentication scheme is bearer", afterBody(config, func(o *scim.Object) {
		for _, item := range o.Array("authenticationSchemes") {
			objectOf(item).Set("type", "bearer")
		}
	})},
	// RFC7643-5-06
	{"discovery.max-results-zero", "maxResults is 0 although lists have items", published("filter", "maxResults", 0)},
	// RFC7644-4-01
	{"discovery.config-wrapped", "the ServiceProviderConfig is an item of a list", after(config, func(_ *http.Request, rep *reply) {
		if o := rep.object(); o != nil && rep.ok() {
			*rep = *newReply(200, scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.ListResponseMessage}},
				scim.Member{Name: "totalResults", Value: 1}, scim.Member{Name: "Resources", Value: []any{o}}))
		}
	})},
	// RFC7643-3.1-24
	{"discovery.config-location-plural", "meta.location of the ServiceProviderConfig is /ServiceProviderConfigs",
		afterBody(config, func(o *scim.Object) { complexOf(o, "meta").Set("location", o.Complex("meta").Text("location")+"s") })},
	// RFC7644-3.8-06
	{"discovery.media-type", "discovery documents have the Content-Type text/json",
		mediaType(either(config, readSchemas, readTypes), "text/json")},
}

var outsiderTypes = []Mutant{
	// RFC7643-3.1-24
	{"discovery.type-location-is-endpoint", "meta.location of a resource type is the URL of its endpoint",
		afterEach(readTypes, func(o *scim.Object) {
			if base, _, ok := strings.Cut(o.Complex("meta").Text("location"), "/ResourceTypes"); ok {
				complexOf(o, "meta").Set("location", base+o.Text("endpoint"))
			}
		})},
	// RFC7643-6-03
	{"create.type-names-plural", "the names of resource types are plural",
		afterEach(readTypes, func(o *scim.Object) { o.Set("name", o.Text("name")+"s") })},
	// RFC7643-6-06
	{"discovery.type-schema-of-version-1", "the schema of the User resource type is the URN of SCIM 1.1",
		inType("User", func(o *scim.Object) { o.Set("schema", "urn:scim:schemas:core:1.0") })},
	// RFC7644-4-09
	{"discovery.type-without-extensions", "the User resource type lists no extension although users have one",
		inType("User", func(o *scim.Object) { o.Set("schemaExtensions", []any{}) })},
	// RFC7643-6-10
	{"characteristics.type-extension-required", "the enterprise extension is declared as required, and users without it are accepted",
		inType("User", func(o *scim.Object) {
			for _, item := range o.Array("schemaExtensions") {
				objectOf(item).Set("required", true)
			}
		})},
	// RFC7643-6-09
	{"discovery.type-extension-unqualified", "schemaExtensions has no member required", afterEach(readTypes, func(o *scim.Object) {
		for _, item := range o.Array("schemaExtensions") {
			objectOf(item).Delete("required")
		}
	})},
	// RFC7643-6-08
	{"discovery.type-extensions-as-text", "schemaExtensions is a list of strings", afterEach(readTypes, func(o *scim.Object) {
		urns := []any{}
		for _, item := range o.Array("schemaExtensions") {
			urns = append(urns, objectOf(item).Text("schema"))
		}
		o.Set("schemaExtensions", urns)
	})},
	// RFC7643-6-05
	{"discovery.type-endpoints-equal", "the endpoint of the Group resource type is /Users",
		inType("Group", func(o *scim.Object) { o.Set("endpoint", "/Users") })},
	// RFC7643-7-33
	{"discovery.type-resource-type-own", "meta.resourceType of a resource type is its own name",
		afterEach(readTypes, func(o *scim.Object) { complexOf(o, "meta").Set("resourceType", o.Text("name")) })},
	// RFC7644-4-04
	{"discovery.types-bare-array", "/ResourceTypes returns a bare array", after(listTypes, func(_ *http.Request, rep *reply) {
		if o := rep.object(); o != nil && rep.ok() {
			rep.body = scim.AppendValue(nil, o.Array("Resources"))
		}
	})},
}

var outsiderSchemas = []Mutant{
	// RFC7644-4-03
	{"discovery.schema-single-empty", "a schema read by its URN has no attributes",
		afterBody(readDiscovery("Schemas"), func(o *scim.Object) { o.Set("attributes", []any{}) })},
	// RFC7644-4-03
	{"discovery.schema-single-wrapped", "a schema read by its URN is an item of a list", after(readDiscovery("Schemas"),
		func(_ *http.Request, rep *reply) {
			if o := rep.object(); o != nil && rep.ok() {
				*rep = *newReply(200, scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.ListResponseMessage}},
					scim.Member{Name: "totalResults", Value: 1}, scim.Member{Name: "Resources", Value: []any{o}}))
			}
		})},
	// RFC7644-4-06
	{"discovery.unknown-schema-user", "an unknown schema URN returns the User schema",
		instead(readDiscovery("Schemas"), func(next http.Handler, r *http.Request) *reply {
			if rep := serve(next, r); rep.status != http.StatusNotFound {
				return rep
			}
			return at(next, r, "/Schemas/"+scim.UserSchema, nil)
		})},
	// RFC7644-3.4.2-04
	{"discovery.schemas-total-of-attributes", "totalResults of /Schemas is the number of attributes",
		afterBody(listSchemas, func(o *scim.Object) {
			n := 0
			eachResource(o, func(s *scim.Object) { n += len(s.Array("attributes")) })
			o.Set("totalResults", n)
		})},
	// RFC7643-3.1-24
	{"discovery.schema-location-by-name", "meta.location of a schema ends in its name instead of its URN",
		afterEach(readSchemas, func(o *scim.Object) {
			if base, _, ok := strings.Cut(o.Complex("meta").Text("location"), "/Schemas/"); ok {
				complexOf(o, "meta").Set("location", base+"/Schemas/"+o.Text("name"))
			}
		})},
	// RFC7643-7-32
	{"characteristics.display-name-required", "the schema declares displayName of users as required, and users without it are accepted",
		declares(scim.UserSchema, "displayName", "required", true)},
	// RFC7643-8.7.1-16
	{"groups.name-declared-optional", "the schema declares displayName of groups as optional, and groups without it are rejected",
		declares(scim.GroupSchema, "displayName", "required", false)},
	// RFC7643-7-14
	{"filter.title-case-exact", "the schema declares title as caseExact, and filters ignore its case",
		declares(scim.UserSchema, "title", "caseExact", true)},
	// RFC7643-8.7.1-01
	{"discovery.user-name-case-exact", "the schema declares userName as caseExact, and it is compared ignoring case",
		declares(scim.UserSchema, "userName", "caseExact", true)},
	// RFC7643-8.7.1-01
	{"discovery.user-name-shareable", "the schema declares userName with uniqueness none, and duplicates are rejected",
		declares(scim.UserSchema, "userName", "uniqueness", "none")},
	// RFC7643-7-27
	{"characteristics.nick-name-unique", "the schema declares nickName with uniqueness server, and duplicates are accepted",
		declares(scim.UserSchema, "nickName", "uniqueness", "server")},
	// RFC7643-8.7.1-07
	{"discovery.password-read-write", "the schema declares password as readWrite",
		declares(scim.UserSchema, "password", "mutability", "readWrite")},
	// RFC7643-8.7.1-13
	{"discovery.groups-writable", "the schema declares groups of a user as readWrite, and writes to it are ignored",
		declares(scim.UserSchema, "groups", "mutability", "readWrite")},
	// RFC7643-8.7.1-15
	{"discovery.certificates-as-strings", "the schema declares x509Certificates.value as a string",
		declares(scim.UserSchema, "x509Certificates.value", "type", "string")},
	// RFC7643-2.3-02
	{"traffic.primary-as-string", "the schema declares primary of emails as a string, and it is returned as a boolean",
		declares(scim.UserSchema, "emails.primary", "type", "string")},
	// RFC7643-7-21
	{"characteristics.title-never-returned", "the schema declares title with returned never, and it is returned",
		declares(scim.UserSchema, "title", "returned", "never")},
	// RFC7643-7-17
	{"characteristics.nick-name-read-only", "the schema declares nickName as readOnly, and clients can change it",
		declares(scim.UserSchema, "nickName", "mutability", "readOnly")},
	// RFC7643-7-24
	{"characteristics.emails-on-request", "the schema declares emails with returned request, and they are returned by default",
		declares(scim.UserSchema, "emails", "returned", "request")},
	// RFC7643-7-09
	{"discovery.name-without-parts", "the schema defines no sub-attributes of name",
		inDefinition(scim.UserSchema, "name", func(d *scim.Object) { d.Delete("subAttributes") })},
	// RFC7643-1.2-01
	{"discovery.simple-with-parts", "the schema defines sub-attributes of userName",
		inDefinition(scim.UserSchema, "userName", func(d *scim.Object) {
			d.Set("subAttributes", []any{scim.NewObject(scim.Member{Name: "name", Value: "value"}, scim.Member{Name: "type", Value: "string"},
				scim.Member{Name: "multiValued", Value: false})})
		})},
	// RFC7643-7-29
	{"discovery.mutability-in-capitals", "mutability in schemas is in upper case with underscores, as in READ_WRITE",
		afterEach(readSchemas, func(o *scim.Object) {
			for _, item := range o.Array("attributes") {
				if d := objectOf(item); d.Text("mutability") == "readWrite" {
					d.Set("mutability", "READ_WRITE")
				}
			}
		})},
	// RFC7643-7-12
	{"discovery.required-as-text", "required in schemas is a string", afterEach(readSchemas, func(o *scim.Object) {
		for _, item := range o.Array("attributes") {
			d := objectOf(item)
			d.Set("required", map[bool]string{true: "true", false: "false"}[first(d.Bool("required"))])
		}
	})},
	// RFC7643-7-30
	{"discovery.reference-types-as-text", "referenceTypes of profileUrl is a string",
		declares(scim.UserSchema, "profileUrl", "referenceTypes", "external")},
	// RFC7643-2.1-02
	{"discovery.attribute-names-qualified", "the names of attributes in the enterprise schema start with the URN of the schema",
		afterEach(readSchemas, func(o *scim.Object) {
			for _, item := range o.Array("attributes") {
				if d := objectOf(item); o.Text("id") == scim.EnterpriseUserSchema {
					d.Set("name", scim.EnterpriseUserSchema+":"+d.Text("name"))
				}
			}
		})},
	// RFC7643-8.7.1-19
	{"discovery.manager-name-writable", "the enterprise schema declares manager.displayName as readWrite, and writes to it are ignored",
		declares(scim.EnterpriseUserSchema, "manager.displayName", "mutability", "readWrite")},
	// RFC7643-8.7.1-17
	{"discovery.member-type-changeable", "the Group schema declares members.type as readWrite, and it cannot be changed",
		declares(scim.GroupSchema, "members.type", "mutability", "readWrite")},
	// RFC7643-7-01
	{"discovery.extension-schema-unlisted", "the enterprise schema is missing from /Schemas", afterBody(listSchemas, func(o *scim.Object) {
		var rest []any
		for _, item := range o.Array("Resources") {
			if objectOf(item).Text("id") != scim.EnterpriseUserSchema {
				rest = append(rest, item)
			}
		}
		o.Set("Resources", rest)
		o.Set("totalResults", len(rest))
	})},
}
