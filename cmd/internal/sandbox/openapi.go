package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/mgmtapi"
)

// OpenAPI returns the content of /openapi.json of a sandbox. It is generated from the operation tables alone, without a database.
func OpenAPI() ([]byte, error) {
	shown := sandboxport.Sandbox{Work: &work{}, Providers: &providers{}}
	return withControl(mgmtapi.OpenAPI(sandboxport.WithSandbox(context.Background(), shown), mgmtapi.Options{Imports: importer{}}))
}

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

// taggedSandbox are the operations of the control API that are listed under the tag Sandbox.
var taggedSandbox = []string{"listProvisioningTasks", "retryProvisioningTask", "listProvisioningAttempts"}

// withControl adds the control API to the document of the management API. If two different schemas have the same name, that of the control
// API gets the prefix "sandboxapi.".
func withControl(management []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	engine, err := control.OpenAPI(controlOptions())
	if err != nil {
		return nil, err
	}
	var doc, more openAPIDocument
	if err := errors.Join(json.Unmarshal(management, &doc), json.Unmarshal(engine, &more)); err != nil {
		return nil, fmt.Errorf("join OpenAPI documents: %w", err)
	}
	for name, schema := range more.Components.Schemas {
		if have, taken := doc.Components.Schemas[name]; taken && !same(have, schema) {
			engine = bytes.ReplaceAll(engine, []byte(`"#/components/schemas/`+name+`"`), []byte(`"#/components/schemas/sandboxapi.`+name+`"`))
		}
	}
	renamed := more.Components.Schemas
	more = openAPIDocument{}
	if err := json.Unmarshal(engine, &more); err != nil {
		return nil, fmt.Errorf("join OpenAPI documents: %w", err)
	}
	for name, schema := range more.Components.Schemas {
		if have, taken := doc.Components.Schemas[name]; taken && !same(have, renamed[name]) {
			name = "sandboxapi." + name
		}
		doc.Components.Schemas[name] = schema
	}
	for path, operations := range more.Paths {
		if doc.Paths[path] == nil {
			doc.Paths[path] = map[string]json.RawMessage{}
		}
		for method, operation := range operations {
			for _, id := range taggedSandbox {
				if bytes.Contains(operation, []byte(`"operationId": "`+id+`"`)) {
					operation = bytes.Replace(operation, []byte(`"Engine"`), []byte(`"Sandbox"`), 1)
				}
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
