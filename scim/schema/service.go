package schema

import "github.com/scimwright/scimwright/scim"

// ServiceProviderConfig returns the schema of /ServiceProviderConfig (RFC 7643 section 8.7.2). It contains attributes that the schema in
// that section omits: etag and authenticationSchemes.type (erratum 8011), and pagination (RFC 9865 section 4). The caller owns the result.
func ServiceProviderConfig() *Schema {
	supported := func() *Attribute {
		return &Attribute{Name: "supported", Type: Boolean, Required: true,
			Description: "A Boolean value specifying whether or not the operation is supported."}
	}
	number := func(name, description string) *Attribute {
		return &Attribute{Name: name, Type: Integer, Required: true, Description: description}
	}
	option := func(name, description string, more ...*Attribute) *Attribute {
		return &Attribute{Name: name, Type: Complex, Required: true, Description: description,
			SubAttributes: append([]*Attribute{supported()}, more...)}
	}
	link := func(name, description string) *Attribute {
		return &Attribute{Name: name, Type: Reference, ReferenceTypes: []string{"external"}, Description: description}
	}
	return &Schema{
		ID: scim.ServiceProviderConfigSchema, Name: "Service Provider Configuration",
		Description: "Schema for representing the service provider's configuration",
		Attributes: complete(readOnly([]*Attribute{
			link("documentationUri", "An HTTP-addressable URL pointing to the service provider's human-consumable help documentation."),
			option("patch", "A complex type that specifies PATCH configuration options."),
			option("bulk", "A complex type that specifies bulk configuration options.",
				number("maxOperations", "An integer value specifying the maximum number of operations."),
				number("maxPayloadSize", "An integer value specifying the maximum payload size in bytes.")),
			option("filter", "A complex type that specifies FILTER options.",
				number("maxResults", "An integer value specifying the maximum number of resources returned in a response.")),
			option("changePassword", "A complex type that specifies configuration options related to changing a password."),
			option("sort", "A complex type that specifies sort result options."),
			option("etag", "A complex type that specifies ETag configuration options."),
			{Name: "pagination", Type: Complex, Description: "A complex type that specifies pagination configuration options.",
				SubAttributes: []*Attribute{
					{Name: "cursor", Type: Boolean, Required: true, Description: "A Boolean value specifying support of cursor-based pagination."},
					{Name: "index", Type: Boolean, Required: true, Description: "A Boolean value specifying support of index-based pagination."},
					{Name: "defaultPaginationMethod", Description: "The type of pagination that the service provider defaults to.",
						CanonicalValues: []string{"cursor", "index"}},
					{Name: "defaultPageSize", Type: Integer, Description: "The default number of results returned in a page."},
					{Name: "maxPageSize", Type: Integer, Description: "The maximum number of results returned in a page."},
					{Name: "cursorTimeout", Type: Integer, Description: "The minimum number of seconds a cursor stays valid between page requests."},
				}},
			{Name: "authenticationSchemes", Type: Complex, MultiValued: true, Required: true,
				Description: "A complex type that specifies supported authentication scheme properties.", SubAttributes: []*Attribute{
					{Name: "type", Required: true, Description: "The authentication scheme.",
						CanonicalValues: []string{"oauth", "oauth2", "oauthbearertoken", "httpbasic", "httpdigest"}},
					{Name: "name", Required: true, Description: "The common authentication scheme name, e.g., HTTP Basic."},
					{Name: "description", Required: true, Description: "A description of the authentication scheme."},
					link("specUri", "An HTTP-addressable URL pointing to the authentication scheme's specification."),
					link("documentationUri", "An HTTP-addressable URL pointing to the authentication scheme's usage documentation."),
					{Name: "primary", Type: Boolean, Description: "A Boolean value indicating the preferred authentication scheme."},
				}},
		})),
	}
}

