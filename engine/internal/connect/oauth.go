package connect

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/scimwright/scimwright/engine"
)

func checkOAuth(o engine.OAuth) error {
	u, err := url.Parse(o.TokenURL)
	switch {
	case o.ClientID == "":
		return errors.New("the client id is empty")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("the token URL must be an absolute http or https URL")
	case u.User != nil || u.Fragment != "":
		return errors.New("the token URL must have no credentials and no fragment")
	}
	return nil
}

// TokenError reports that no access token could be obtained. No request was sent to the target.
type TokenError struct {
	URL    string
	Status int    // of the response, 0 if none was received
	Code   string // the error member of the response if it is an OAuth error code, otherwise empty
	cause  error
}

func (e *TokenError) Error() string {
	s := "no access token from " + e.URL + ": "
	switch {
	case e.Code != "":
		return s + fmt.Sprintf("%d %s", e.Status, e.Code)
	case e.Status != 0:
		return s + fmt.Sprintf("the status is %d", e.Status)
	default:
		return s + e.cause.Error()
	}
}

// Unwrap returns the error of the HTTP client, if any.
func (e *TokenError) Unwrap() error { return e.cause }

// rejected reports whether the token endpoint rejects the client, so that a retry is useless.
func (e *TokenError) rejected() bool {
	return e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests
}

// tokens provides the access token of one client at one token endpoint, and fetches a new one shortly before it expires. Only one fetch
// runs at a time; concurrent callers wait for its token.
type tokens struct {
	config clientcredentials.Config
	fetch  chan struct{} // contains one element while no fetch is in flight
	mu     sync.Mutex
	have   *oauth2.Token
}

// tokensFor returns the tokens of the credentials. All clients with the same credentials share them. They are stored in memory only.
func (n *Network) tokensFor(a engine.Auth) *tokens {
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %t", a.Secret, a.OAuth.TokenURL, a.OAuth.ClientID, a.OAuth.Scope, a.OAuth.InBody))
	n.mu.Lock()
	defer n.mu.Unlock()
	if t, ok := n.tokens[key]; ok {
		return t
	}
	t := &tokens{
		config: clientcredentials.Config{
			ClientID: a.OAuth.ClientID, ClientSecret: a.Secret, TokenURL: a.OAuth.TokenURL, Scopes: strings.Fields(a.OAuth.Scope),
			AuthStyle: oauth2.AuthStyleInHeader,
		},
		fetch: make(chan struct{}, 1),
	}
	if a.OAuth.InBody {
		t.config.AuthStyle = oauth2.AuthStyleInParams
	}
	t.fetch <- struct{}{}
	if n.tokens == nil || len(n.tokens) >= maxTokens {
		n.tokens = map[[sha256.Size]byte]*tokens{} // clients in use continue with their tokens
	}
	n.tokens[key] = t
	return t
}

// errorCodes are the error codes of a token endpoint (RFC 6749 section 5.2, RFC 8707 section 2), and those of the authorization endpoint
// that some token endpoints use. Any other text in a response is not quoted: the token URL may belong to another server.
var errorCodes = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target",
	"access_denied", "server_error", "temporarily_unavailable",
}

// maxTokens is the maximum number of clients whose tokens are cached.
const maxTokens = 16384

// token returns a valid access token.
func (t *tokens) token(ctx context.Context, client *http.Client) (string, error) {
	if have := t.current(); have != "" {
		return have, nil
	}
	select {
	case <-t.fetch:
		defer func() { t.fetch <- struct{}{} }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if have := t.current(); have != "" {
		return have, nil
	}
	got, err := t.config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err != nil {
		e := &TokenError{URL: t.config.TokenURL, cause: err}
		answer, answered := errors.AsType[*oauth2.RetrieveError](err)
		_, failed := errors.AsType[*url.Error](err)
		switch {
		case answered:
			if slices.Contains(errorCodes, answer.ErrorCode) {
				e.Code = answer.ErrorCode
			}
			if answer.Response != nil {
				e.Status = answer.Response.StatusCode
			}
		case failed:
			e.cause = errors.New(describeFailure(err)) // without the error itself, which contains the request
		default:
			e.cause = errors.New("the response contains no access token")
		}
		return "", e
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.have = got
	return got.AccessToken, nil
}

func (t *tokens) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.have.Valid() {
		return ""
	}
	return t.have.AccessToken
}

// drop removes a token that the target rejects. It does not remove a newer token.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.have != nil && t.have.AccessToken == token {
		t.have = nil
	}
}
