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

// grant is an access token that the endpoint of a hook takes.
type grant struct {
	token   string
	channel model.HookChannel // under which it was given
	expires time.Time
}

const (
	// expiryMargin is how long before its end an access token is no longer used.
	expiryMargin = 30 * time.Second
	// maxTokenLifetime bounds how long an access token is kept, whatever is said of it.
	maxTokenLifetime = 24 * time.Hour
	// assertionLifetime is how long the assertion of a key is valid.
	assertionLifetime = 5 * time.Minute
)

// authenticate adds what proves to the endpoint who calls, and returns the secret in it, empty for none.
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

// token returns an access token for the hook (RFC 6749 section 4.4): the last one while it can be used, else a new one.
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
	for id, old := range c.tokens { // of hooks that are gone, too
		if !now.Before(old.expires) {
			delete(c.tokens, id)
		}
	}
	c.tokens[hook.ID] = grant{token: given.AccessToken, channel: channel, expires: now.Add(lifetime - expiryMargin)}
	return given.AccessToken, nil, nil
}

// oauthCode returns the error code in the answer of a token endpoint, with a separator before it, "" if there is none that OAuth defines.
// Nothing else of the answer is told: it may hold a token, and the tokenUrl may be that of something else.
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

// visible says whether a text is one that can stand in a header: visible ASCII, and some of it.
func visible(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

func sameGrant(a, b model.HookChannel) bool {
	return a.TokenURL == b.TokenURL && a.AuthType == b.AuthType && a.ClientID == b.ClientID && a.Scope == b.Scope &&
		a.SealedClientSecret == b.SealedClientSecret && a.HookKey == b.HookKey
}

// forget drops an access token that the endpoint does not take. Another one that came meanwhile stays.
func (c *Caller) forget(hook, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tokens[hook].token == token {
		delete(c.tokens, hook)
	}
}

// credentials is the form of a token request.
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

// assertion is a JWT with which the hook key proves who asks (RFC 7523 section 3).
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
