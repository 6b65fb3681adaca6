package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/openapi"
)

// Describer is implemented by types whose JSON the tags cannot describe, such as maps with fixed members.
type Describer interface {
	// OpenAPISchema returns the schema of the type. It is called on the zero value.
	OpenAPISchema() *openapi.Schema
}

// Document returns the OpenAPI 3.0 document of the table as indented JSON. It is valid, and byte for byte the same for the same table.
func (h *Handler) Document(title, version string) ([]byte, error) {
	schemes := map[string]openapi.SecurityScheme{"apiToken": {
		Type: "apiKey", Name: "Authorization", In: "header", Description: "An API token, as `SSWS <token>`.",
	}, "accessToken": {
		Type: "http", Scheme: "bearer", BearerFormat: "JWT",
		Description: "An access token of the org authorization server, with the scopes of the operation.",
	}}
	security := []openapi.SecurityRequirement{{"apiToken": {}}, {"accessToken": {}}}
	if h.options.Bearer != "" {
		schemes = map[string]openapi.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: h.options.Bearer}}
		security = []openapi.SecurityRequirement{{"token": {}}}
	}
	d := &document{
		shaper: newShaper(h.options.Words),
		names:  map[reflect.Type]string{},
		doc: &openapi.Document{
			OpenAPI: "3.0.3",
			Info:    openapi.Info{Title: title, Version: version},
			Paths:   map[string]openapi.Path{},
			Components: openapi.Components{
				Schemas:         map[string]*openapi.Schema{},
				SecuritySchemes: schemes,
			},
			Security: security,
		},
	}
	tags := map[string]bool{}
	for _, op := range h.operations {
		if op.info.Unsupported {
			continue
		}
		if err := d.add(op); err != nil {
			return nil, fmt.Errorf("rest: operation %s: %w", op.info.ID, err)
		}
		if !tags[op.info.Tag] {
			tags[op.info.Tag] = true
			d.doc.Tags = append(d.doc.Tags, openapi.Tag{Name: op.info.Tag})
		}
	}
	data, err := json.MarshalIndent(d.doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("rest: encode the document: %w", err)
	}
	return append(data, '\n'), nil
}

type document struct {
	doc    *openapi.Document
	shaper shaper
	names  map[reflect.Type]string
}

func (d *document) add(op *operation) error {
	out := &openapi.Operation{
		OperationID: op.info.ID, Tags: []string{op.info.Tag}, Summary: op.info.Summary, Description: op.info.Description,
		Responses: map[string]*openapi.Response{},
	}
	if op.info.Public {
		out.Security = &[]openapi.SecurityRequirement{}
	} else {
		out.Scopes = op.info.Scopes
	}
	for _, place := range []struct {
		in     string
		fields []field
	}{{"path", op.request.path}, {"query", op.request.query}, {"header", op.request.header}, {"cookie", op.request.cookie}} {
		for _, f := range place.fields {
			if place.in == "header" && (f.name == "Content-Type" || f.name == "Authorization") {
				continue // OpenAPI does not allow these headers as parameters
			}
			out.Parameters = append(out.Parameters, openapi.Parameter{
				Name: f.name, In: place.in, Description: f.doc, Required: place.in == "path" || f.required, Schema: d.member(&f, true),
			})
		}
	}
	if body := op.request.body; body != nil {
		out.RequestBody = &openapi.RequestBody{Required: op.request.bodyRequired, Content: openapi.JSON(d.ref(body.shape))}
		if body.shape.kind == kindStream {
			out.RequestBody.Description = body.doc
			out.RequestBody.Content = openapi.Content{mediaLines: {Schema: openapi.String()}}
		}
	}
	if form := op.request.form; len(form) > 0 {
		schema := openapi.Object(map[string]*openapi.Schema{})
		for _, f := range form {
			schema.Properties[f.name] = d.member(&f, false)
			if f.required {
				schema.Required = append(schema.Required, f.name)
			}
		}
		out.RequestBody = &openapi.RequestBody{Content: openapi.Content{formType: {Schema: schema}}}
	}
	success, err := d.success(op)
	if err != nil {
		return err
	}
	out.Responses[strconv.Itoa(op.info.Status)] = success
	if op.info.Also != 0 {
		also := *success
		also.Description = http.StatusText(op.info.Also)
		out.Responses[strconv.Itoa(op.info.Also)] = &also
	}
	failure, err := d.failure(op)
	if err != nil {
		return err
	}
	out.Responses["default"] = &openapi.Response{Description: "An error, by its code.", Content: openapi.JSON(failure)}
	path, ok := d.doc.Paths[op.info.Path]
	if !ok {
		path = openapi.Path{}
		d.doc.Paths[op.info.Path] = path
	}
	path[strings.ToLower(op.info.Method)] = out
	return nil
}

// failure returns the schema of the errors of an operation.
func (d *document) failure(op *operation) (*openapi.Schema, error) {
	plain, err := d.shaper.shapeOf(reflect.TypeFor[ErrorBody]())
	if err != nil {
		return nil, err
	}
	if !op.info.OAuth {
		return d.ref(plain), nil
	}
	oauth, err := d.shaper.shapeOf(reflect.TypeFor[OAuthErrorBody]())
	if err != nil {
		return nil, err
	}
	return &openapi.Schema{OneOf: []*openapi.Schema{d.ref(oauth), d.ref(plain)}}, nil
}

