package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// grant is an access token for the endpoint of a hook.
type grant struct {
	token   string
	channel model.HookChannel // configuration of the hook for which the token was issued
	expires time.Time
}

const (
	// expiryMargin is the time before its expiry at which an access token is no longer used.
	expiryMargin = 30 * time.Second
	// maxTokenLifetime limits the caching of an access token, regardless of its stated lifetime.
	maxTokenLifetime = 24 * time.Hour
	// assertionLifetime is the lifetime of a signed assertion.
	assertionLifetime = 5 * time.Minute
)

// authenticate adds the authentication to the header and returns the secret in the header, or "" if the hook has no authentication.
func (c *Caller) authenticate(ctx context.Context, hook docstore.Doc[model.InlineHook], header http.Header) (string, *CallError, error) {
	channel := hook.Value.Channel
	switch {
	case channel.Type == model.HookOAuth:
		token, failure, err := c.token(ctx, hook)
		header.Set("Authorization", "Bearer "+token)
		return token, failure, err
	case channel.AuthHeader != "":
		value, err := c.secrets.Open(channel.SealedAuthValue, model.HookAuthValueBinding(hook.ID))
		if err != nil {
			return "", nil, fmt.Errorf("the secret of the hook %s: %w", hook.ID, err)
		}
		header.Set(channel.AuthHeader, value)
		return value, nil, nil
	}
	return "", nil, nil
}

// token returns an access token for the hook (RFC 6749 section 4.4): the cached one while it is usable, otherwise a new one.
func (c *Caller) token(ctx context.Context, hook docstore.Doc[model.InlineHook]) (string, *CallError, error) {
	now, channel := c.Now(), hook.Value.Channel
	c.mu.Lock()
	have, ok := c.tokens[hook.ID]
	c.mu.Unlock()
	if ok && now.Before(have.expires) && sameGrant(have.channel, channel) {
		return have.token, nil, nil
	}
	form, err := c.credentials(ctx, hook, now)
	if err != nil {
		return "", nil, err
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {mediaJSON}, "User-Agent": {userAgent}}
	status, data, failure := c.post(ctx, tokenEndpoint, channel.TokenURL, header, []byte(form.Encode()))
	if failure != nil {
		return "", failure, nil
	}
	switch {
	case status != http.StatusOK:
		return "", &CallError{Where: tokenEndpoint, Status: status, Text: statusText(status) + oauthCode(data)}, nil
	case len(data) > MaxAnswer:
		return "", &CallError{Where: tokenEndpoint, Status: status, Text: textTooLarge}, nil
	}
	var given struct {
		AccessToken string  `json:"access_token"`
		TokenType   string  `json:"token_type"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if err := json.Unmarshal(data, &given); err != nil || !visible(given.AccessToken) || !strings.EqualFold(given.TokenType, "Bearer") {
		return "", &CallError{Where: tokenEndpoint, Status: status, Text: "answered without a bearer token"}, nil
	}
	lifetime := time.Duration(min(given.ExpiresIn, maxTokenLifetime.Seconds()) * float64(time.Second))
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, old := range c.tokens { // delete expired tokens, including those of deleted hooks
		if !now.Before(old.expires) {
			delete(c.tokens, id)
		}
	}
	c.tokens[hook.ID] = grant{token: given.AccessToken, channel: channel, expires: now.Add(lifetime - expiryMargin)}
	return given.AccessToken, nil, nil
}

// oauthCode returns a colon and the error code in the response of a token endpoint, or "" if OAuth does not define the code. The error of
// the hook call contains nothing else of the response: the response may contain a token, and the tokenUrl may be that of another service.
func oauthCode(data []byte) string {
	var said struct {
		Error string `json:"error"`
	}
	known := []string{
		rest.OAuthInvalidRequest, rest.OAuthInvalidClient, rest.OAuthInvalidGrant, rest.OAuthInvalidScope, rest.OAuthUnauthorized,
		rest.OAuthUnsupportedGrant, rest.OAuthAccessDenied,
	}
	if err := json.Unmarshal(data, &said); err != nil || !slices.Contains(known, said.Error) {
		return ""
	}
	return ": " + said.Error
}

// visible reports whether a text is not empty and consists of visible ASCII characters, so that a header can contain it.
func visible(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

func sameGrant(a, b model.HookChannel) bool {
	return a.TokenURL == b.TokenURL && a.AuthType == b.AuthType && a.ClientID == b.ClientID && a.Scope == b.Scope &&
		a.SealedClientSecret == b.SealedClientSecret && a.HookKey == b.HookKey
}

// forget drops an access token that the endpoint rejected. A newer cached token is retained.
func (c *Caller) forget(hook, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tokens[hook].token == token {
		delete(c.tokens, hook)
	}
}

// credentials returns the form of a token request.
func (c *Caller) credentials(ctx context.Context, hook docstore.Doc[model.InlineHook], now time.Time) (url.Values, error) {
	channel := hook.Value.Channel
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {channel.ClientID}}
	if channel.Scope != "" {
		form.Set("scope", channel.Scope)
	}
	if channel.AuthType == model.HookPrivateKey {
		assertion, err := c.assertion(ctx, channel, now)
		if err != nil {
			return nil, fmt.Errorf("the assertion of the hook %s: %w", hook.ID, err)
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
		return form, nil
	}
	secret, err := c.secrets.Open(channel.SealedClientSecret, model.HookClientSecretBinding(hook.ID))
	if err != nil {
		return nil, fmt.Errorf("the client secret of the hook %s: %w", hook.ID, err)
	}
	form.Set("client_secret", secret)
	return form, nil
}

// assertion returns a JWT signed with the hook key that authenticates the client (RFC 7523 section 3).
func (c *Caller) assertion(ctx context.Context, channel model.HookChannel, now time.Time) (string, error) {
	key, err := c.HookKeys.Get(ctx, c.Store.Reader(), channel.HookKey)
	if err != nil {
		return "", err
	}
	private, err := key.Value.Key.Private(c.secrets)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: private, KeyID: key.Value.KeyID}},
		(&jose.SignerOptions{}).WithType("JWT"),
	)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: channel.ClientID, Subject: channel.ClientID, Audience: jwt.Audience{channel.TokenURL}, ID: model.NewUUID(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionLifetime)),
	}).Serialize()
}
