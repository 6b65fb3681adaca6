package mgmtapi

import (
	"context"

	"github.com/scimwright/scimwright/mgmtapi/internal/apps/connections"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// ConnectionTester tests connections to SCIM service providers.
type ConnectionTester interface {
	// TestConnection requests the first page of users. It returns an error unless it receives a list response within a few seconds. Callers of
	// the API see the text of the error, which must not contain the token.
	TestConnection(ctx context.Context, e Endpoint) error
}

// Endpoint is a SCIM service provider with the credentials to reach it.
type Endpoint struct {
	App     string // id of the application whose target this provider is
	BaseURL string
	Credentials
}

// Credentials authenticate the client of a SCIM service provider. Printing them does not reveal the secret.
type Credentials struct {
	// Header is the form of the Authorization header of requests that contain Secret.
	Header HeaderFormat
	// Secret is the token, or the secret of the OAuth client, in plaintext.
	Secret string
	// OAuth is the client that obtains access tokens. If OAuth is nil, Secret is a token, which the requests contain.
	OAuth *OAuthClient
}

// HeaderFormat is the form of an Authorization header.
type HeaderFormat string

// The forms of an Authorization header.
const (
	HeaderBearer HeaderFormat = "BEARER" // "Bearer " and the token
	HeaderRaw    HeaderFormat = "RAW"    // the token alone
	HeaderBasic  HeaderFormat = "BASIC"  // "Basic " and the Base64 form of the token, which is user:password
)

// OAuthClient obtains access tokens with the client credentials grant. Credentials.Secret is the client secret.
type OAuthClient struct {
	ClientID string
	TokenURL string
	Scope    string
}

// String returns a description without the secret.
func (c Credentials) String() string {
	if c.OAuth != nil {
		return "client " + c.OAuth.ClientID
	}
	return string(c.Header)
}

// GoString returns String, for %#v.
func (c Credentials) GoString() string { return c.String() }

// String returns the base URL, without the secret.
func (e Endpoint) String() string { return e.BaseURL }

// GoString returns String, for %#v.
func (e Endpoint) GoString() string { return e.BaseURL }

func credentials(header model.HeaderFormat, secret string, oauth *model.ConnectionOAuth) Credentials {
	c := Credentials{Header: HeaderFormat(header), Secret: secret}
	if oauth != nil {
		c.OAuth = &OAuthClient{ClientID: oauth.ClientID, TokenURL: oauth.TokenURL, Scope: oauth.Scope}
	}
	return c
}

// tester adapts a ConnectionTester to package connections.
type tester struct{ ConnectionTester }

func (t tester) TestConnection(ctx context.Context, e connections.Endpoint) error {
	return t.ConnectionTester.TestConnection(ctx,
		Endpoint{App: e.App, BaseURL: e.BaseURL, Credentials: credentials(e.Header, e.Token, e.OAuth)})
}
