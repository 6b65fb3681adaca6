package endpoints

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

var errCredentials = rest.OAuthFail(rest.OAuthInvalidGrant, "The credentials provided were invalid.")

// signIn returns the user with the login and the password in the request.
func (s *Slice) signIn(ctx context.Context, r *tokenRequest, client docstore.Doc[model.App]) (*tokens.Person, error) {
	if r.Username == "" || r.Password == "" {
		return nil, rest.OAuthFail(rest.OAuthInvalidRequest, "username and password are required.")
	}
	known, err := s.FindUser(ctx, s.Store.Reader(), r.Username)
	found := err == nil
	if err != nil && !errors.Is(err, docstore.ErrNotFound) {
		return nil, err
	}
	// A hook receives a password only if the user may sign in with it.
	usable := found && known.Value.HasPassword() && known.Value.Status == model.UserActive
	if !usable || known.Value.AsksHook() {
		// Hash takes as long as a comparison with a stored hash. Otherwise the response time would reveal which users exist.
		if _, err := s.hasher.Hash(r.Password); err != nil {
			return nil, err
		}
	}
	if !usable {
		return nil, errCredentials
	}
	right, answered := password.VerifyOrAsk(ctx, s.hook, known, r.Password)
	if !answered {
		return nil, errCredentials // the hook did not respond; the log event of the call contains the reason
	}
	if !right {
		return nil, s.wrongPassword(ctx, known.ID, r, client)
	}
	rule, err := s.SignOnRuleFor(ctx, s.Store.Reader(), known.ID)
	if err != nil {
		return nil, err
	}
	if rule != nil && (rule.Factor || rule.Access == model.AccessDeny) { // the password grant cannot verify a second factor
		return nil, rest.OAuthFail(rest.OAuthAccessDenied, "The sign-on policy does not allow the user to sign in with a password alone.")
	}
	if known, err = s.accept(ctx, known, r.Password); err != nil {
		return nil, err
	}
	return tokens.FindPerson(ctx, s.Deps, s.Store.Reader(), client.ID, known)
}

// wrongPassword counts and logs a wrong password, and returns errCredentials. For a user who was locked out concurrently, it returns the
// same error without counting.
func (s *Slice) wrongPassword(ctx context.Context, user string, r *tokenRequest, client docstore.Doc[model.App]) error {
	party := audit.Client(client)
	var counted bool
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.Users.Get(ctx, tx, user)
		if err != nil {
			return err
		}
		counted, err = callers.FailedAttempt(ctx, tx, s.Deps, doc, audit.Entry{
			Type: audit.AccessGrant, Failure: "The password is wrong",
			Debug: map[string]string{"clientId": party.ID, "authorizationServerId": r.found.ID},
		})
		return err
	})
	switch {
	case err != nil && !errors.Is(err, docstore.ErrNotFound): // with ErrNotFound, the user was deleted concurrently
		return err
	case err == nil && counted:
		return fmt.Errorf("%w: %w", errCredentials, errLogged)
	}
	return errCredentials
}

// accept completes the sign-in after a correct password. It stores a password that was verified by another system, and resets the failed
// attempts.
func (s *Slice) accept(ctx context.Context, known docstore.Doc[model.User], text string) (out docstore.Doc[model.User], err error) {
	attempts, err := model.Optional(ctx, s.Store.Reader(), s.Attempts, known.ID)
	if err != nil {
		return out, err
	}
	failed := attempts != nil && attempts.Value.Series >= known.Value.Attempts
	if known.Value.Imported == nil && !failed {
		return known, nil
	}
	var hash string
	if known.Value.Imported != nil {
		if hash, err = s.hasher.Hash(text); err != nil {
			return out, err
		}
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.Users.Get(ctx, tx, known.ID)
		if errors.Is(err, docstore.ErrNotFound) || err == nil && (!doc.Value.SamePassword(&known.Value) || doc.Value.Status != model.UserActive) {
			return errCredentials // the user was changed or deleted after the comparison
		}
		if err != nil {
			return err
		}
		user := doc.Value
		user.Attempts++
		if hash != "" {
			password.TakeOver(&user, hash)
		}
		if out, err = s.Users.Update(ctx, tx, doc.ID, doc.Rev, user); err != nil {
			return err
		}
		if hash != "" {
			party := audit.User(out)
			if err := audit.Write(ctx, tx, s.Deps,
				audit.Entry{Type: audit.UserImportPassword, Actor: &party, Targets: []model.LogParty{party}}); err != nil {
				return err
			}
		}
		return s.Feed.Emit(ctx, tx, model.UserChanged{ID: out.ID})
	})
	return out, err
}

