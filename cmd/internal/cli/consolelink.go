package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/cli/remote"
	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
)

type consoleLinkCommand struct {
	JSON bool `name:"json" help:"Print the link as JSON."`
	remote.Connection
}

// maxLink is the maximum size of the response in bytes.
const maxLink = 64 << 10

// Run requests a login link and prints it.
func (c *consoleLinkCommand) Run(in *invocation) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	path, scheme := api.BaseURL+console.LinkPath, "SSWS "
	if base, ok := strings.CutSuffix(api.BaseURL, desiredapi.DefaultPrefix); ok {
		path, scheme = base+daemon.ConsoleBase+console.LinkPath, "Bearer "
	}
	req, err := http.NewRequestWithContext(in.ctx, http.MethodPost, path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", scheme+api.Token)
	res, err := api.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxLink))
	if err != nil {
		return err
	}
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return errors.New("this server has no console: check --url, and whether the server was started with --no-console")
	default:
		return fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(body)))
	}
	if c.JSON {
		return frame.WriteJSON(in.stdout, body)
	}
	var made console.NewLink
	if err := json.Unmarshal(body, &made); err != nil || made.ConsoleURL == "" {
		return errors.New("the response is not that of a console: check --url")
	}
	fmt.Fprintln(in.stdout, made.ConsoleURL)
	return nil
}
