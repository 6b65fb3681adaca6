package schema

import "github.com/scimwright/scimwright/scim"

// Type is the data type of an attribute (RFC 7643 section 2.3).
type Type string

// The data types.
const (
	String    Type = "string"
	Boolean   Type = "boolean"
	Decimal   Type = "decimal"
	Integer   Type = "integer"
	DateTime  Type = "dateTime"
	Binary    Type = "binary"
	Reference Type = "reference"
	Complex   Type = "complex"
)

// Mutability defines whether and when an attribute may change (RFC 7643 section 7).
type Mutability string

// The values of Mutability.
const (
	ReadWrite Mutability = "readWrite"
	ReadOnly  Mutability = "readOnly"
	Immutable Mutability = "immutable"
	WriteOnly Mutability = "writeOnly"
)

// Returned defines when a response contains an attribute (RFC 7643 section 7).
type Returned string

// The values of Returned.
const (
	Default Returned = "default"
	Always  Returned = "always"
	Never   Returned = "never"
	Request Returned = "request"
)

// Uniqueness defines among which resources a value is unique (RFC 7643 section 7).
type Uniqueness string

// The values of Uniqueness.
const (
	None   Uniqueness = "none"
	Server Uniqueness = "server"
	Global Uniqueness = "global"
)

// Attribute is the definition of an attribute or sub-attribute with all its characteristics (RFC 7643 section 7). A zero characteristic
// means the default of section 2.2: String, ReadWrite, Default, None.
type Attribute struct {
	Name            string
	Type            Type
	MultiValued     bool
	Description     string
	Required        bool
	CanonicalValues []string
	CaseExact       bool
	Mutability      Mutability
	Returned        Returned
	Uniqueness      Uniqueness
	ReferenceTypes  []string // for references only: names of resource types, "external" or "uri"
	Syntax          Syntax   // syntax of the values in addition to the type; not in the schema document
	SubAttributes   []*Attribute
}

// Secret reports whether clients must never read the values of the attribute: its returned characteristic is "never", or it is write-only,
// regardless of its other characteristics (RFC 7643 section 7). Responses never contain secrets, and filters and sorting cannot use them.
func (a *Attribute) Secret() bool { return a.Returned == Never || a.Mutability == WriteOnly }

// Schema is a named set of attributes (RFC 7643 section 7). ID is its URN.
type Schema struct {
	ID, Name, Description string
	Attributes            []*Attribute
}

// Extension is a schema whose attributes are stored under its URN in a resource (RFC 7643 section 3.3).
type Extension struct {
	Schema   *Schema
	Required bool
}

// ResourceType assigns a base schema and its extensions to an endpoint (RFC 7643 section 6). For the core types, ID and Name are equal.
type ResourceType struct {
	ID, Name, Endpoint, Description string
	Schema                          *Schema
	Extensions                      []Extension
}

// Resolved is the definition of the attribute, sub-attribute or extension that a path names. Attribute is nil if the path is the URN of an
// extension. Sub is nil if the path names no sub-attribute.
type Resolved struct {
	Schema         *Schema // nil for the common attributes of RFC 7643 section 3.1
	Attribute, Sub *Attribute
	Extension      bool          // the attribute belongs to an extension
	Path           scim.AttrPath // in canonical spelling; URN is set for extensions only
}
