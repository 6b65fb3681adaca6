package sandbox

import (
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// OpenAPI returns the document that /openapi.json of a sandbox answers. It is made from the operation table alone; no
// database is opened.
func OpenAPI() ([]byte, error) {
	api, err := mgmtapi.New(mgmtapi.Options{Store: &docstore.Store{}, Model: model.New(), Work: &work{}, Engine: &engineAPI{}, Imports: &engineAPI{}, Providers: &providers{}})
	if err != nil {
		return nil, err
	}
	return api.OpenAPI()
}
