package cli

import (
	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

type openAPICommand struct {
	API string `arg:"" optional:"" enum:"management,engine" default:"management" help:"${openAPI}"`
}

// Run prints the document that a sandbox or a daemon serves at GET /openapi.json.
func (c openAPICommand) Run(in *invocation) error {
	generate := sandbox.OpenAPI
	if c.API == "engine" {
		generate = daemon.OpenAPI
	}
	doc, err := generate()
	if err != nil {
		return err
	}
	_, err = in.stdout.Write(doc)
	return err
}
