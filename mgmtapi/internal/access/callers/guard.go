package callers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

// Authorizer decides which operations a caller may run. The API makes all these decisions through this interface. The implementation in
// mgmtapi/internal/access/authz decides by roles.
type Authorizer interface {
	// Authorize returns nil if the caller may run the operation, otherwise an error with rest.CodeForbidden.
	Authorize(ctx context.Context, p rest.Principal, op rest.Info) error
}

// Standings is an optional interface of an Authorizer. With it, the guard reads the rights of a user together with the API token and caches
// both.
type Standings interface {
	// Standing returns the rights of a user that depend only on certain documents, and the versions of these documents. It returns nil for a
	// user without such rights. While the versions are current, Authorize receives the result in the principal.
	Standing(ctx context.Context, q docstore.Reader, user string) (any, []docstore.Version, error)
}

// Guard authenticates callers by their API tokens and calls an Authorizer. It is a rest.Guard.
type Guard struct {
	Authorizer
	deps     model.Deps
	logger   *slog.Logger
	tokens   *tokens.Keys               // keys of the org authorization server; nil means that access tokens are rejected
	refusals *rate.Limiter              // limits how many rejections are logged
	accepted docstore.Cache[acceptance] // accepted tokens, by the hash of the secret
}

// acceptance is an accepted token. It is valid until the token expires, or the token, its owner or a source of the owner's rights changes.
type acceptance struct {
	principal rest.Principal
	expires   time.Time
}

// NewGuard returns a guard.
func NewGuard(d model.Deps, a Authorizer, logger *slog.Logger) *Guard {
	return &Guard{Authorizer: a, deps: d, logger: logger, refusals: rate.NewLimiter(rate.Every(time.Second), maxRefusals)}
}

// maxRefusals is the number of rejected tokens that are logged in a burst; after that, one per second is logged. This limits how fast
// guessing tokens can fill the log.
const maxRefusals = 60

// touchInterval is the resolution of the last use of a token: a token in constant use is written once per interval, not with every request.
const touchInterval = time.Minute

// Authenticate returns the caller: the owner of the request's API token, or the client of its access token.
func (g *Guard) Authenticate(r *http.Request) (rest.Principal, error) {
	header := strings.TrimSpace(r.Header.Get("Authorization"))
	if header == "" {
		return rest.Principal{}, rest.Fail(rest.CodeNoCredentials)
	}
	scheme, secret, _ := strings.Cut(header, " ")
	switch {
	case strings.EqualFold(scheme, "SSWS"):
		return g.byToken(r.Context(), strings.TrimSpace(secret))
	case strings.EqualFold(scheme, "Bearer"):
		return g.byAccessToken(r.Context(), strings.TrimSpace(secret))
	default:
		return rest.Principal{}, rest.Fail(rest.CodeToken)
	}
}

func (g *Guard) byToken(ctx context.Context, secret string) (rest.Principal, error) {
	reader, hash, now := g.deps.Store.Reader(), model.SecretHash(secret), g.deps.Now()
	found, ok, err := g.accepted.Get(ctx, reader, hash)
	if err == nil && (!ok || !now.Before(found.expires)) {
		found, err = g.accept(ctx, reader, hash, now)
	}
	if err != nil {
		return rest.Principal{}, err
	}
	if now.Add(TokenWindow).Sub(found.expires) >= touchInterval {
		g.touch(ctx, found.principal.TokenID)
	}
	return found.principal, nil
}

// accept finds the token whose secret has the hash, and the owner of the token. It caches both.
func (g *Guard) accept(ctx context.Context, q docstore.Reader, hash string, now time.Time) (none acceptance, err error) {
	page, err := g.deps.APITokens.Query(ctx, q, docstore.Query[model.APIToken]{Where: docstore.Eq(model.APITokenByHash, hash), Limit: 1})
	if err != nil {
		return none, err
	}
	if len(page.Docs) == 0 {
		return none, g.refuse(ctx, "The token is unknown", nil)
	}
	token := page.Docs[0]
	owner, err := g.deps.Users.Get(ctx, q, token.Value.UserID)
	switch {
	case errors.Is(err, docstore.ErrNotFound):
		return none, g.refuse(ctx, "The owner of the token was deleted", nil, audit.Token(token))
	case err != nil:
		return none, err
	case !now.Before(token.Value.Expires):
		return none, g.refuse(ctx, "The token has expired", &owner, audit.Token(token))
	case owner.Value.Status != model.UserActive:
		return none, g.refuse(ctx, "The owner of the token is not active", &owner, audit.Token(token))
	}
	found := acceptance{expires: token.Value.Expires, principal: rest.Principal{
		UserID: owner.ID, Login: owner.Value.Login(), Name: audit.UserName(&owner.Value), TokenID: token.ID,
	}}
	versions := []docstore.Version{g.deps.APITokens.Version(token), g.deps.Users.Version(owner)}
	if s, ok := g.Authorizer.(Standings); ok {
		standing, more, err := s.Standing(ctx, q, owner.ID)
		if err != nil {
			return none, err
		}
		found.principal.Standing, versions = standing, append(versions, more...)
	}
	g.accepted.Put(q, hash, found, versions...)
	return found, nil
}

// refuse logs why a token is rejected. The response does not contain the reason.
func (g *Guard) refuse(ctx context.Context, why string, owner *docstore.Doc[model.User], token ...model.LogParty) error {
	if !g.refusals.AllowN(g.deps.Now(), 1) {
		return rest.Fail(rest.CodeToken)
	}
	entry := audit.Entry{Type: audit.TokenRefuse, Failure: why, Targets: token}
	if owner != nil {
		actor := audit.User(*owner)
		entry.Actor = &actor
	}
	audit.WriteAlone(ctx, g.deps, g.logger, entry)
	return rest.Fail(rest.CodeToken)
}

// touch extends the expiry of a used token. An error is logged and does not fail the request.
func (g *Guard) touch(ctx context.Context, id string) {
	err := g.deps.Store.Update(ctx, func(tx *docstore.Tx) error { return ExtendToken(ctx, tx, g.deps, id, g.deps.Now()) })
	if err != nil && ctx.Err() == nil && !errors.Is(err, docstore.ErrConflict) {
		g.logger.WarnContext(ctx, "cannot extend API token", "token_id", id, "error", err)
	}
}
