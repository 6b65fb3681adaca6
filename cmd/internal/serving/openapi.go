package serving

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// openAPIDocument is an OpenAPI document with the members that differ between the two joined documents: schemas, paths and tags are merged.
// All other members come from the first document.
type openAPIDocument struct {
	Components struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
		Others  json.RawMessage            `json:"securitySchemes"`
	} `json:"components"`
	Info     json.RawMessage                       `json:"info"`
	OpenAPI  json.RawMessage                       `json:"openapi"`
	Paths    map[string]map[string]json.RawMessage `json:"paths"`
	Security json.RawMessage                       `json:"security"`
	Tags     []map[string]string                   `json:"tags"`
}

// JoinOpenAPI adds the operations of the second OpenAPI document to the first one. If two different schemas have the same name, that of the
// second document gets a prefix. change, if not nil, returns the operation to add instead of one of the second document.
func JoinOpenAPI(first, second []byte, prefix string, change func(operation json.RawMessage) json.RawMessage) ([]byte, error) {
	var doc, more openAPIDocument
	if err := errors.Join(json.Unmarshal(first, &doc), json.Unmarshal(second, &more)); err != nil {
		return nil, fmt.Errorf("join OpenAPI documents: %w", err)
	}
	for name, schema := range more.Components.Schemas {
		if have, taken := doc.Components.Schemas[name]; taken && !same(have, schema) {
			second = bytes.ReplaceAll(second, []byte(`"#/components/schemas/`+name+`"`), []byte(`"#/components/schemas/`+prefix+name+`"`))
		}
	}
	renamed := more.Components.Schemas
	more = openAPIDocument{}
	if err := json.Unmarshal(second, &more); err != nil {
		return nil, fmt.Errorf("join OpenAPI documents: %w", err)
	}
	for name, schema := range more.Components.Schemas {
		if have, taken := doc.Components.Schemas[name]; taken && !same(have, renamed[name]) {
			name = prefix + name
		}
		doc.Components.Schemas[name] = schema
	}
	for path, operations := range more.Paths {
		if doc.Paths[path] == nil {
			doc.Paths[path] = map[string]json.RawMessage{}
		}
		for method, operation := range operations {
			if change != nil {
				operation = change(operation)
			}
			doc.Paths[path][method] = operation
		}
	}
	for _, tag := range more.Tags {
		if !slices.ContainsFunc(doc.Tags, func(have map[string]string) bool { return maps.Equal(have, tag) }) {
			doc.Tags = append(doc.Tags, tag)
		}
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	return append(data, '\n'), err
}

// same reports whether two JSON documents have the same value.
func same(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
