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

// Mutability says when an attribute may change (RFC 7643 section 7).
type Mutability string

// The mutabilities.
const (
	ReadWrite Mutability = "readWrite"
	ReadOnly  Mutability = "readOnly"
	Immutable Mutability = "immutable"
	WriteOnly Mutability = "writeOnly"
)

// Returned says when an attribute is shown (RFC 7643 section 7).
type Returned string

// The rules for showing.
const (
	Default Returned = "default"
	Always  Returned = "always"
	Never   Returned = "never"
	Request Returned = "request"
)

// Uniqueness says among which resources a value is unique (RFC 7643 section 7).
type Uniqueness string

// The scopes of uniqueness.
const (
	None   Uniqueness = "none"
	Server Uniqueness = "server"
	Global Uniqueness = "global"
)

// Attribute is the definition of an attribute or sub-attribute with all its characteristics (RFC 7643 section 7). The
// zero characteristic means the default of section 2.2: String, ReadWrite, Default, None.
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
	ReferenceTypes  []string // for references: names of resource types, "external" or "uri"
	Syntax          Syntax   // what values look like beyond their type; no part of the schema document
	SubAttributes   []*Attribute
}

// Secret says whether the values of the attribute are for nobody to read: returned never, or write-only, whatever else its
// definition says (RFC 7643 section 7). Secrets are in no answer and can be neither filtered nor sorted by.
func (a *Attribute) Secret() bool { return a.Returned == Never || a.Mutability == WriteOnly }

// Schema is a named set of attributes (RFC 7643 section 7). ID is its URN.
type Schema struct {
	ID, Name, Description string
	Attributes            []*Attribute
}

// Extension is a schema whose attributes live under its URN in a resource (RFC 7643 section 3.3).
type Extension struct {
	Schema   *Schema
	Required bool
}

// ResourceType joins a base schema and its extensions to an endpoint (RFC 7643 section 6). ID and Name are the same word
// for the core types.
type ResourceType struct {
	ID, Name, Endpoint, Description string
	Schema                          *Schema
	Extensions                      []Extension
}

// Resolved is the definition a path names. Attribute is nil when the path is the URN of an extension; Sub is nil when the
// path ends at the attribute.
type Resolved struct {
	Schema         *Schema // nil for the common attributes of RFC 7643 section 3.1
	Attribute, Sub *Attribute
	Extension      bool          // the attribute lives under the URN of its schema
	Path           scim.AttrPath // in canonical spelling; URN is set for extensions only
}
