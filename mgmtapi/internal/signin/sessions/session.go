package sessions

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Session is a session in JSON.
type Session struct {
	ID                       string     `json:"id" readOnly:"true" doc:"Id of the session, which is a secret."`
	Login                    string     `json:"login" readOnly:"true" doc:"Login of the user."`
	UserID                   string     `json:"userId" readOnly:"true" doc:"Id of the user."`
	CreatedAt                rest.Time  `json:"createdAt" readOnly:"true" doc:"Time at which the session was created."`
	ExpiresAt                rest.Time  `json:"expiresAt" readOnly:"true" doc:"Time at which the session expires."`
	Status                   string     `json:"status" readOnly:"true" enum:"ACTIVE,MFA_REQUIRED,MFA_ENROLL" doc:"Status."`
	LastPasswordVerification *rest.Time `json:"lastPasswordVerification" readOnly:"true" doc:"Time at which the password was last verified."`

	LastFactorVerification *rest.Time `json:"lastFactorVerification,omitempty" readOnly:"true" doc:"Time of the last factor verification."`

	AMR       []string   `json:"amr" readOnly:"true" doc:"Authentication methods of the sign-in (RFC 8176)."`
	IdP       IdP        `json:"idp" readOnly:"true" doc:"Identity provider that authenticated the user."`
	MFAActive bool       `json:"mfaActive" readOnly:"true" doc:"Whether the user has an active factor that the organization allows."`
	Links     rest.Links `json:"_links" readOnly:"true" doc:"Links."`
}

// IdP is the identity provider that authenticated the user.
type IdP struct {
	ID   string `json:"id" readOnly:"true" doc:"Id of the organization."`
	Type string `json:"type" readOnly:"true" enum:"SVC" doc:"Type."`
}

// active is the status of every session: a session is created only after the sign-in has verified all required factors.
const active = "ACTIVE"

// sessionView is a session with the related data that is shown.
type sessionView struct {
	id   string
	doc  docstore.Doc[model.Session]
	user docstore.Doc[model.User]
	org  model.Org
	// further reports whether the user has a complete factor that the organization allows; see hasFactor.
	further bool
}

// render returns the JSON form of a session.
func render(ctx context.Context, h sessionView) Session {
	session := h.doc.Value
	url := func(more ...string) string {
		return rest.URL(ctx, append([]string{"api", "v1", "sessions", h.id}, more...)...)
	}
	return Session{
		ID: h.id, Login: h.user.Value.Login(), UserID: h.user.ID, Status: active,
		CreatedAt: rest.TimeOf(h.doc.Created), ExpiresAt: rest.TimeOf(session.Expires),
		LastPasswordVerification: rest.TimePtr(session.PasswordVerified), LastFactorVerification: rest.TimePtr(session.FactorVerified),
		AMR:       session.Methods,
		MFAActive: h.further, IdP: IdP{ID: h.org.ID, Type: string(model.ProviderService)},
		Links: rest.Links{
			"self":    rest.To(url(), "GET", "DELETE"),
			"refresh": rest.To(url("lifecycle", "refresh"), "POST"),
			"user":    rest.To(rest.URL(ctx, "api", "v1", "users", h.user.ID), "GET"),
		},
	}
}

// find reads an unexpired session by its id. Error messages name the session by ref: the id from the path, or me for the session of the
// cookie.
func (s *Slice) find(ctx context.Context, q docstore.Reader, id, ref string) (h sessionView, err error) {
	h.id = id
	if h.doc, err = s.Sessions.Get(ctx, q, model.SecretHash(id)); err == nil {
		h.user, err = s.Users.Get(ctx, q, h.doc.Value.UserID)
	}
	if err != nil {
		return sessionView{}, rest.Missing(err, "Session", ref)
	}
	if !s.Now().Before(h.doc.Value.Expires) {
		return sessionView{}, rest.NotFound("Session", ref)
	}
	if h.org, err = s.Org(ctx, q); err == nil {
		h.further, err = s.hasFactor(ctx, q, h.user.ID)
	}
	return h, err
}

