package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Describer is implemented by types whose JSON the tags cannot describe, such as maps with fixed members.
type Describer interface {
	// OpenAPISchema returns the schema of the type. It is called on the zero value.
	OpenAPISchema() *openapi3.Schema
}

// Document returns the OpenAPI 3.0 document of the table. It is valid, and byte for byte the same for the same table.
func (h *Handler) Document(title, version string) (*openapi3.T, error) {
	d := &document{
		shaper: newShaper(h.options.Words),
		names:  map[reflect.Type]string{},
		doc: &openapi3.T{
			OpenAPI: "3.0.3",
			Info:    &openapi3.Info{Title: title, Version: version},
			Paths:   openapi3.NewPaths(),
			Components: &openapi3.Components{
				Schemas: openapi3.Schemas{},
				SecuritySchemes: openapi3.SecuritySchemes{"apiToken": &openapi3.SecuritySchemeRef{Value: &openapi3.SecurityScheme{
					Type: "apiKey", Name: "Authorization", In: "header", Description: "An API token, as `SSWS <token>`.",
				}}, "accessToken": &openapi3.SecuritySchemeRef{Value: &openapi3.SecurityScheme{
					Type: "http", Scheme: "bearer", BearerFormat: "JWT",
					Description: "An access token of the org authorization server, with the scopes of the operation.",
				}}},
			},
			Security: openapi3.SecurityRequirements{{"apiToken": {}}, {"accessToken": {}}},
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
			d.doc.Tags = append(d.doc.Tags, &openapi3.Tag{Name: op.info.Tag})
		}
	}
	// Decode the document, so that references are resolved and the validated document is the published one.
	data, err := json.Marshal(d.doc)
	if err != nil {
		return nil, fmt.Errorf("rest: encode the document: %w", err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, fmt.Errorf("rest: decode the document: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("rest: the document is not valid: %w", err)
	}
	return doc, nil
}

type document struct {
	doc    *openapi3.T
	shaper shaper
	names  map[reflect.Type]string
}

func (d *document) add(op *operation) error {
	out := &openapi3.Operation{
		OperationID: op.info.ID, Tags: []string{op.info.Tag}, Summary: op.info.Summary, Description: op.info.Description,
		Responses: &openapi3.Responses{},
	}
	if op.info.Public {
		out.Security = openapi3.NewSecurityRequirements()
	} else {
		out.Extensions = map[string]any{"x-svc-scopes": op.info.Scopes}
	}
	for _, place := range []struct {
		in     string
		fields []field
	}{{"path", op.request.path}, {"query", op.request.query}, {"header", op.request.header}, {"cookie", op.request.cookie}} {
		for _, f := range place.fields {
			if place.in == "header" && (f.name == "Content-Type" || f.name == "Authorization") {
				continue // OpenAPI does not allow these headers as parameters
			}
			out.Parameters = append(out.Parameters, &openapi3.ParameterRef{Value: &openapi3.Parameter{
				Name: f.name, In: place.in, Description: f.doc, Required: place.in == "path" || f.required, Schema: d.member(&f, true),
			}})
		}
	}
	if body := op.request.body; body != nil {
		out.RequestBody = &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{
			Required: op.request.bodyRequired, Content: openapi3.NewContentWithJSONSchemaRef(d.ref(body.shape)),
		}}
		if body.shape.kind == kindStream {
			out.RequestBody.Value.Description = body.doc
			out.RequestBody.Value.Content = openapi3.NewContentWithSchema(openapi3.NewStringSchema(), []string{mediaLines})
		}
	}
	if form := op.request.form; len(form) > 0 {
		schema := openapi3.NewObjectSchema()
		schema.Properties = openapi3.Schemas{}
		for _, f := range form {
			schema.Properties[f.name] = d.member(&f, false)
			if f.required {
				schema.Required = append(schema.Required, f.name)
			}
		}
		out.RequestBody = &openapi3.RequestBodyRef{
			Value: &openapi3.RequestBody{Content: openapi3.NewContentWithSchema(schema, []string{formType})}}
	}
	success, err := d.success(op)
	if err != nil {
		return err
	}
	out.Responses.Set(strconv.Itoa(op.info.Status), &openapi3.ResponseRef{Value: success})
	if op.info.Also != 0 {
		also := *success
		also.Description = new(http.StatusText(op.info.Also))
		out.Responses.Set(strconv.Itoa(op.info.Also), &openapi3.ResponseRef{Value: &also})
	}
	failure, err := d.failure(op)
	if err != nil {
		return err
	}
	description := "An error, by its code."
	out.Responses.Set("default", &openapi3.ResponseRef{Value: &openapi3.Response{
		Description: &description, Content: openapi3.NewContentWithJSONSchemaRef(failure),
	}})
	d.doc.AddOperation(op.info.Path, op.info.Method, out)
	return nil
}

// failure returns the schema of the errors of an operation.
func (d *document) failure(op *operation) (*openapi3.SchemaRef, error) {
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
	return (&openapi3.Schema{OneOf: openapi3.SchemaRefs{d.ref(oauth), d.ref(plain)}}).NewRef(), nil
}

func (d *document) success(op *operation) (*openapi3.Response, error) {
	description := http.StatusText(op.info.Status)
	response := &openapi3.Response{Description: &description}
	t := op.response
	switch reflect.New(t).Elem().Interface().(type) {
	case NoContent:
		return response, nil
	case nonJSON:
		response.Content = openapi3.Content{op.media(): openapi3.NewMediaType()}
		return response, nil
	case pager:
		items, _ := t.FieldByName("Items")
		t = items.Type
		response.Headers = openapi3.Headers{"Link": &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: openapi3.Parameter{
			Description: `One line for each relation: "self", and "next" while more items exist.`,
			Schema:      openapi3.NewStringSchema().NewRef(),
		}}}}
	case ETagger:
		response.Headers = openapi3.Headers{"ETag": &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: openapi3.Parameter{
			Description: "Weak entity tag.", Schema: openapi3.NewStringSchema().NewRef(),
		}}}}
	}
	s, err := d.shaper.shapeOf(t)
	if err != nil {
		return nil, err
	}
	response.Content = openapi3.NewContentWithJSONSchemaRef(d.ref(s))
	if op.media() == mediaCSV {
		response.Content[mediaCSV] = openapi3.NewMediaType()
	}
	return response, nil
}

