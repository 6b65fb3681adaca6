// Package remote says where a running sandbox answers and with which token, for the commands that speak to one. It sends nothing
// itself.
package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// Connection has the flags that name a sandbox.
type Connection struct {
	URL       string `help:"Base URL of the sandbox. Default: http://127.0.0.1:8080." env:"SCIMWRIGHT_URL" placeholder:"URL"`
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
	return &sandbox.APIClient{BaseURL: strings.TrimSuffix(cmp.Or(c.URL, defaultURL), "/"), Token: c.APIToken}, nil
}

// defaultURL is where a sandbox listens by default.
const defaultURL = "http://127.0.0.1:8080"

// Hint returns how to name a sandbox, if err is that none answers; otherwise "".
func Hint(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
		return ""
	}
	return "No sandbox answers there. Name it by --ready-file, or by --url (or SCIMWRIGHT_URL); \"scimwright sandbox\" starts one.\n"
}
