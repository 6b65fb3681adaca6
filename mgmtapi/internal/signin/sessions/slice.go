package sessions

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Lifetime is the duration of a session after it was created or prolonged.
const Lifetime = model.SessionLifetime

// Slice serves the sessions.
type Slice struct{ model.Deps }

// New returns the slice.
func New(d model.Deps) *Slice { return &Slice{Deps: d} }

const (
	tag  = "Sessions"
	root = "/api/v1/sessions"
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	read, write := []string{"svc.sessions.read"}, []string{"svc.sessions.manage"}
	return []rest.Route{
		rest.Op[createRequest, Session]{
			ID: "createSession", Route: "POST " + root, Tag: tag, Scopes: write,
			Summary: "Exchanges a session token for a session", Do: s.create,
		},
		rest.Op[byID, Session]{
			ID: "getSession", Route: "GET " + root + "/{sessionId}", Tag: tag, Scopes: read,
			Summary: "Reads a session", Find: s.findByID, Do: func(ctx context.Context, r *byID) (Session, error) {
				return render(ctx, r.held), nil
			},
		},
		rest.Op[byID, rest.NoContent]{
			ID: "revokeSession", Route: "DELETE " + root + "/{sessionId}", Tag: tag, Scopes: write,
			Summary: "Ends a session", Find: s.findByID, Do: func(ctx context.Context, r *byID) (rest.NoContent, error) {
				return s.end(ctx, r.ID, r.ID)
			},
		},
		rest.Op[byID, Session]{
			ID: "refreshSession", Route: "POST " + root + "/{sessionId}/lifecycle/refresh", Tag: tag, Scopes: write,
			Summary: "Prolongs a session", Find: s.findByID, Do: func(ctx context.Context, r *byID) (Session, error) {
				return s.refresh(ctx, r.ID, r.ID)
			},
		},
		rest.Op[byCookie, Session]{
			ID: "getCurrentSession", Route: "GET " + root + "/me", Tag: tag, Public: true,
			Summary: "Reads the session of the cookie", Do: s.current,
		},
		rest.Op[byCookie, rest.NoContent]{
			ID: "closeCurrentSession", Route: "DELETE " + root + "/me", Tag: tag, Public: true,
			Summary: "Ends the session of the cookie", Do: func(ctx context.Context, r *byCookie) (rest.NoContent, error) {
				return s.end(ctx, r.ID, callers.Me)
			},
		},
		rest.Op[byCookie, Session]{
			ID: "refreshCurrentSession", Route: "POST " + root + "/me/lifecycle/refresh", Tag: tag, Public: true,
			Summary: "Prolongs the session of the cookie", Do: func(ctx context.Context, r *byCookie) (Session, error) {
				return s.refresh(ctx, r.ID, callers.Me)
			},
		},
		rest.Op[clearRequest, rest.NoContent]{
			ID: "revokeUserSessions", Route: "DELETE /api/v1/users/{user}/sessions", Tag: "Users", Scopes: []string{"svc.users.manage"},
			Summary: "Ends all sessions of a user", Find: callers.FoundUser(s.Deps, (*clearRequest).at), Do: s.clear,
		},
	}
}

type createRequest struct {
	Body struct {
		Token string `json:"sessionToken" required:"true" writeOnly:"true" doc:"Session token of a complete sign-in. It can be used once."`
	} `body:"required"`
}

// byID identifies a session by its id.
type byID struct {
	ID string `path:"sessionId" doc:"Id of the session."`

	held sessionView
}

func (s *Slice) findByID(ctx context.Context, r *byID) (err error) {
	r.held, err = s.find(ctx, s.Store.Reader(), r.ID, r.ID)
	return err
}

// byCookie identifies a session by its cookie.
type byCookie struct {
	ID string `cookie:"sid" doc:"Id of the session."`
}

func (s *Slice) current(ctx context.Context, r *byCookie) (Session, error) {
	h, err := s.find(ctx, s.Store.Reader(), r.ID, callers.Me)
	if err != nil {
		return Session{}, err
	}
	return render(ctx, h), nil
}

type clearRequest struct {
	User   string `path:"user" doc:"Id, login, unambiguous part of the login before its @, or me."`
	Tokens bool   `query:"oauthTokens" default:"false" doc:"Also revokes the OAuth tokens of the user."`

	found docstore.Doc[model.User]
}

func (r *clearRequest) at() (string, *docstore.Doc[model.User]) { return r.User, &r.found }

func (s *Slice) clear(ctx context.Context, r *clearRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		user, err := callers.FindUser(ctx, s.Deps, tx, r.found.ID)
		if err != nil {
			return err
		}
		if _, err := s.EndSessions(ctx, tx, user.ID); err != nil {
			return err
		}
		if err := audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.UserSessionClear, Targets: []model.LogParty{audit.User(user)}}); err !=
			nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.SessionsCleared{User: user.ID, Tokens: r.Tokens})
	})
}
