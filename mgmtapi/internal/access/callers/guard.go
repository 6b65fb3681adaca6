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

// Authorizer decides what a caller may do. It is the only place that decides it; that of mgmtapi/internal/access/authz does by roles.
type Authorizer interface {
	// Authorize returns nil when the caller may run the operation, and an error with rest.CodeForbidden when not.
	Authorize(ctx context.Context, p rest.Principal, op rest.Info) error
}

// Standings is what an Authorizer may be besides, so that it need not read what was read already to find out who calls.
type Standings interface {
	// Standing tells of a user's rights what follows from some documents alone, with their versions; nil when that is nothing. Authorize
	// finds it in the principal, as long as the versions are current.
	Standing(ctx context.Context, q docstore.Reader, user string) (any, []docstore.Version, error)
}

// Guard authenticates callers by their API tokens and asks an Authorizer what they may do. It is a rest.Guard.
type Guard struct {
	Authorizer
	deps     model.Deps
	logger   *slog.Logger
	tokens   *tokens.Keys               // of the org authorization server; nil accepts no access tokens
	refusals *rate.Limiter              // of what is logged, not of what is refused
	accepted docstore.Cache[acceptance] // by the hash of the secret
}

// acceptance is a token that was good, until it expires, or it, its owner or what gives the owner rights changes.
type acceptance struct {
	principal rest.Principal
	expires   time.Time
}

// NewGuard makes a guard.
func NewGuard(d model.Deps, a Authorizer, logger *slog.Logger) *Guard {
	return &Guard{Authorizer: a, deps: d, logger: logger, refusals: rate.NewLimiter(rate.Every(time.Second), maxRefusals)}
}

// maxRefusals is how many refused tokens in a row are logged; then it is one a second. Whoever tries tokens out cannot fill the
// log faster.
const maxRefusals = 60

// touchInterval is how exactly the last use of a token is known: a token in constant use is written once in it, not with
// every request.
const touchInterval = time.Minute

// Authenticate finds the owner of the request's API token.
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

// accept finds the token with a hash and its owner, and remembers them.
func (g *Guard) accept(ctx context.Context, q docstore.Reader, hash string, now time.Time) (none acceptance, err error) {
	page, err := g.deps.APITokens.Query(ctx, q, docstore.Query[model.APIToken]{Where: docstore.Eq(model.APITokenByHash, hash), Limit: 1})
	if err != nil {
		return none, err
	}
	if len(page.Docs) == 0 {
		return none, g.refuse(ctx, "The token is not known", nil)
	}
	token := page.Docs[0]
	owner, err := g.deps.Users.Get(ctx, q, token.Value.UserID)
	switch {
	case errors.Is(err, docstore.ErrNotFound):
		return none, g.refuse(ctx, "The owner of the token is gone", nil, audit.Token(token))
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

// refuse logs why a token is not accepted. The caller is not told.
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

// touch moves the expiry of a token that was used. A failure is logged and does not stop the request.
func (g *Guard) touch(ctx context.Context, id string) {
	err := g.deps.Store.Update(ctx, func(tx *docstore.Tx) error { return ExtendToken(ctx, tx, g.deps, id, g.deps.Now()) })
	if err != nil && ctx.Err() == nil && !errors.Is(err, docstore.ErrConflict) {
		g.logger.WarnContext(ctx, "extending an API token failed", "token_id", id, "error", err)
	}
}
