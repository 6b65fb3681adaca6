// Package remote defines the flags for the address and token of a running sandbox or daemon, for the commands that connect to one. It sends
// nothing itself.
package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/cmd/internal/scheme"
	"github.com/scimwright/scimwright/engine/control/client"
)

// ServicePrefix is the end of the URL of serve engine.
const ServicePrefix = "/engine/v1"

// Connection is the set of flags that identify a sandbox or daemon.
type Connection struct {
	URL       string `help:"Base URL, of serve engine with /engine/v1. Default: http://127.0.0.1:8080." env:"SCIMWRIGHT_URL" placeholder:"URL"`
	APIToken  string `help:"Token of an administrator." env:"SCIMWRIGHT_API_TOKEN"`
	ReadyFile string `help:"Read base URL and token from the ready file of a running sandbox or serve engine." placeholder:"FILE"`
}

// Client returns a client for the base URL and the token of the flags.
func (c Connection) Client() (*sandbox.APIClient, error) {
	if c.ReadyFile != "" {
		data, err := os.ReadFile(c.ReadyFile)
		if err != nil {
			return nil, frame.Usage(fmt.Sprintf("--ready-file cannot be read: %v", err))
		}
		var ready struct {
			sandbox.Ready
			EngineURL  string `json:"engineUrl"` // of a daemon
			AdminToken string `json:"adminToken"`
		}
		if err := json.Unmarshal(data, &ready); err != nil {
			return nil, frame.Usage(fmt.Sprintf("--ready-file %s: %v", c.ReadyFile, err))
		}
		c.URL, c.APIToken = cmp.Or(ready.EngineURL, ready.BaseURL), cmp.Or(ready.Ready.APIToken, ready.AdminToken, c.APIToken)
	}
	if c.APIToken == "" {
		return nil, frame.Usage("--api-token (or SCIMWRIGHT_API_TOKEN) or --ready-file is required")
	}
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, frame.Usage(fmt.Sprintf("--url must be an absolute http or https URL: %q", c.URL))
	}
	return &sandbox.APIClient{
		BaseURL: strings.TrimSuffix(cmp.Or(c.URL, defaultURL), "/"), Token: c.APIToken, HTTP: &http.Client{Transport: scheme.New(nil)},
	}, nil
}

// defaultURL is the default address of a sandbox.
const defaultURL = "http://127.0.0.1:8080"

// Hint returns a hint on how to select a server if err means that none responds, or that the server does not know the token of the sandbox;
// otherwise "". The engine service rejects requests to unknown paths, such as those of the sandbox, like those with an unknown token.
func Hint(err error) string {
	status := 0
	if e, ok := errors.AsType[*sandbox.APIError](err); ok {
		status = e.Status
	} else if e, ok := errors.AsType[*client.Error](err); ok && strings.HasPrefix(e.Path, "/sandbox/") {
		status = e.Status
	}
	if status == http.StatusUnauthorized {
		return "If --url is the address of \"scimwright serve engine\", it must end with " + ServicePrefix + ".\n"
	}
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
		return ""
	}
	return "No server responds at this URL. Use --ready-file or --url (or SCIMWRIGHT_URL). \"scimwright sandbox\" or " +
		"\"scimwright serve engine\" starts one.\n"
}
