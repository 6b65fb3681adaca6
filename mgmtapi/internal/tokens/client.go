package tokens

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	exact "github.com/go-jose/go-jose/v4/json" // matches member names exactly, and rejects repeated ones

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Credentials are the authentication of an OAuth client. They are embedded in the requests of OAuth endpoints.
type Credentials struct {
	Authorization string `header:"Authorization" doc:"Basic with client_id and client_secret."`
	ClientID      string `form:"client_id" max:"200" doc:"Id of the client."`
	ClientSecret  string `form:"client_secret" max:"200" writeOnly:"true" doc:"Secret of the client."`
	AssertionType string `form:"client_assertion_type" doc:"urn:ietf:params:oauth:client-assertion-type:jwt-bearer with client_assertion."`
	Assertion     string `form:"client_assertion" max:"32768" writeOnly:"true" doc:"JWT signed by the client (RFC 7523)."`
}

// AssertionBearer is the only assertion type.
const AssertionBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// Limits of assertions.
const (
	maxAssertionAge = time.Hour   // maximum time from now to the exp of an assertion
	assertionSkew   = time.Minute // maximum clock difference
	maxJTI          = 255
)

// Clients authenticates OAuth clients.
type Clients struct {
	model.Deps
	Secrets seal.Secrets
}

// refusal is the reason for rejecting a client, for the log and the caller.
type refusal struct {
	client string // the client_id that the client claimed, empty if it claimed none
	why    string
}

func (r *refusal) Error() string { return r.why }

// Claimed returns the client_id that a rejected client claimed.
func Claimed(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.client
	}
	return ""
}

// Authenticate returns the client that sent the credentials. audiences are the accepted audiences of an assertion. The error of a rejected
// client is a *rest.OAuthError; Claimed returns its client_id.
func (c *Clients) Authenticate(ctx context.Context, sent Credentials, audiences ...string) (docstore.Doc[model.App], error) {
	id, method, err := sent.method()
	if err != nil {
		return docstore.Doc[model.App]{}, err
	}
	unauthorized := method == model.AuthSecretBasic || method == model.AuthPrivateKey
	refuse := func(why string) error {
		e := rest.OAuthFail(rest.OAuthInvalidClient, why)
		if unauthorized {
			e.Status = http.StatusUnauthorized
		}
		if method == model.AuthSecretBasic {
			e.Header = http.Header{"Www-Authenticate": {`Basic realm="OAuth"`}}
		}
		return &refusedClient{OAuthError: e, refusal: refusal{client: id, why: why}}
	}
	if method == model.AuthPrivateKey {
		if id, err = assertedClient(sent); err != nil {
			return docstore.Doc[model.App]{}, refuse(err.Error())
		}
	}
	app, err := c.FindOAuthClient(ctx, c.Store.Reader(), id)
	switch {
	case errors.Is(err, docstore.ErrNotFound):
		return app, refuse("Invalid value for 'client_id' parameter.")
	case err != nil:
		return app, err
	case app.Value.Status != model.AppActive:
		return app, refuse("The client is not active.")
	case app.Value.Credentials.OAuthClient.AuthMethod != method:
		return app, refuse("The client is not registered for the authentication method " + string(method) + ".")
	}
	switch method {
	case model.AuthNone:
		return app, nil
	case model.AuthPrivateKey:
		err = c.checkAssertion(ctx, &app, sent.Assertion, audiences)
	default:
		err = c.checkSecret(&app, sent, method)
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return app, refuse(r.why)
	}
	return app, err
}

// refusedClient is an OAuth error with the claimed client.
type refusedClient struct {
	*rest.OAuthError
	refusal refusal
}

// Unwrap returns the error for the caller and the one for the log.
func (r *refusedClient) Unwrap() []error { return []error{r.OAuthError, &r.refusal} }

// method returns the authentication method of the credentials and the claimed client_id, if they contain it.
func (s *Credentials) method() (id string, method model.AuthMethod, err error) {
	scheme, basic, _ := strings.Cut(strings.TrimSpace(s.Authorization), " ")
	usesBasic := strings.EqualFold(scheme, "Basic")
	ways := 0
	for _, used := range []bool{usesBasic, s.ClientSecret != "", s.Assertion != "" || s.AssertionType != ""} {
		if used {
			ways++
		}
	}
	switch {
	case ways > 1:
		return "", "", rest.OAuthFail(rest.OAuthInvalidRequest, "The client must use exactly one authentication method.")
	case usesBasic:
		id, _, ok := readBasic(basic)
		if !ok || s.ClientID != "" && s.ClientID != id {
			return "", "", &rest.OAuthError{
				Code: rest.OAuthInvalidClient, Status: http.StatusUnauthorized,
				Description: "The header Authorization does not contain the credentials of a client.",
				Header:      http.Header{"Www-Authenticate": {`Basic realm="OAuth"`}},
			}
		}
		return id, model.AuthSecretBasic, nil
	case s.ClientSecret != "":
		return s.ClientID, model.AuthSecretPost, nil
	case ways == 1:
		if s.AssertionType != AssertionBearer || s.Assertion == "" {
			return "", "", rest.OAuthFail(rest.OAuthInvalidRequest, "client_assertion requires client_assertion_type, and the reverse.")
		}
		return s.ClientID, model.AuthPrivateKey, nil
	case s.ClientID != "":
		return s.ClientID, model.AuthNone, nil
	default:
		return "", "", &rest.OAuthError{Code: rest.OAuthInvalidClient, Description: "Client authentication is missing."}
	}
}

