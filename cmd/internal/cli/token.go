package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/cli/remote"
)

type tokenCreateCommand struct {
	Name string `help:"Name of the new token." default:"command line"`
	User string `help:"Id or login of the user that the token belongs to. Default: the owner of the token in use." placeholder:"USER"`
	JSON bool   `name:"json" help:"Print the response of the API instead of the secret alone."`
	remote.Connection
}

// Run creates the token and prints only its secret, for use in scripts.
func (c *tokenCreateCommand) Run(in *invocation) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	if strings.HasSuffix(api.BaseURL, remote.ServicePrefix) {
		return frame.Usage("this command is for the sandbox; for serve engine, use scimwright engine token create")
	}
	if c.User == "" {
		c.User = "me"
	}
	var response json.RawMessage
	body := map[string]string{"name": c.Name, "userId": c.User}
	if err := api.Do(in.ctx, http.MethodPost, "/sandbox/v1/api-tokens", body, &response); err != nil {
		return err
	}
	if c.JSON {
		return frame.WriteJSON(in.stdout, response)
	}
	var made struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(response, &made); err != nil {
		return err
	}
	fmt.Fprintln(in.stdout, made.Token)
	return nil
}
