package cli

import (
	"fmt"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
)

type versionCommand struct{}

// Run prints the module version and the revision, if the build recorded them.
func (versionCommand) Run(in *invocation) error {
	_, err := fmt.Fprintln(in.stdout, frame.Build(program))
	return err
}
