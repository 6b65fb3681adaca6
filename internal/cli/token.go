package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/scimwright/scimwright/internal/sandbox"
)

type tokenCreateCommand struct {
	Name      string `help:"Name of the new token." default:"command line"`
	User      string `help:"Id or login of the user it acts as. Defaults to the owner of the token in use." placeholder:"USER"`
	URL       string `help:"Base URL of the sandbox." default:"http://127.0.0.1:8080"`
	APIToken  string `help:"Token to create it with." env:"SCIMWRIGHT_API_TOKEN"`
	ReadyFile string `help:"Take base URL and token from the ready file of a running sandbox." placeholder:"FILE"`
}

// Run creates the token and prints its secret alone, so that a script can take it.
func (c *tokenCreateCommand) Run(in *invocation) error {
	if c.ReadyFile != "" {
		data, err := os.ReadFile(c.ReadyFile)
		if err != nil {
			return err
		}
		var ready sandbox.Ready
		if err := json.Unmarshal(data, &ready); err != nil {
			return fmt.Errorf("%s: %w", c.ReadyFile, err)
		}
		c.URL, c.APIToken = ready.BaseURL, ready.APIToken
	}
	if c.APIToken == "" {
		return &usageError{"--api-token (or SCIMWRIGHT_API_TOKEN) or --ready-file is needed"}
	}
	api := &sandbox.APIClient{BaseURL: strings.TrimSuffix(c.URL, "/"), Token: c.APIToken}
	if c.User == "" {
		c.User = "me"
	}
	var made struct {
		Token string `json:"token"`
	}
	body := map[string]string{"name": c.Name, "userId": c.User}
	if err := api.Do(in.ctx, http.MethodPost, "/sandbox/v1/api-tokens", body, &made); err != nil {
		return err
	}
	fmt.Fprintln(in.stdout, made.Token)
	return nil
}
