package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// Options configure an Issuer.
type Options struct {
	// Transformer changes tokens whose rules name an inline hook. Default: none, the tokens are not modified.
	Transformer Transformer
}

// Issuer issues tokens.
type Issuer struct {
	model.Deps
	keys      *Keys
	transform Transformer
	programs  programs
	org       atomic.Value // the id of the organization as a string, stored at the first read
}

// New returns an Issuer.
func New(d model.Deps, keys *Keys, o Options) *Issuer {
	return &Issuer{Deps: d, keys: keys, transform: o.Transformer}
}

// OrgLifetime is the lifetime of the access tokens of the org server.
const OrgLifetime = time.Hour

// idLifetime is the lifetime of ID tokens.
const idLifetime = time.Hour

// Request is a permitted request for tokens.
type Request struct {
	Server docstore.Doc[model.AuthServer]
	// Issuer is the issuer URL of the server.
	Issuer string
	Grant  string
	Client docstore.Doc[model.App]
	// Person is the user of the token, nil for the client itself.
	Person *Person
	// SignedIn is the time at which the user signed in.
	SignedIn time.Time
	Scopes   []string
	Decision
	// Refresh is the id of the refresh token used for the request, or "" for another grant type.
	Refresh string
}

// ClientID returns the client_id of the client.
func (r *Request) ClientID() string { return r.Client.Value.Credentials.OAuthClient.ID }

// Issued are the tokens of a request.
type Issued struct {
	Access string
	// ID is the ID token, empty if none is issued.
	ID        string
	ExpiresIn int    // lifetime of the access token, in seconds
	JTI       string // id of the access token
	// HookProblem is the error because of which the response of the rule's inline hook was not applied. It is nil if the response was applied
	// or the rule has no hook. The error has already been logged.
	HookProblem error
}

// tokenLength is the number of characters in the random part of a jti.
const tokenLength = 43

// The prefixes of the ids of tokens.
const (
	accessPrefix = "AT."
	idPrefix     = "ID."
)

// newJTI returns the id of a new access token. It contains the id of the refresh token whose revocation also revokes the access token.
func newJTI(refresh string) string {
	jti := accessPrefix + model.NewSecret(tokenLength)
	if refresh != "" {
		jti += "." + refresh
	}
	return jti
}

// Issue signs the tokens.
func (i *Issuer) Issue(ctx context.Context, r Request) (Issued, error) {
	now := i.Now()
	out := Issued{JTI: newJTI(r.Refresh)}
	tokens := calls.Tokens{
		Access: &calls.Token{Lifetime: time.Duration(r.Rule.AccessMinutes) * time.Minute, Claims: map[string]any{}, Scopes: r.scopeIDs()}}
	access := tokens.Access
	if err := i.claims(ctx, &r, model.ClaimResource, access.Claims); err != nil {
		return out, err
	}
	own := map[string]any{
		"ver": 1, "jti": out.JTI, "iss": r.Issuer, "aud": r.Server.Value.Audience, "iat": now.Unix(), "cid": r.ClientID(), "scp": r.Scopes,
	}
	if _, ok := access.Claims[model.ClaimSubject]; !ok {
		own[model.ClaimSubject] = r.subject()
	}
	if r.Person != nil {
		own["uid"] = r.Person.User.ID
		if slices.Contains(r.Scopes, model.ScopeOpenID) {
			tokens.Identity = &calls.Token{Lifetime: idLifetime, Claims: map[string]any{}}
			if err := i.claims(ctx, &r, model.ClaimIdentity, tokens.Identity.Claims); err != nil {
				return out, err
			}
			maps.Copy(tokens.Identity.Claims, r.identity(now))
		}
	}
	maps.Copy(access.Claims, own)
	if r.Rule.Hook != "" && i.transform != nil {
		about, err := i.about(ctx, &r)
		if err != nil {
			return out, err
		}
		tokens, out.HookProblem = i.transform.TransformTokens(ctx, r.Rule.Hook, about, tokens)
	}
	var err error
	out.ExpiresIn = int(tokens.Access.Lifetime / time.Second)
	if out.Access, err = i.sign(ctx, &r, tokens.Access, now); err != nil || tokens.Identity == nil {
		return out, err
	}
	half := sha256.Sum256([]byte(out.Access))
	tokens.Identity.Claims["at_hash"] = base64.RawURLEncoding.EncodeToString(half[:len(half)/2])
	out.ID, err = i.sign(ctx, &r, tokens.Identity, now)
	return out, err
}

// subject returns the subject of a token if the system claim has no value.
func (r *Request) subject() string {
	if r.Person != nil {
		return r.Person.User.Value.Login()
	}
	return r.ClientID()
}

func (i *Issuer) sign(ctx context.Context, r *Request, t *calls.Token, now time.Time) (string, error) {
	t.Claims["exp"] = now.Add(t.Lifetime).Unix()
	payload, err := json.Marshal(t.Claims)
	if err != nil {
		return "", fmt.Errorf("claims of a token: %w", err)
	}
	return i.keys.sign(ctx, r.Server.ID, r.Server.Value.ManualRotation, payload)
}

