package conform

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/scheme"
	"github.com/scimwright/scimwright/conformance"
)

// connection is the set of flags for requests to the target.
type connection struct {
	Token         string   `help:"Bearer token." env:"SCIM_TOKEN" placeholder:"TOKEN"`
	Basic         string   `help:"User name and password for basic authentication." env:"SCIM_BASIC" placeholder:"USER:PASSWORD"`
	OAuthTokenURL string   `name:"oauth-token-url" help:"OAuth token endpoint." env:"SCIM_OAUTH_TOKEN_URL" placeholder:"URL"`
	OAuthClientID string   `name:"oauth-client-id" help:"OAuth client id." env:"SCIM_OAUTH_CLIENT_ID" placeholder:"ID"`
	OAuthSecret   string   `name:"oauth-client-secret" help:"OAuth client secret." env:"SCIM_OAUTH_CLIENT_SECRET" placeholder:"SECRET"`
	OAuthScope    []string `name:"oauth-scope" help:"OAuth scopes, separated by commas." env:"SCIM_OAUTH_SCOPE" placeholder:"SCOPE,..."`
	Header        lines    `help:"Header of every request (repeatable)." placeholder:"'NAME: VALUE'"`
	certificates
	Timeout        time.Duration `help:"Time limit of the whole command, including cleanup." default:"5m"`
	RequestTimeout time.Duration `help:"Time limit of one request." default:"15s"`
}

// certificates are the files for TLS connections.
type certificates struct {
	ClientCert string `help:"PEM file with the client certificate." type:"path" placeholder:"FILE"`
	ClientKey  string `help:"PEM file with the key of the client certificate. Default: the certificate file." type:"path" placeholder:"FILE"`
	CAFile     string `help:"PEM file with certificates to trust in addition to those of the system." type:"path" placeholder:"FILE"`
}

// target returns the target for the flags. The URL may be "" for a command that reads the URL from a journal.
func (c connection) target(url string) (conformance.Target, error) {
	target := conformance.Target{URL: url, Token: c.Token, Header: http.Header{}}
	if c.Timeout <= 0 || c.RequestTimeout <= 0 {
		return target, usage("--timeout and --request-timeout must be positive")
	}
	if strings.ContainsAny(c.Token, "\r\n") {
		return target, usage("the token contains a line break: remove the one at the end of the token file")
	}
	for _, h := range c.Header {
		name, value, found := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \t") {
			return target, usage("--header %q is not of the form 'Name: value'", name)
		}
		target.Header.Add(name, strings.TrimSpace(value))
	}
	transport, err := c.transport()
	if err != nil {
		return target, err
	}
	target.Transport = scheme.New(transport)
	return target, c.authorize(&target)
}

// authorize sets the credentials of the target. More than one kind is an error.
func (c connection) authorize(target *conformance.Target) error {
	kinds := 0
	for _, given := range []bool{c.Token != "", c.Basic != "", c.OAuthTokenURL != "", target.Header.Get("Authorization") != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return usage("more than one kind of credentials is given: choose one of --token, --basic, --oauth-token-url and an Authorization header")
	case c.Basic != "":
		if !strings.Contains(c.Basic, ":") {
			return usage("--basic is not of the form user:password")
		}
		target.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.Basic)))
	case c.OAuthTokenURL != "":
		if c.OAuthClientID == "" || c.OAuthSecret == "" {
			return usage("--oauth-token-url requires --oauth-client-id and --oauth-client-secret")
		}
		target.Authorize = c.clientCredentials(target.Transport)
	case c.OAuthClientID != "" || c.OAuthSecret != "" || len(c.OAuthScope) > 0:
		return usage("OAuth client credentials require --oauth-token-url")
	}
	return nil
}

// clientCredentials returns a function that requests tokens with the transport of the target and caches each until it expires.
func (c connection) clientCredentials(transport http.RoundTripper) func(context.Context) (string, error) {
	config := clientcredentials.Config{ClientID: c.OAuthClientID, ClientSecret: c.OAuthSecret, TokenURL: c.OAuthTokenURL, Scopes: c.OAuthScope}
	client := &http.Client{Transport: transport, Timeout: c.RequestTimeout}
	// The token source is used until the command exits, so it must not depend on the context of the first request.
	source := config.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, client))
	return func(context.Context) (string, error) {
		token, err := source.Token()
		if err == nil {
			return token.Type() + " " + token.AccessToken, nil
		}
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			reason := refused.ErrorCode
			if reason == "" {
				reason = refused.Response.Status
			}
			return "", fmt.Errorf("the token endpoint %s rejects the client credentials: %s", c.OAuthTokenURL, reason)
		}
		return "", fmt.Errorf("the token endpoint %s returns no token: %w", c.OAuthTokenURL, err)
	}
}

func (c certificates) transport() (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	roots, err := frame.Roots(c.CAFile)
	if err != nil {
		return nil, usage("%v", err)
	}
	transport.TLSClientConfig.RootCAs = roots
	switch {
	case c.ClientCert != "":
		key := c.ClientKey
		if key == "" {
			key = c.ClientCert
		}
		pair, err := tls.LoadX509KeyPair(c.ClientCert, key)
		if err != nil {
			return nil, usage("--client-cert and --client-key cannot be used: %v", err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	case c.ClientKey != "":
		return nil, usage("--client-key requires --client-cert")
	}
	return transport, nil
}