func (d *document) success(op *operation) (*openapi.Response, error) {
	response := &openapi.Response{Description: http.StatusText(op.info.Status)}
	t := op.response
	switch reflect.New(t).Elem().Interface().(type) {
	case NoContent:
		return response, nil
	case nonJSON:
		response.Content = openapi.Content{op.media(): {}}
		return response, nil
	case pager:
		items, _ := t.FieldByName("Items")
		t = items.Type
		response.Headers = map[string]openapi.Header{"Link": {
			Description: `One line for each relation: "self", and "next" while more items exist.`, Schema: openapi.String(),
		}}
	case ETagger:
		response.Headers = map[string]openapi.Header{"ETag": {Description: "Weak entity tag.", Schema: openapi.String()}}
	}
	s, err := d.shaper.shapeOf(t)
	if err != nil {
		return nil, err
	}
	response.Content = openapi.JSON(d.ref(s))
	if op.media() == mediaCSV {
		response.Content[mediaCSV] = openapi.MediaType{}
	}
	return response, nil
}

// ref returns the schema of a shape: a reference for structs, which become components, and the schema itself for all other kinds.
func (d *document) ref(s *shape) *openapi.Schema {
	if describer, ok := reflect.New(s.typ).Elem().Interface().(Describer); ok {
		return describer.OpenAPISchema()
	}
	switch s.kind {
	case kindText:
		return openapi.String()
	case kindBool:
		return &openapi.Schema{Type: openapi.TypeBoolean}
	case kindInteger:
		return &openapi.Schema{Type: openapi.TypeInteger}
	case kindNumber:
		return &openapi.Schema{Type: openapi.TypeNumber}
	case kindTime:
		return openapi.DateTime()
	case kindArray:
		return &openapi.Schema{Type: openapi.TypeArray, Items: d.ref(s.elem)}
	case kindMap:
		return &openapi.Schema{Type: openapi.TypeObject, AdditionalProperties: d.ref(s.elem)}
	case kindObject:
		return d.component(s)
	default:
		return openapi.Any()
	}
}

func (d *document) component(s *shape) *openapi.Schema {
	if s.typ.Name() == "" {
		return d.object(s, openapi.Object(nil))
	}
	name, known := d.names[s.typ]
	if !known {
		name = cmp.Or(d.shaper.words[s.typ].Name, d.nameFor(s.typ))
		d.names[s.typ] = name
		schema := openapi.Object(nil)
		d.doc.Components.Schemas[name] = schema // registered before its members, which may refer to it
		d.object(s, schema)
	}
	return openapi.Component(name)
}

// object adds the members of a struct to its schema.
func (d *document) object(s *shape, schema *openapi.Schema) *openapi.Schema {
	schema.Properties = map[string]*openapi.Schema{}
	for i := range s.fields {
		f := &s.fields[i]
		schema.Properties[f.name] = d.member(f, false)
		if f.required || f.readOnly && !f.omit {
			schema.Required = append(schema.Required, f.name)
		}
	}
	return schema
}

// SchemaNamer is implemented by types whose component of the OpenAPI document has a name that does not follow from their package. Names of
// components are a part of the API: generated clients name their types after them.
type SchemaNamer interface {
	// SchemaName returns the name of the component.
	SchemaName() string
}

// nameFor returns the name of the type, with its package if another type has the same name.
func (d *document) nameFor(t reflect.Type) string {
	if named, ok := reflect.Zero(t).Interface().(SchemaNamer); ok {
		return named.SchemaName()
	}
	clean := strings.NewReplacer("[", ".", "]", "", ",", ".", "*", "", "/", ".").Replace
	name := t.Name()
	name = clean(strings.ToUpper(name[:1]) + name[1:])
	if _, taken := d.doc.Components.Schemas[name]; taken {
		pkg := t.PkgPath()
		name = clean(pkg[strings.LastIndex(pkg, "/")+1:] + "." + name)
	}
	return name
}

// member returns the schema of a field, with the constraints and description of its tags.
func (d *document) member(f *field, parameter bool) *openapi.Schema {
	schema := d.ref(f.shape)
	nullable := f.pointer && !f.omit && !parameter
	if schema.Ref != "" {
		if !nullable && !f.readOnly && !f.writeOnly && f.doc == "" {
			return schema
		}
		// In OpenAPI 3.0 a $ref must have no siblings.
		schema = &openapi.Schema{AllOf: []*openapi.Schema{schema}}
	}
	schema.ReadOnly, schema.WriteOnly, schema.Nullable = f.readOnly, f.writeOnly, schema.Nullable || nullable
	if f.doc != "" && !parameter {
		schema.Description = f.doc
	}
	if f.format != "" {
		schema.Format = f.format
	}
	d.bounds(schema, f)
	if f.hasDefault {
		schema.Default, _ = f.scalar(f.fallback)
	}
	return schema
}

func (d *document) bounds(schema *openapi.Schema, f *field) {
	natural := func(n *float64) *uint64 {
		if n == nil {
			return nil
		}
		return new(uint64(*n))
	}
	floor := func(n *float64) uint64 {
		if n == nil {
			return 0
		}
		return uint64(*n)
	}
	switch f.shape.kind {
	case kindText:
		schema.MinLength, schema.MaxLength = floor(f.min), natural(f.max)
		schema.Enum = f.enum
	case kindArray:
		schema.MinItems, schema.MaxItems = floor(f.min), natural(f.max)
		if schema.Items.Ref == "" {
			schema.Items.Enum = f.enum
		}
	case kindMap:
		schema.MinProperties, schema.MaxProperties = floor(f.min), natural(f.max)
	case kindInteger, kindNumber:
		schema.Minimum = f.min
		if !f.clamp {
			schema.Maximum = f.max
		}
	}
}