// identity returns the built-in claims of an ID token: the required ones and those of the granted scopes about the user (OpenID Connect
// Core section 5.4).
func (r *Request) identity(now time.Time) map[string]any {
	u := r.Person.User
	out := map[string]any{
		"ver": 1, "jti": idPrefix + model.NewSecret(tokenLength), "iss": r.Issuer, "aud": r.ClientID(), "iat": now.Unix(),
		"sub": u.ID, "amr": []string{"pwd"}, "auth_time": r.SignedIn.Unix(),
	}
	tell := func(claim, value string) {
		if value != "" {
			out[claim] = value
		}
	}
	for _, scope := range r.Scopes {
		switch scope {
		case model.ScopeProfile:
			tell("name", audit.UserName(&u.Value))
			tell("preferred_username", u.Value.Login())
			for claim, attribute := range profileClaims {
				tell(claim, u.Value.Text(attribute))
			}
		case model.ScopeEmail:
			tell("email", u.Value.Text("email"))
		case model.ScopePhone:
			tell("phone_number", u.Value.Text("primaryPhone"))
		case model.ScopeAddress:
			if address := r.address(); len(address) > 0 {
				out["address"] = address
			}
		}
	}
	return out
}

func (r *Request) address() map[string]string {
	out := map[string]string{}
	for claim, attribute := range addressClaims {
		if text := r.Person.User.Value.Text(attribute); text != "" {
			out[claim] = text
		}
	}
	return out
}

// profileClaims and addressClaims map standard claims to the attributes of users that provide their values.
var (
	profileClaims = map[string]string{
		"given_name": "firstName", "family_name": "lastName", "middle_name": "middleName", "nickname": "nickName",
		"profile": "profileUrl", "zoneinfo": "timezone", "locale": "locale",
	}
	addressClaims = map[string]string{
		"street_address": "streetAddress", "locality": "city", "region": "state", "postal_code": "zipCode", "country": "countryCode",
	}
)

// IssueOrg issues an access token of the org server: for a client, with scopes of the management API.
func (i *Issuer) IssueOrg(ctx context.Context, issuer, client string, scopes []string) (token, jti string, err error) {
	now := i.Now()
	jti = newJTI("")
	payload, err := json.Marshal(map[string]any{
		"ver": 1, "jti": jti, "iss": issuer, "aud": issuer, "iat": now.Unix(), "exp": now.Add(OrgLifetime).Unix(),
		"cid": client, "sub": client, "scp": scopes,
	})
	if err != nil {
		return "", "", fmt.Errorf("claims of a token: %w", err)
	}
	token, err = i.keys.sign(ctx, model.OrgRing, false, payload)
	return token, jti, err
}

// AccessToken holds the claims of an access token.
type AccessToken struct {
	ID       string   `json:"jti"`
	Issuer   string   `json:"iss"`
	Audience string   `json:"aud"`
	Subject  string   `json:"sub"`
	Client   string   `json:"cid"`
	User     string   `json:"uid"`
	Scopes   []string `json:"scp"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
}

// Read returns the claims of an access token of the server. ok is false if the token is from another server, has expired, or was revoked.
// server is the id of the server, or model.OrgRing; issuers are the issuer URLs of the server in all issuer modes.
func (k *Keys) Read(ctx context.Context, server string, manual bool, issuers []string, token string) (t AccessToken, ok bool, err error) {
	payload, err := k.verify(ctx, server, manual, token)
	if err == errToken { //nolint:errorlint // errToken is never wrapped
		return t, false, nil
	}
	if err != nil {
		return t, false, err
	}
	if json.Unmarshal(payload, &t) != nil || !strings.HasPrefix(t.ID, accessPrefix) || !slices.Contains(issuers, t.Issuer) {
		return t, false, nil
	}
	if expired, err := k.expired(ctx, &t); err != nil || expired {
		return t, false, err
	}
	q := k.Store.Reader()
	revoked, err := model.Optional(ctx, q, k.UsedTokens, model.RevokedID(t.ID))
	if err != nil || revoked != nil {
		return t, false, err
	}
	if id := t.refresh(); id != "" {
		refresh, err := model.Optional(ctx, q, k.RefreshTokens, id)
		if err != nil || refresh == nil || refresh.Value.Status != model.TokenActive {
			return t, false, err
		}
	}
	return t, true, nil
}

// Holder returns the application of the client that received an access token. ok is false if the application was deleted or is not active.
// An application created after the token may have the same client_id, but did not receive the token.
func (k *Keys) Holder(ctx context.Context, q docstore.Reader, t AccessToken) (app docstore.Doc[model.App], ok bool, err error) {
	app, err = k.FindOAuthClient(ctx, q, t.Client)
	if errors.Is(err, docstore.ErrNotFound) {
		return app, false, nil
	}
	return app, err == nil && app.Value.Status == model.AppActive && app.Created.Unix() <= t.Issued, err
}

// refresh returns the id of the refresh token that the access token was issued with, or "" if it was issued without one.
func (t *AccessToken) refresh() string {
	_, id, _ := strings.Cut(strings.TrimPrefix(t.ID, accessPrefix), ".")
	return id
}
