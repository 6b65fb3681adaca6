package inlinehooks

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Limits of a channel.
const (
	maxURL = 1024 // characters
	// MaxHeaders is the maximum number of headers configured for a hook.
	MaxHeaders = 50
)

// authHeader is the only type of authentication scheme.
const authHeader = "HEADER"

// ChannelInput is a channel in a request.
type ChannelInput struct {
	Type    string       `json:"type" empty:"absent" enum:"HTTP,OAUTH" doc:"HTTP or OAUTH. Default: HTTP."`
	Version string       `json:"version" empty:"absent" enum:"1.0.0" doc:"1.0.0. Default: 1.0.0."`
	Config  *ConfigInput `json:"config" doc:"The endpoint and the authentication of calls."`
}

// ConfigInput is the configuration of a channel in a request. In an update, absent members are not modified.
type ConfigInput struct {
	URI        string           `json:"uri" empty:"absent" doc:"The endpoint, an https URL of at most 1024 characters."`
	Method     string           `json:"method" empty:"absent" enum:"POST" doc:"POST. Default: POST."`
	Headers    *[]HookHeader    `json:"headers" doc:"Headers of each call."`
	AuthScheme *AuthSchemeInput `json:"authScheme" doc:"A header with a secret, for HTTP channels."`
	AuthType   string           `json:"authType" empty:"absent"`
	TokenURL   string           `json:"tokenUrl" empty:"absent" doc:"Token endpoint of the OAuth server, an https URL."`
	ClientID   string           `json:"clientId" empty:"absent" max:"1024" doc:"Client id at the token endpoint."`

	Secret string `json:"clientSecret" empty:"absent" max:"4096" writeOnly:"true" doc:"The secret of the client, for client_secret_post."`

	Scope     *string `json:"scope" max:"1024" doc:"Scopes of the token request."`
	HookKeyID string  `json:"hookKeyId" empty:"absent" doc:"Id of the hook key that signs the client assertion, for private_key_jwt."`
}

// MoreTags implements rest.Described.
func (ConfigInput) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"authType": `enum:"client_secret_post,private_key_jwt" doc:"Client authentication of an OAUTH channel at the token endpoint. Default: ` +
			`client_secret_post."`,
	}
}

// AuthSchemeInput is a header with a secret in a request.
type AuthSchemeInput struct {
	Type  string `json:"type" empty:"absent" enum:"HEADER" doc:"HEADER. Default: HEADER."`
	Key   string `json:"key" empty:"absent" max:"256" doc:"Name of the header."`
	Value string `json:"value" empty:"absent" max:"4096" writeOnly:"true" doc:"The secret."`
}

// The paths of members in a body.
const (
	inConfig     = "channel.config."
	inAuthScheme = inConfig + "authScheme"
)

// given are plaintext secrets that must still be encrypted.
type given struct{ authValue, clientSecret string }

// merge applies a request to a channel and validates the result. Secrets absent from the request are not modified.
func (s *Slice) merge(ctx context.Context, q docstore.Reader, c model.HookChannel, in *ChannelInput,
	causes *rest.Causes) (model.HookChannel, given, error) {
	if in == nil {
		return c, given{}, nil
	}
	if kind := model.HookChannelType(in.Type); kind != "" && kind != c.Type {
		c = model.HookChannel{Type: kind} // the type of the channel changes, so the stored settings are dropped
	}
	if c.Type == "" {
		c.Type = model.HookHTTP
	}
	c.Version = model.HookVersion
	config := in.Config
	if config == nil {
		config = &ConfigInput{}
	}
	if config.URI != "" {
		c.URI = config.URI
	}
	if config.Headers != nil {
		c.Headers = nil
		for _, h := range *config.Headers {
			c.Headers = append(c.Headers, model.HookHeader(h))
		}
	}
	checkURL(inConfig+"uri", c.URI, causes)
	var secrets given
	var err error
	if c.Type == model.HookHTTP {
		secrets = mergeAuthScheme(&c, config.AuthScheme, causes)
	} else {
		secrets, err = s.mergeOAuth(ctx, q, &c, config, causes)
	}
	checkHeaders(&c, causes)
	return c, secrets, err
}

func mergeAuthScheme(c *model.HookChannel, in *AuthSchemeInput, causes *rest.Causes) given {
	if in == nil {
		if c.AuthHeader != "" && c.SealedAuthValue == "" {
			causes.Blank(inAuthScheme + ".value")
		}
		return given{}
	}
	if in.Key != "" {
		c.AuthHeader = in.Key
	}
	switch {
	case c.AuthHeader == "":
		causes.Blank(inAuthScheme + ".key")
	case !httpguts.ValidHeaderFieldName(c.AuthHeader) || slices.Contains(ownHeaders, http.CanonicalHeaderKey(c.AuthHeader)):
		causes.Add(inAuthScheme+".key", "%s", textHeaderName)
	}
	switch {
	case in.Value == "" && c.SealedAuthValue == "":
		causes.Blank(inAuthScheme + ".value")
	case !httpguts.ValidHeaderFieldValue(in.Value):
		causes.Add(inAuthScheme+".value", "%s", textHeaderValue)
	}
	return given{authValue: in.Value}
}

