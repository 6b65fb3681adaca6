package cli

import (
	"fmt"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/cli/remote"
	"github.com/scimwright/scimwright/cmd/internal/daemon"
)

type consoleLinkCommand struct {
	JSON bool `name:"json" help:"Print the link as JSON."`
	remote.Connection
}

// Run requests a login link and prints it.
func (c *consoleLinkCommand) Run(in *invocation) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	base, scheme := api.BaseURL, "SSWS"
	if console, ok := daemon.ConsoleOf(api.BaseURL); ok {
		base, scheme = console, "Bearer"
	}
	link, response, err := api.LoginLink(in.ctx, base, scheme)
	if err != nil {
		return err
	}
	if c.JSON {
		return frame.WriteJSON(in.stdout, response)
	}
	fmt.Fprintln(in.stdout, link)
	return nil
}
