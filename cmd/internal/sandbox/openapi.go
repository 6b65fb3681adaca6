package sandbox

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/mgmtapi"
)

// OpenAPI returns the content of /openapi.json of a sandbox. It is generated from the operation tables alone, without a database.
func OpenAPI() ([]byte, error) {
	shown := sandboxport.Sandbox{Work: &work{}, Providers: &providers{}}
	return withControl(mgmtapi.OpenAPI(sandboxport.WithSandbox(context.Background(), shown), mgmtapi.Options{Imports: importer{}}))
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
	return serving.JoinOpenAPI(management, engine, "sandboxapi.", func(operation json.RawMessage) json.RawMessage {
		for _, id := range taggedSandbox {
			if bytes.Contains(operation, []byte(`"operationId": "`+id+`"`)) {
				operation = bytes.Replace(operation, []byte(`"Engine"`), []byte(`"Sandbox"`), 1)
			}
		}
		return operation
	})
}