func (s *Slice) mergeOAuth(ctx context.Context, q docstore.Reader, c *model.HookChannel, in *ConfigInput, causes *rest.Causes) (given,
	error) {
	if in.AuthScheme != nil {
		causes.Add(inAuthScheme, "Only HTTP channels have an authentication scheme")
	}
	for _, m := range []struct {
		from string
		to   *string
	}{{in.TokenURL, &c.TokenURL}, {in.ClientID, &c.ClientID}, {in.HookKeyID, &c.HookKey}} {
		if m.from != "" {
			*m.to = m.from
		}
	}
	if in.Scope != nil {
		c.Scope = *in.Scope
	}
	if in.AuthType != "" {
		c.AuthType = model.HookAuthType(in.AuthType)
	}
	if c.AuthType == "" {
		c.AuthType = model.HookClientSecret
	}
	checkURL(inConfig+"tokenUrl", c.TokenURL, causes)
	if c.ClientID == "" {
		causes.Blank(inConfig + "clientId")
	}
	if c.AuthType == model.HookPrivateKey {
		c.SealedClientSecret = ""
		if in.Secret != "" {
			causes.Add(inConfig+"clientSecret", "A secret is not allowed with %s", model.HookPrivateKey)
		}
		return given{}, s.checkKey(ctx, q, c.HookKey, causes)
	}
	c.HookKey = ""
	if in.HookKeyID != "" {
		causes.Add(inConfig+"hookKeyId", "A hook key is not allowed with %s", model.HookClientSecret)
	}
	if in.Secret == "" && c.SealedClientSecret == "" {
		causes.Blank(inConfig + "clientSecret")
	}
	return given{clientSecret: in.Secret}, nil
}

func (s *Slice) checkKey(ctx context.Context, q docstore.Reader, id string, causes *rest.Causes) error {
	if id == "" {
		causes.Blank(inConfig + "hookKeyId")
		return nil
	}
	_, err := s.HookKeys.Get(ctx, q, id)
	if errors.Is(err, docstore.ErrNotFound) {
		causes.Add(inConfig+"hookKeyId", "Unknown hook key id")
		return nil
	}
	return err
}

// checkURL validates the URL of an endpoint.
func checkURL(member, text string, causes *rest.Causes) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		causes.Blank(member)
	case utf8.RuneCountInString(text) > maxURL:
		causes.Add(member, "The field must have at most %d characters", maxURL)
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		causes.Add(member, "The value must not contain white space")
	case !strings.HasPrefix(text, "https://") || err != nil || u.Hostname() == "" || !validPort(u.Port()):
		causes.Add(member, "The value must be an https URL")
	case u.User != nil || u.Fragment != "":
		causes.Add(member, "The URL must have no credentials and no fragment")
	}
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// ownHeaders are set by the service, or define the framing of the message.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

const (
	textHeaderName  = "The value is not the name of an allowed header"
	textHeaderValue = "The value must not contain control characters"
)

// checkHeaders validates the configured headers of a channel.
func checkHeaders(c *model.HookChannel, causes *rest.Causes) {
	if len(c.Headers) > MaxHeaders {
		causes.Add(inConfig+"headers", "There can be at most %d headers", MaxHeaders)
		return
	}
	seen := map[string]bool{"Authorization": true}
	if c.AuthHeader != "" {
		seen[http.CanonicalHeaderKey(c.AuthHeader)] = true
	}
	for i, h := range c.Headers {
		at, name := inConfig+"headers["+strconv.Itoa(i)+"]", http.CanonicalHeaderKey(h.Key)
		switch {
		case h.Key == "" || h.Value == "": // the check of the struct tags has reported the missing member
		case !httpguts.ValidHeaderFieldName(h.Key) || slices.Contains(ownHeaders, name):
			causes.Add(at+".key", "%s", textHeaderName)
		case seen[name]:
			causes.Add(at+".key", "The header is the authentication header, or is repeated")
		case !httpguts.ValidHeaderFieldValue(h.Value):
			causes.Add(at+".value", "%s", textHeaderValue)
		}
		seen[name] = true
	}
}

// seal encrypts the given secrets and stores them in the channel.
func (s *Slice) seal(id string, c *model.HookChannel, secrets given) (err error) {
	if secrets.authValue != "" {
		if c.SealedAuthValue, err = s.secrets.Seal(secrets.authValue, model.HookAuthValueBinding(id)); err != nil {
			return err
		}
	}
	if secrets.clientSecret != "" {
		c.SealedClientSecret, err = s.secrets.Seal(secrets.clientSecret, model.HookClientSecretBinding(id))
	}
	return err
}