// readBasic reads id and secret as sent: form-encoded before they were joined (RFC 6749 section 2.3.1). Some clients do not encode them.
func readBasic(text string) (id, secret string, ok bool) {
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return "", "", false
	}
	id, secret, ok = strings.Cut(string(data), ":")
	if decoded, err := url.QueryUnescape(id); err == nil {
		id = decoded
	}
	return id, secret, ok && id != ""
}

func (c *Clients) checkSecret(app *docstore.Doc[model.App], sent Credentials, method model.AuthMethod) error {
	want, err := c.Secrets.Open(app.Value.Credentials.OAuthClient.SealedSecret, model.OAuthSecretBinding(app.ID))
	if err != nil {
		return err
	}
	secrets := []string{sent.ClientSecret}
	if method == model.AuthSecretBasic {
		_, basic, _ := strings.Cut(strings.TrimSpace(sent.Authorization), " ")
		_, secret, _ := readBasic(basic)
		secrets = []string{secret}
		if decoded, err := url.QueryUnescape(secret); err == nil {
			secrets = append(secrets, decoded)
		}
	}
	for _, secret := range secrets {
		if subtle.ConstantTimeCompare([]byte(secret), []byte(want)) == 1 {
			return nil
		}
	}
	return &refusal{why: "The client secret supplied for a confidential client is invalid."}
}

// assertion holds the claims of an assertion.
type assertion struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  audience `json:"aud"`
	Expires   *float64 `json:"exp"`
	NotBefore *float64 `json:"nbf"`
	Issued    *float64 `json:"iat"`
	ID        string   `json:"jti"`
}

// audience is the claim aud: a string or an array of strings.
type audience []string

// UnmarshalJSON accepts a string or an array of strings.
func (a *audience) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

var (
	errAssertion = &refusal{why: "The client_assertion is not a JWT signed with RS256 or ES256."}
	errSigned    = &refusal{why: "The client_assertion is not signed with a key of the client."}
)

// parseAssertion reads an assertion without verifying it. Only the algorithms named here are accepted, which excludes assertions without a
// signature, and HMAC signatures, which anyone could create if the public key were accepted as the HMAC key.
func parseAssertion(text string) (*jose.JSONWebSignature, assertion, error) {
	var says assertion
	parsed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		return nil, says, errAssertion
	}
	if exact.Unmarshal(parsed.UnsafePayloadWithoutVerification(), &says) != nil {
		return nil, says, errAssertion
	}
	return parsed, says, nil
}

// assertedClient returns the client that an assertion claims to come from.
func assertedClient(sent Credentials) (string, error) {
	_, says, err := parseAssertion(sent.Assertion)
	switch {
	case err != nil:
		return "", err
	case says.Subject == "" || says.Issuer != says.Subject:
		return "", &refusal{why: "The issuer and the subject of the client_assertion must both be the client_id."}
	case sent.ClientID != "" && sent.ClientID != says.Subject:
		return "", &refusal{why: "The client_assertion is from a client other than client_id."}
	}
	return says.Subject, nil
}

func (c *Clients) checkAssertion(ctx context.Context, app *docstore.Doc[model.App], text string, audiences []string) error {
	parsed, says, err := parseAssertion(text)
	if err != nil {
		return err
	}
	set, err := app.Value.Settings.OAuthClient.JWKS.Set()
	if err != nil {
		return err
	}
	if !signedByOne(parsed, set.Keys) {
		return errSigned
	}
	if problem := says.problem(c.Now(), audiences); problem != "" {
		return &refusal{why: problem}
	}
	if says.ID == "" {
		return nil
	}
	var fresh bool
	err = c.Update(ctx, func(tx *docstore.Tx) error {
		fresh, err = c.Spend(ctx, tx, model.AssertionID(says.Subject, says.ID), time.Unix(int64(*says.Expires), 0).Add(assertionSkew))
		return err
	})
	if err == nil && !fresh {
		return &refusal{why: "The client_assertion was already used."}
	}
	return err
}

// signedByOne reports whether one of the keys signed the assertion: the key named in the header, otherwise any key for the algorithm.
func signedByOne(parsed *jose.JSONWebSignature, keys []jose.JSONWebKey) bool {
	header := parsed.Signatures[0].Header
	return slices.ContainsFunc(keys, func(key jose.JSONWebKey) bool {
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm ||
			key.Use != "" && key.Use != "sig" {
			return false
		}
		switch key.Key.(type) {
		case *rsa.PublicKey:
			if header.Algorithm != string(jose.RS256) {
				return false
			}
		case *ecdsa.PublicKey:
			if header.Algorithm != string(jose.ES256) {
				return false
			}
		default:
			return false
		}
		_, err := parsed.Verify(key.Key)
		return err == nil
	})
}

// problem returns the error in an assertion with a valid signature, or "" if the assertion is valid.
func (a *assertion) problem(now time.Time, audiences []string) string {
	// Times are compared as numbers, because not every number in a claim is a valid time.
	after := func(seconds *float64, d time.Duration) bool { return *seconds > float64(now.Add(d).Unix()) }
	switch {
	case !slices.ContainsFunc(a.Audience, func(aud string) bool { return slices.Contains(audiences, aud) }):
		return "The audience of the client_assertion must be the token endpoint or the issuer."
	case a.Expires == nil:
		return "The client_assertion must have an exp."
	case !after(a.Expires, -assertionSkew):
		return "The client_assertion has expired."
	case after(a.Expires, maxAssertionAge+assertionSkew):
		return "The client_assertion expires more than one hour from now."
	case a.NotBefore != nil && after(a.NotBefore, assertionSkew):
		return "The client_assertion is not valid yet."
	case a.Issued != nil && after(a.Issued, assertionSkew):
		return "The client_assertion was issued in the future."
	case len(a.ID) > maxJTI:
		return "The jti of the client_assertion is too long."
	}
	return ""
}