// hasFactor reports whether a user has a factor whose enrollment is complete and that the organization allows.
func (s *Slice) hasFactor(ctx context.Context, q docstore.Reader, user string) (has bool, err error) {
	complete := docstore.All(docstore.Eq(model.FactorByUser, user), docstore.Not(docstore.NotNull(model.FactorByPending)))
	err = model.Each(ctx, q, s.Factors, complete, func(doc docstore.Doc[model.Factor]) error {
		if has {
			return nil
		}
		allowed, err := model.Optional(ctx, q, s.OrgFactors, doc.Value.Org)
		has = err == nil && (allowed == nil || allowed.Value.Status == model.Active)
		return err
	})
	return has, err
}

// create creates a session from a complete sign-in. It also deletes the expired sessions of the user.
func (s *Slice) create(ctx context.Context, r *createRequest) (Session, error) {
	h := sessionView{id: model.NewSessionID()}
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		in, err := s.SignIns.Get(ctx, tx, model.SecretHash(r.Body.Token))
		if err == nil {
			h.user, err = s.Users.Get(ctx, tx, in.Value.UserID)
		}
		if err != nil && !errors.Is(err, docstore.ErrNotFound) {
			return err
		}
		now := s.Now()
		if err != nil || in.Value.Status != model.SignInSuccess || !now.Before(in.Value.Expires) || h.user.Value.Status != model.UserActive {
			return rest.Fail(rest.CodeSignIn)
		}
		if h.org, err = s.Org(ctx, tx); err != nil {
			return err
		}
		if err := s.SignIns.Delete(ctx, tx, in.ID); err != nil {
			return err
		}
		if err := s.forgetExpired(ctx, tx, h.user.ID); err != nil {
			return err
		}
		session := model.Session{
			UserID: h.user.ID, Expires: now.Add(Lifetime), PasswordVerified: in.Value.PasswordVerified, FactorVerified: in.Value.FactorVerified,
			Methods: in.Value.Methods,
		}
		if len(session.Methods) == 0 { // an earlier version stored the sign-in, without methods and times
			session.Methods, session.PasswordVerified = []string{"pwd"}, in.Created
		}
		if h.further, err = s.hasFactor(ctx, tx, h.user.ID); err != nil {
			return err
		}
		if h.doc, err = s.Sessions.Insert(ctx, tx, model.SecretHash(h.id), session); err != nil {
			return err
		}
		return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.UserSessionStart, Targets: []model.LogParty{audit.User(h.user)}})
	})
	if err != nil {
		return Session{}, err
	}
	return render(ctx, h), nil
}

func (s *Slice) forgetExpired(ctx context.Context, tx *docstore.Tx, user string) error {
	now := s.Now()
	return model.Each(ctx, tx, s.Sessions, docstore.Eq(model.SessionByUser, user), func(old docstore.Doc[model.Session]) error {
		if now.Before(old.Value.Expires) {
			return nil
		}
		return s.Sessions.Delete(ctx, tx, old.ID)
	})
}

// refresh prolongs a session.
func (s *Slice) refresh(ctx context.Context, id, ref string) (Session, error) {
	var h sessionView
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if h, err = s.find(ctx, tx, id, ref); err != nil {
			return err
		}
		session := h.doc.Value
		session.Expires = s.Now().Add(Lifetime)
		h.doc, err = s.Sessions.Update(ctx, tx, h.doc.ID, h.doc.Rev, session)
		return err
	})
	if err != nil {
		return Session{}, err
	}
	return render(ctx, h), nil
}

// end ends a session. Without an authenticated caller, the cookie identifies the user as the actor.
func (s *Slice) end(ctx context.Context, id, ref string) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		h, err := s.find(ctx, tx, id, ref)
		if err != nil {
			return err
		}
		if err := s.Sessions.Delete(ctx, tx, h.doc.ID); err != nil {
			return err
		}
		user := audit.User(h.user)
		entry := audit.Entry{Type: audit.UserSessionEnd, Targets: []model.LogParty{user}}
		if rest.Caller(ctx).UserID == "" {
			entry.Actor = &user
		}
		return audit.Write(ctx, tx, s.Deps, entry)
	})
}
