// Package openapi has the parts of an OpenAPI 3.0 document that the documents of this module use. The members of each object are in
// alphabetical order.
//
// A library for OpenAPI also reads and validates documents. Tests do that with one; in a program, it would take 2 MB of the program file
// and 3 MB of memory, in each process that writes a document once or never.
package openapi

// Document is a document.
type Document struct {
	Components Components            `json:"components"`
	Info       Info                  `json:"info"`
	OpenAPI    string                `json:"openapi"`
	Paths      map[string]Path       `json:"paths"`
	Security   []SecurityRequirement `json:"security,omitempty"`
	Tags       []Tag                 `json:"tags,omitempty"`
}

// Components has the parts to which others refer.
type Components struct {
	Schemas         map[string]*Schema        `json:"schemas,omitempty"`
	SecuritySchemes map[string]SecurityScheme `json:"securitySchemes,omitempty"`
}

// Info describes the API.
type Info struct {
	Title   string `json:"title"`
	Version string `json:"version"`
}

// SecurityScheme is a kind of credentials.
type SecurityScheme struct {
	BearerFormat string `json:"bearerFormat,omitempty"`
	Description  string `json:"description,omitempty"`
	In           string `json:"in,omitempty"`
	Name         string `json:"name,omitempty"`
	Scheme       string `json:"scheme,omitempty"`
	Type         string `json:"type"`
}

// SecurityRequirement has the scopes by the name of a security scheme.
type SecurityRequirement map[string][]string

// Tag is a group of operations.
type Tag struct {
	Name string `json:"name"`
}

// Path has the operations of a path by method, in lowercase.
type Path map[string]*Operation

// Operation is an operation.
type Operation struct {
	Description string                 `json:"description,omitempty"`
	OperationID string                 `json:"operationId"`
	Parameters  []Parameter            `json:"parameters,omitempty"`
	RequestBody *RequestBody           `json:"requestBody,omitempty"`
	Responses   map[string]*Response   `json:"responses"`
	Security    *[]SecurityRequirement `json:"security,omitempty"` // nil for that of the document
	Summary     string                 `json:"summary"`
	Tags        []string               `json:"tags"`
	Scopes      []string               `json:"x-svc-scopes,omitempty"`
}

// Parameter is a parameter of an operation.
type Parameter struct {
	Description string  `json:"description,omitempty"`
	In          string  `json:"in"`
	Name        string  `json:"name"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema"`
}

// RequestBody is the body of a request.
type RequestBody struct {
	Content     Content `json:"content"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
}

// Response is a response.
type Response struct {
	Content     Content           `json:"content,omitempty"`
	Description string            `json:"description"`
	Headers     map[string]Header `json:"headers,omitempty"`
}

// Header is a header of a response.
type Header struct {
	Description string  `json:"description,omitempty"`
	Schema      *Schema `json:"schema"`
}

// Content has the forms of a body by media type.
type Content map[string]MediaType

// MediaType is one form of a body.
type MediaType struct {
	Schema *Schema `json:"schema,omitempty"`
}

// JSON returns the content of a JSON body.
func JSON(s *Schema) Content { return Content{"application/json": {Schema: s}} }

// Schema is the schema of a value. The zero value permits any value.
type Schema struct {
	Ref                  string             `json:"$ref,omitempty"`                 // if set, all other members are zero
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // nil, a bool or a *Schema
	AllOf                []*Schema          `json:"allOf,omitempty"`
	Default              any                `json:"default,omitempty"`
	Description          string             `json:"description,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Format               string             `json:"format,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	MaxItems             *uint64            `json:"maxItems,omitempty"`
	MaxLength            *uint64            `json:"maxLength,omitempty"`
	MaxProperties        *uint64            `json:"maxProperties,omitempty"`
	Maximum              *float64           `json:"maximum,omitempty"`
	MinItems             uint64             `json:"minItems,omitempty"`
	MinLength            uint64             `json:"minLength,omitempty"`
	MinProperties        uint64             `json:"minProperties,omitempty"`
	Minimum              *float64           `json:"minimum,omitempty"`
	Nullable             bool               `json:"nullable,omitempty"`
	OneOf                []*Schema          `json:"oneOf,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	ReadOnly             bool               `json:"readOnly,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Title                string             `json:"title,omitempty"`
	Type                 string             `json:"type,omitempty"`
	WriteOnly            bool               `json:"writeOnly,omitempty"`
}

// The types of values.
const (
	TypeArray   = "array"
	TypeBoolean = "boolean"
	TypeInteger = "integer"
	TypeNumber  = "number"
	TypeObject  = "object"
	TypeString  = "string"
)

// Any returns a schema that permits any value, including null.
func Any() *Schema { return &Schema{Nullable: true} }

// String returns a schema of strings.
func String() *Schema { return &Schema{Type: TypeString} }

// DateTime returns a schema of times.
func DateTime() *Schema { return &Schema{Type: TypeString, Format: "date-time"} }

// Object returns a schema of objects with the given members.
func Object(properties map[string]*Schema) *Schema {
	return &Schema{Type: TypeObject, Properties: properties}
}

// Component returns a reference to the schema with that name among the components.
func Component(name string) *Schema { return &Schema{Ref: "#/components/schemas/" + name} }
