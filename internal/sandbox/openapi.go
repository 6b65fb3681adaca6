package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/assembly"
)

// OpenAPI returns the document that /openapi.json of a sandbox answers. It is made from the operation table alone; no
// database is opened.
func OpenAPI() ([]byte, error) {
	shown := assembly.Sandbox{Work: &work{}, Engine: &engineAPI{}, Imports: &engineAPI{}, Providers: &providers{}}
	return mgmtapi.OpenAPI(assembly.WithSandbox(context.Background(), shown), mgmtapi.Options{Imports: &engineAPI{}})
}