var errRefreshToken = rest.OAuthFail(rest.OAuthInvalidGrant, "The refresh token is invalid or expired.")

// usableRefresh returns the refresh token with the secret. If the token is not usable, or was issued by another server or to another
// client, it returns errRefreshToken.
func (s *Slice) usableRefresh(ctx context.Context, server, client, secret string) (docstore.Doc[model.RefreshToken], error) {
	page, err := s.RefreshTokens.Query(ctx, s.Store.Reader(), docstore.Query[model.RefreshToken]{
		Where: docstore.Eq(model.RefreshTokenByHash, model.SecretHash(secret)), Limit: 1,
	})
	if err != nil {
		return docstore.Doc[model.RefreshToken]{}, err
	}
	if len(page.Docs) == 0 {
		return docstore.Doc[model.RefreshToken]{}, errRefreshToken
	}
	doc := page.Docs[0]
	if t := doc.Value; t.Server != server || t.ClientID != client || !t.Usable(s.Now()) {
		return docstore.Doc[model.RefreshToken]{}, errRefreshToken
	}
	return doc, nil
}

// refresh issues tokens for a refresh token, which remains valid.
func (s *Slice) refresh(ctx context.Context, r *tokenRequest, client docstore.Doc[model.App]) (TokenResponse, error) {
	if r.RefreshToken == "" {
		return TokenResponse{}, rest.OAuthFail(rest.OAuthInvalidRequest, "refresh_token is missing.")
	}
	token, err := s.usableRefresh(ctx, r.found.ID, client.Value.Credentials.OAuthClient.ID, r.RefreshToken)
	if err != nil {
		return TokenResponse{}, err
	}
	t := &token.Value
	if !slices.Contains(client.Value.Settings.OAuthClient.GrantTypes, t.Grant) {
		return TokenResponse{}, rest.OAuthFail(rest.OAuthInvalidGrant,
			"The client is no longer authorized to use the grant type of the refresh token.")
	}
	in := tokens.Request{
		Server: r.found, Issuer: r.issuer, Grant: t.Grant, Client: client, Scopes: tokens.KnownScopes(&r.found.Value, t.Scopes),
		SignedIn: t.SignedIn, Refresh: token.ID,
	}
	if r.Scope != "" {
		if in.Scopes, err = tokens.RequestedScopes(&r.found.Value, r.Scope); err != nil {
			return TokenResponse{}, err
		}
		if slices.ContainsFunc(in.Scopes, func(name string) bool { return !slices.Contains(t.Scopes, name) }) {
			return TokenResponse{}, rest.OAuthFail(rest.OAuthInvalidScope, "The refresh token does not have all of the scopes.")
		}
	}
	user, err := s.Users.Get(ctx, s.Store.Reader(), t.UserID)
	if errors.Is(err, docstore.ErrNotFound) { // the user was deleted after the token was issued
		err = errRefreshToken
	}
	if err != nil {
		return TokenResponse{}, err
	}
	in.Person, err = tokens.FindPerson(ctx, s.Deps, s.Store.Reader(), client.ID, user)
	if _, denied := errors.AsType[*rest.OAuthError](err); denied {
		return TokenResponse{}, rest.OAuthFail(rest.OAuthInvalidGrant,
			"The user is not active, or no longer assigned to the client application.")
	}
	if err != nil {
		return TokenResponse{}, err
	}
	if in.Decision, err = tokens.DecideAgain(&r.found.Value, t, in.Person, in.Scopes); err != nil {
		return TokenResponse{}, err
	}
	issued, err := s.issuer.Issue(ctx, in)
	if err != nil {
		return TokenResponse{}, err
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.RefreshTokens.Get(ctx, tx, token.ID)
		if errors.Is(err, docstore.ErrNotFound) || err == nil && !doc.Value.Usable(s.Now()) {
			return errRefreshToken
		}
		if err != nil {
			return err
		}
		doc.Value.Use(s.Now())
		if _, err := s.RefreshTokens.Update(ctx, tx, doc.ID, doc.Rev, doc.Value); err != nil {
			return err
		}
		return s.logIssued(ctx, tx, &in, &issued, false)
	})
	if err != nil {
		return TokenResponse{}, err
	}
	return respond(&in, &issued, r.RefreshToken), nil
}
