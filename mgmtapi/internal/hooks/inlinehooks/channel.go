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

// Bounds of a channel.
const (
	maxURL = 1024 // characters
	// MaxHeaders is how many headers of its own a hook can have.
	MaxHeaders = 50
)

// authHeader is the only type of authentication schemes.
const authHeader = "HEADER"

// ChannelInput is a channel as callers send it.
type ChannelInput struct {
	Type    string       `json:"type" empty:"absent" enum:"HTTP,OAUTH" doc:"HTTP or OAUTH. Defaults to HTTP."`
	Version string       `json:"version" empty:"absent" enum:"1.0.0" doc:"1.0.0, which is the default."`
	Config  *ConfigInput `json:"config" doc:"The endpoint and how calls authenticate."`
}

// ConfigInput is the configuration of a channel as callers send it. What is absent in an update stays as it is.
type ConfigInput struct {
	URI        string           `json:"uri" empty:"absent" doc:"The endpoint, an https URL of at most 1024 characters."`
	Method     string           `json:"method" empty:"absent" enum:"POST" doc:"POST, which is the default."`
	Headers    *[]HookHeader    `json:"headers" doc:"Headers that go with each call."`
	AuthScheme *AuthSchemeInput `json:"authScheme" doc:"A header with a secret, for HTTP channels."`
	AuthType   string           `json:"authType" empty:"absent"`
	TokenURL   string           `json:"tokenUrl" empty:"absent" doc:"Where it gets them, an https URL."`
	ClientID   string           `json:"clientId" empty:"absent" max:"1024" doc:"As which client."`

	Secret string `json:"clientSecret" empty:"absent" max:"4096" writeOnly:"true" doc:"The secret of the client, for client_secret_post."`

	Scope     *string `json:"scope" max:"1024" doc:"For which scopes."`
	HookKeyID string  `json:"hookKeyId" empty:"absent" doc:"Id of the hook key that signs, for private_key_jwt."`
}

// MoreTags implements rest.Described.
func (ConfigInput) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"authType": `enum:"client_secret_post,private_key_jwt" doc:"How an OAUTH channel gets its access tokens. Default: ` +
			`client_secret_post."`,
	}
}

// AuthSchemeInput is a header with a secret as callers send it.
type AuthSchemeInput struct {
	Type  string `json:"type" empty:"absent" enum:"HEADER" doc:"HEADER, which is the default."`
	Key   string `json:"key" empty:"absent" max:"256" doc:"Name of the header."`
	Value string `json:"value" empty:"absent" max:"4096" writeOnly:"true" doc:"The secret."`
}

// Where members stand in a body.
const (
	inConfig     = "channel.config."
	inAuthScheme = inConfig + "authScheme"
)

// given are secrets in clear that are still to be sealed.
type given struct{ authValue, clientSecret string }

// merge puts what is sent into a channel and checks the whole. The secrets of the channel stay where none are sent.
func (s *Slice) merge(ctx context.Context, q docstore.Reader, c model.HookChannel, in *ChannelInput,
	causes *rest.Causes) (model.HookChannel, given, error) {
	if in == nil {
		return c, given{}, nil
	}
	if kind := model.HookChannelType(in.Type); kind != "" && kind != c.Type {
		c = model.HookChannel{Type: kind} // nothing of one type is of use for the other
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
			causes.Add(inConfig+"clientSecret", "There is no secret with %s", model.HookPrivateKey)
		}
		return given{}, s.checkKey(ctx, q, c.HookKey, causes)
	}
	c.HookKey = ""
	if in.HookKeyID != "" {
		causes.Add(inConfig+"hookKeyId", "There is no hook key with %s", model.HookClientSecret)
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
		causes.Add(inConfig+"hookKeyId", "There is no hook key with this id")
		return nil
	}
	return err
}

// checkURL checks the address of an endpoint.
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

// ownHeaders are those that the service writes itself, or that say how a message is read.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

const (
	textHeaderName  = "The value is no name of a header that can be sent"
	textHeaderValue = "The value must be visible text"
)

// checkHeaders checks the headers of a channel's own.
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
		case h.Key == "" || h.Value == "": // the tags have said so
		case !httpguts.ValidHeaderFieldName(h.Key) || slices.Contains(ownHeaders, name):
			causes.Add(at+".key", "%s", textHeaderName)
		case seen[name]:
			causes.Add(at+".key", "The header is that of the authentication, or comes twice")
		case !httpguts.ValidHeaderFieldValue(h.Value):
			causes.Add(at+".value", "%s", textHeaderValue)
		}
		seen[name] = true
	}
}

// seal keeps the secrets that were given.
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