// ResourceTypeSchema returns the schema of /ResourceTypes (RFC 7643 section 8.7.2, errata 7522 and 8475). The caller owns the result.
func ResourceTypeSchema() *Schema {
	return &Schema{
		ID: scim.ResourceTypeSchema, Name: "ResourceType",
		Description: "Specifies the schema that describes a SCIM resource type",
		Attributes: complete(readOnly([]*Attribute{
			{Name: "id", CaseExact: true, Description: "The resource type's server unique id. May be the same as the 'name' attribute."},
			{Name: "name", Required: true, CaseExact: true, Uniqueness: Server,
				Description: "The resource type name, referenced by the 'meta.resourceType' attribute."},
			text("description", "The resource type's human-readable description."),
			{Name: "endpoint", Type: Reference, Required: true, Uniqueness: Server, ReferenceTypes: []string{"uri"},
				Description: "The resource type's HTTP-addressable endpoint relative to the Base URL, e.g., '/Users'."},
			{Name: "schema", Type: Reference, Required: true, ReferenceTypes: []string{"uri"},
				Description: "The resource type's primary/base schema URI."},
			{Name: "schemaExtensions", Type: Complex, MultiValued: true,
				Description: "A list of URIs of the resource type's schema extensions.", SubAttributes: []*Attribute{
					{Name: "schema", Type: Reference, Required: true, ReferenceTypes: []string{"uri"}, Description: "The URI of a schema extension."},
					{Name: "required", Type: Boolean, Required: true,
						Description: "A Boolean value that specifies whether or not the schema extension is required for the resource type."},
				}},
		})),
	}
}

// SchemaSchema returns the schema of /Schemas (RFC 7643 section 8.7.2, errata 5606, 5607 and 8415). It is the only schema whose complex
// attribute has a complex sub-attribute. The caller owns the result.
func SchemaSchema() *Schema {
	types := []string{"string", "boolean", "decimal", "integer", "dateTime", "binary", "reference"}
	definition := func(types []string) []*Attribute {
		return []*Attribute{
			{Name: "name", Required: true, CaseExact: true, Description: "The attribute's name."},
			{Name: "type", Required: true, CanonicalValues: types, Description: "The attribute's data type."},
			{Name: "multiValued", Type: Boolean, Required: true, Description: "A Boolean value indicating an attribute's plurality."},
			{Name: "description", CaseExact: true, Description: "A human-readable description of the attribute."},
			{Name: "required", Type: Boolean, Description: "A Boolean value indicating whether or not the attribute is required."},
			{Name: "canonicalValues", MultiValued: true, CaseExact: true, Description: "A collection of canonical values."},
			{Name: "caseExact", Type: Boolean, Description: "A Boolean value indicating whether or not a string attribute is case sensitive."},
			{Name: "mutability", CaseExact: true, CanonicalValues: []string{"readOnly", "readWrite", "immutable", "writeOnly"},
				Description: "Indicates whether or not an attribute is modifiable."},
			{Name: "returned", CaseExact: true, CanonicalValues: []string{"always", "never", "default", "request"},
				Description: "Indicates when an attribute is returned in a response (e.g., to a query)."},
			{Name: "uniqueness", CaseExact: true, CanonicalValues: []string{"none", "server", "global"},
				Description: "Indicates how unique a value must be."},
			{Name: "referenceTypes", MultiValued: true, CaseExact: true,
				Description: "The names of the resource types that may be referenced, or 'external' or 'uri'."},
		}
	}
	attributes := definition(append([]string{"complex"}, types...))
	attributes = append(attributes, &Attribute{Name: "subAttributes", Type: Complex, MultiValued: true,
		Description: "Used to define the sub-attributes of a complex attribute.", SubAttributes: definition(types)})
	return &Schema{
		ID: scim.SchemaSchema, Name: "Schema", Description: "Specifies the schema that describes a SCIM schema",
		Attributes: complete(readOnly([]*Attribute{
			{Name: "id", Required: true, CaseExact: true, Uniqueness: Server, Description: "The unique URI of the schema."},
			{Name: "name", Required: true, CaseExact: true, Description: "The schema's human-readable name."},
			{Name: "description", CaseExact: true, Description: "The schema's human-readable description."},
			{Name: "attributes", Type: Complex, MultiValued: true, Required: true,
				Description: "A complex attribute that includes the attributes of a schema.", SubAttributes: attributes},
		})),
	}
}
