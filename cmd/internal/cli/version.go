package cli

import (
	"fmt"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
)

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON instead of text."`
}

// Run prints the module version and the revision, if the build recorded them.
func (c *versionCommand) Run(in *invocation) error {
	if c.JSON {
		return frame.WriteJSON(in.stdout, frame.Info(program))
	}
	_, err := fmt.Fprintln(in.stdout, frame.Build(program))
	return err
}
