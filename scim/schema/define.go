package schema

import "cmp"

// complete sets the characteristics that definitions in Go and in schema documents omit to the defaults of RFC 7643 section 2.2. References
// and binaries are caseExact (sections 2.3.6 and 2.3.7), whatever the schemas of section 8.7 contain (errata 6001, 8472). A write-only
// attribute is never returned.
func complete(attributes []*Attribute) []*Attribute {
	for _, a := range attributes {
		a.Type = cmp.Or(a.Type, String)
		a.Mutability = cmp.Or(a.Mutability, ReadWrite)
		a.Returned = cmp.Or(a.Returned, Default)
		a.Uniqueness = cmp.Or(a.Uniqueness, None)
		if a.Type == Reference || a.Type == Binary {
			a.CaseExact = true
		}
		if a.Secret() {
			a.Returned = Never
		}
		complete(a.SubAttributes)
	}
	return attributes
}

// readOnly makes the attributes and all their sub-attributes read-only.
func readOnly(attributes []*Attribute) []*Attribute {
	for _, a := range attributes {
		a.Mutability = ReadOnly
		readOnly(a.SubAttributes)
	}
	return attributes
}

// text returns a plain string attribute.
func text(name, description string) *Attribute {
	return &Attribute{Name: name, Description: description}
}

// typeAttribute returns the sub-attribute "type" with its canonical values (RFC 7643 section 2.4).
func typeAttribute(description string, values ...string) *Attribute {
	return &Attribute{Name: "type", Description: description, CanonicalValues: values}
}

// primary returns the sub-attribute "primary" (RFC 7643 section 2.4).
func primary(what string) *Attribute {
	return &Attribute{Name: "primary", Type: Boolean,
		Description: "A Boolean value indicating the 'primary' or preferred value for this attribute, e.g., the preferred " + what +
			". The primary attribute value 'true' MUST appear no more than once."}
}

const displayText = "A human-readable name, primarily used for display purposes."

// common contains the attributes that every resource has (RFC 7643 section 3.1) and that no schema needs to list. URNs in "schemas" are
// compared case-insensitively (RFC 7644 section 3.10).
var common = complete([]*Attribute{
	{Name: "schemas", MultiValued: true, Required: true, Returned: Always,
		Description: "The URIs of the schemas present in the resource."},
	{Name: "id", CaseExact: true, Mutability: ReadOnly, Returned: Always, Uniqueness: Server,
		Description: "A unique identifier for a SCIM resource as defined by the service provider."},
	{Name: "externalId", CaseExact: true,
		Description: "An identifier for the resource as defined by the provisioning client."},
	{Name: "meta", Type: Complex, Mutability: ReadOnly,
		Description: "A complex attribute containing resource metadata.",
		SubAttributes: readOnly([]*Attribute{
			{Name: "resourceType", CaseExact: true, Description: "The name of the resource type of the resource."},
			{Name: "created", Type: DateTime, Description: "When the resource was added to the service provider."},
			{Name: "lastModified", Type: DateTime, Description: "When the resource was last changed."},
			{Name: "location", Type: Reference, ReferenceTypes: []string{"uri"}, Description: "The URI of the resource."},
			{Name: "version", CaseExact: true, Description: "The version of the resource, as in its ETag."},
		})},
})
