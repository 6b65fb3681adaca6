// Package remote says where a running sandbox answers and with which token, for the commands that speak to one. It sends nothing
// itself.
package remote

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/scimwright/scimwright/internal/cli/frame"
	"github.com/scimwright/scimwright/internal/sandbox"
)

// Connection has the flags that name a sandbox.
type Connection struct {
	URL       string `help:"Base URL of the sandbox." default:"http://127.0.0.1:8080"`
	APIToken  string `help:"Token of an administrator." env:"SCIMWRIGHT_API_TOKEN"`
	ReadyFile string `help:"Take base URL and token from the ready file of a running sandbox." placeholder:"FILE"`
}

// Client returns a client of the sandbox's management API.
func (c Connection) Client() (*sandbox.APIClient, error) {
	if c.ReadyFile != "" {
		data, err := os.ReadFile(c.ReadyFile)
		if err != nil {
			return nil, err
		}
		var ready sandbox.Ready
		if err := json.Unmarshal(data, &ready); err != nil {
			return nil, fmt.Errorf("%s: %w", c.ReadyFile, err)
		}
		c.URL, c.APIToken = ready.BaseURL, ready.APIToken
	}
	if c.APIToken == "" {
		return nil, frame.Usage("--api-token (or SCIMWRIGHT_API_TOKEN) or --ready-file is needed")
	}
	return &sandbox.APIClient{BaseURL: strings.TrimSuffix(c.URL, "/"), Token: c.APIToken}, nil
}