// ref returns the schema of a shape: a reference for structs, which become components, and the schema itself for all other kinds.
func (d *document) ref(s *shape) *openapi3.SchemaRef {
	if describer, ok := reflect.New(s.typ).Elem().Interface().(Describer); ok {
		return describer.OpenAPISchema().NewRef()
	}
	switch s.kind {
	case kindText:
		return openapi3.NewStringSchema().NewRef()
	case kindBool:
		return openapi3.NewBoolSchema().NewRef()
	case kindInteger:
		return openapi3.NewIntegerSchema().NewRef()
	case kindNumber:
		return openapi3.NewFloat64Schema().NewRef()
	case kindTime:
		return openapi3.NewDateTimeSchema().NewRef()
	case kindArray:
		schema := openapi3.NewArraySchema()
		schema.Items = d.ref(s.elem)
		return schema.NewRef()
	case kindMap:
		schema := openapi3.NewObjectSchema()
		schema.AdditionalProperties = openapi3.AdditionalProperties{Schema: d.ref(s.elem)}
		return schema.NewRef()
	case kindObject:
		return d.component(s)
	default: // any value, including null
		return openapi3.NewSchema().WithNullable().NewRef()
	}
}

func (d *document) component(s *shape) *openapi3.SchemaRef {
	if s.typ.Name() == "" {
		return d.object(s, openapi3.NewObjectSchema()).NewRef()
	}
	name, known := d.names[s.typ]
	if !known {
		name = cmp.Or(d.shaper.words[s.typ].Name, d.nameFor(s.typ))
		d.names[s.typ] = name
		schema := openapi3.NewObjectSchema()
		d.doc.Components.Schemas[name] = schema.NewRef() // registered before its members, which may refer to it
		d.object(s, schema)
	}
	return &openapi3.SchemaRef{Ref: "#/components/schemas/" + name}
}

// object adds the members of a struct to its schema.
func (d *document) object(s *shape, schema *openapi3.Schema) *openapi3.Schema {
	schema.Properties = openapi3.Schemas{}
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
func (d *document) member(f *field, parameter bool) *openapi3.SchemaRef {
	ref := d.ref(f.shape)
	nullable := f.pointer && !f.omit && !parameter
	if ref.Ref != "" {
		if !nullable && !f.readOnly && !f.writeOnly && f.doc == "" {
			return ref
		}
		// In OpenAPI 3.0 a $ref must have no siblings.
		ref = (&openapi3.Schema{AllOf: openapi3.SchemaRefs{ref}}).NewRef()
	}
	schema := ref.Value
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
	return ref
}

func (d *document) bounds(schema *openapi3.Schema, f *field) {
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
	texts := make([]any, 0, len(f.enum))
	for _, text := range f.enum {
		texts = append(texts, text)
	}
	switch f.shape.kind {
	case kindText:
		schema.MinLength, schema.MaxLength = floor(f.min), natural(f.max)
		if len(texts) > 0 {
			schema.Enum = texts
		}
	case kindArray:
		schema.MinItems, schema.MaxItems = floor(f.min), natural(f.max)
		if len(texts) > 0 && schema.Items.Value != nil {
			schema.Items.Value.Enum = texts
		}
	case kindMap:
		schema.MinProps, schema.MaxProps = floor(f.min), natural(f.max)
	case kindInteger, kindNumber:
		schema.Min = f.min
		if !f.clamp {
			schema.Max = f.max
		}
	}
}
