package cli

import (
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

type openAPICommand struct{}

// Run prints the document that a sandbox serves at GET /openapi.json.
func (openAPICommand) Run(in *invocation) error {
	doc, err := sandbox.OpenAPI()
	if err != nil {
		return err
	}
	_, err = in.stdout.Write(doc)
	return err
}
