package users

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// transition is a change of status that clients can request.
type transition struct {
	verb    string
	event   audit.Type
	summary string
	from    []model.UserStatus
	refusal rest.Code // error code for users in other statuses
	// password reports whether users without a password are rejected, too.
	password bool
	to       func(*model.User) model.UserStatus
}

func always(status model.UserStatus) func(*model.User) model.UserStatus {
	return func(*model.User) model.UserStatus { return status }
}

var (
	activate = transition{
		verb: "activate", event: audit.UserActivate, summary: "Activates a user", refusal: rest.CodeAlreadyActive,
		to:   always(model.UserActive), // or PROVISIONED, see activeStatus
		from: []model.UserStatus{model.UserStaged, model.UserDeprovisioned},
	}
	reactivate = transition{
		verb: "reactivate", event: audit.UserReactivate, summary: "Restarts the activation of a user", refusal: rest.CodeStatus,
		to:   always(model.UserProvisioned),
		from: []model.UserStatus{model.UserProvisioned, model.UserRecovery},
	}
	suspend = transition{
		verb: "suspend", event: audit.UserSuspend, summary: "Suspends a user", refusal: rest.CodeValidation, to: always(model.UserSuspended),
		from: []model.UserStatus{model.UserActive},
	}
	unsuspend = transition{
		verb: "unsuspend", event: audit.UserUnsuspend, summary: "Ends the suspension of a user", refusal: rest.CodeValidation,
		to:   always(model.UserActive),
		from: []model.UserStatus{model.UserSuspended},
	}
	resetPassword = transition{
		verb: "reset_password", event: audit.UserResetPassword, summary: "Makes a user choose a new password", refusal: rest.CodeStatus,
		to:   always(model.UserRecovery),
		from: []model.UserStatus{model.UserActive, model.UserProvisioned, model.UserRecovery, model.UserPasswordExpired, model.UserLockedOut},
	}
	expirePassword = transition{
		verb: "expire_password", event: audit.UserExpirePassword, summary: "Makes a user change the password at the next sign-in",
		refusal: rest.CodeStatus, to: always(model.UserPasswordExpired),
		from: []model.UserStatus{model.UserActive, model.UserPasswordExpired, model.UserRecovery, model.UserLockedOut}, password: true,
	}
	unlock = transition{
		verb: "unlock", event: audit.UserUnlock, summary: "Unlocks a user", refusal: rest.CodeUnlock, to: (*model.User).Unlocked,
		from: []model.UserStatus{model.UserLockedOut},
	}
	deactivate = transition{
		verb: "deactivate", event: audit.UserDeactivate, summary: "Deactivates a user", refusal: rest.CodeStatus,
		to:   always(model.UserDeprovisioned),
		from: slices.DeleteFunc(model.UserStatuses(), func(s model.UserStatus) bool { return s == model.UserDeprovisioned }),
	}
)

// check returns an error for a user in a status that the transition does not start from.
func (t transition) check(u *model.User) error {
	switch {
	case slices.Contains(t.from, u.Status) && (u.HasPassword() || !t.password):
		return nil
	case t.refusal == rest.CodeValidation:
		return rest.Failf(t.refusal, "Cannot %s a user in the status %s.", t.verb, u.Status)
	default:
		return rest.Fail(t.refusal)
	}
}

type activateRequest struct {
	target
	SendEmail bool `query:"sendEmail" default:"true" doc:"Whether to email the activation token to the user; if false, returns it."`
}

type reactivateRequest struct {
	target
	SendEmail bool `query:"sendEmail" default:"false" doc:"Whether to email the activation token to the user; if false, returns it."`
}

type deactivateRequest struct {
	target
	SendEmail bool   `query:"sendEmail" default:"false" doc:"Whether to email the requesting administrator after the deactivation."`
	Prefer    string `header:"Prefer" doc:"respond-async: The response is sent before the change is performed."`
}

type suspendRequest struct{ target }

// Activation is the response to an activation: an empty object, or the token.
type Activation struct {
	URL   string `json:"activationUrl,omitempty" doc:"URL at which the user continues."`
	Token string `json:"activationToken,omitempty" doc:"One-time token, valid for seven days. Not usable if the user is already ACTIVE."`
}

// Activation tokens.
const (
	activationToken    = 20 // characters
	activationLifetime = 7 * 24 * time.Hour
)

// route returns the route of the operation for the transition.
func (t transition) route() string { return "POST /api/v1/users/{user}/lifecycle/" + t.verb }

func (s *Slice) lifecycle() []rest.Route {
	return []rest.Route{
		rest.Op[activateRequest, Activation]{
			ID: "activateUser", Route: activate.route(), Tag: tag, Scopes: writeScope, Summary: activate.summary,
			Find: callers.FoundUser(s.Deps, (*activateRequest).at),
			Do: func(ctx context.Context, r *activateRequest) (Activation, error) {
				return s.startActivation(ctx, &r.target, activate, r.SendEmail)
			},
		},
		rest.Op[reactivateRequest, Activation]{
			ID: "reactivateUser", Route: reactivate.route(), Tag: tag, Scopes: writeScope, Summary: reactivate.summary,
			Find: callers.FoundUser(s.Deps, (*reactivateRequest).at),
			Do: func(ctx context.Context, r *reactivateRequest) (Activation, error) {
				return s.startActivation(ctx, &r.target, reactivate, r.SendEmail)
			},
		},
		rest.Op[deactivateRequest, rest.Empty]{
			ID: "deactivateUser", Route: deactivate.route(), Tag: tag, Scopes: writeScope, Summary: deactivate.summary,
			Find: callers.FoundUser(s.Deps, (*deactivateRequest).at),
			Do: func(ctx context.Context, r *deactivateRequest) (rest.Empty, error) {
				return rest.Empty{}, s.change(ctx, &r.target, r.Prefer,
					func(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], async bool) error {
						return s.deactivate(ctx, tx, doc, async, r.SendEmail)
					})
			},
		},
		s.resetPassword(), s.expirePassword(), s.expireWithTemporary(), s.unlock(), s.blocks(),
		s.suspension("suspendUser", suspend.route(), suspend),
		s.suspension("unsuspendUser", unsuspend.route(), unsuspend),
	}
}

func (s *Slice) suspension(id, route string, t transition) rest.Route {
	return rest.Op[suspendRequest, rest.Empty]{
		ID: id, Route: route, Tag: tag, Scopes: writeScope, Summary: t.summary,
		Find: callers.FoundUser(s.Deps, (*suspendRequest).at),
		Do: func(ctx context.Context, r *suspendRequest) (rest.Empty, error) {
			return rest.Empty{}, s.Update(ctx, func(tx *docstore.Tx) error {
				if t.verb == suspend.verb {
					if err := s.keepAdministrator(ctx, tx, r.found.ID); err != nil {
						return err
					}
				}
				doc, err := s.enter(ctx, tx, &r.target, t, nil)
				if err != nil || t.verb != suspend.verb {
					return err
				}
				return s.endSessions(ctx, tx, doc)
			})
		},
	}
}

// enter reads the user again and runs a transition. The function adjust makes further changes to the user before the user is stored; it may
// be nil.
func (s *Slice) enter(
	ctx context.Context, tx *docstore.Tx, at *target, t transition, adjust func(before model.UserStatus, u *model.User),
) (docstore.Doc[model.User], error) {
	doc, err := s.rereadIdle(ctx, tx, at)
	if err != nil {
		return doc, err
	}
	return s.move(ctx, tx, doc, t, nil, adjust)
}

// move runs a transition of a user that was already read. by is the actor, nil for the caller. adjust is as for enter.
func (s *Slice) move(
	ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], t transition, by *model.LogParty,
	adjust func(before model.UserStatus, u *model.User),
) (docstore.Doc[model.User], error) {
	user := doc.Value
	if err := t.check(&user); err != nil {
		return doc, err
	}
	before := user.Status
	user.Enter(t.to(&user), s.Now())
	if adjust != nil {
		adjust(before, &user)
	}
	doc, err := s.Users.Update(ctx, tx, doc.ID, doc.Rev, user)
	if err != nil {
		return doc, err
	}
	if err := audit.Write(ctx, tx, s.Deps, audit.Entry{Type: t.event, Targets: []model.LogParty{audit.User(doc)}, Actor: by}); err != nil {
		return doc, err
	}
	return doc, s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
}

// issueActivation creates a token with which a user chooses the first password, and its URL.
func (s *Slice) issueActivation(ctx context.Context) (Activation, *model.OneTimeToken) {
	token := model.NewSecret(activationToken)
	issued := &model.OneTimeToken{Hash: model.SecretHash(token), Expires: s.Now().Add(activationLifetime)}
	return Activation{Token: token, URL: rest.URL(ctx, "welcome", token)}, issued
}

// startActivation activates or reactivates a user. It sends the token to the user, or returns it to the client. While work is held, it
// queues an activation.
func (s *Slice) startActivation(ctx context.Context, at *target, t transition, send bool) (Activation, error) {
	out, issued := s.issueActivation(ctx)
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.rereadIdle(ctx, tx, at)
		if err != nil {
			return err
		}
		if t.verb == activate.verb {
			held, err := s.held(ctx, tx)
			if err != nil {
				return err
			}
			if held {
				return s.queueActivation(ctx, tx, doc, issued, send)
			}
		}
		return s.activated(ctx, tx, doc, t, nil, out, issued, send)
	})
	if err != nil || send {
		return Activation{}, err
	}
	return out, nil
}

// held reports whether asynchronous work is on hold until it is released.
func (s *Slice) held(ctx context.Context, tx *docstore.Tx) (bool, error) {
	org, err := s.Org(ctx, tx)
	return org.HoldWork, err
}

func (s *Slice) queueActivation(
	ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], issued *model.OneTimeToken, send bool,
) error {
	if err := activate.check(&doc.Value); err != nil {
		return err
	}
	how := model.Transition{Activate: true, Notify: send, Base: rest.URL(ctx), By: audit.Caller(ctx)}
	if !send {
		how.Token = issued
	}
	enroll, err := s.PasswordEnrollment(ctx, tx)
	if err != nil {
		return err
	}
	return s.queue(ctx, tx, doc, activeStatus(&doc.Value, enroll), how)
}

// activateQueued performs a queued activation. It uses the token that the client has received, or else a new one.
func (s *Slice) activateQueued(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], waiting model.Transition) error {
	out, issued := s.issueActivation(ctx)
	if waiting.Token != nil {
		issued = waiting.Token
	}
	return s.activated(ctx, tx, doc, activate, &waiting.By, out, issued, waiting.Notify)
}

// activated activates or reactivates a user that was read. by is the actor, nil for the caller.
func (s *Slice) activated(
	ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], t transition, by *model.LogParty,
	out Activation, issued *model.OneTimeToken, send bool,
) error {
	enroll, err := s.PasswordEnrollment(ctx, tx)
	if err != nil {
		return err
	}
	if t.verb == activate.verb {
		t.to = func(u *model.User) model.UserStatus { return activeStatus(u, enroll) }
	}
	returning := false
	doc, err = s.move(ctx, tx, doc, t, by, func(before model.UserStatus, u *model.User) {
		returning = before == model.UserDeprovisioned
		u.Activation, u.Reset = nil, nil
		if u.Status == model.UserProvisioned {
			u.Activation = issued
		}
		if t.verb == activate.verb {
			u.Activated = s.Now()
		}
	})
	if err == nil && send {
		err = s.mailActivation(ctx, tx, doc, out)
	}
	if err != nil || t.verb != activate.verb {
		return err
	}
	org, err := s.Org(ctx, tx)
	if err != nil {
		return err
	}
	if err := s.Join(ctx, tx, org.Everyone, doc.ID); err != nil {
		return err
	}
	return s.Feed.Emit(ctx, tx, model.UserActivated{ID: doc.ID, Returning: returning})
}

// change runs a change of a user. The change is asynchronous if the client prefers that, or while work is held.
func (s *Slice) change(ctx context.Context, at *target, prefer string,
	change func(context.Context, *docstore.Tx, docstore.Doc[model.User], bool) error) error {
	async := prefersAsync(prefer)
	return s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.rereadIdle(ctx, tx, at)
		if err != nil {
			return err
		}
		held, err := s.held(ctx, tx)
		if err != nil {
			return err
		}
		return change(ctx, tx, doc, async || held)
	})
}

// deactivate deactivates a user, or queues the deactivation. If send is set, the calling administrator receives an email after the
// deactivation.
func (s *Slice) deactivate(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], async, send bool) error {
	how := model.Transition{Notify: send, By: audit.Caller(ctx)}
	if !async {
		return s.deactivated(ctx, tx, doc, how)
	}
	if err := s.keepAdministrator(ctx, tx, doc.ID); err != nil {
		return err
	}
	if err := deactivate.check(&doc.Value); err != nil {
		return err
	}
	return s.queue(ctx, tx, doc, model.UserDeprovisioned, how)
}

// deactivated deactivates a user and ends the user's sessions and memberships. Event handlers delete roles, API tokens, refresh tokens and
// app assignments.
func (s *Slice) deactivated(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], how model.Transition) error {
	if err := s.keepAdministrator(ctx, tx, doc.ID); err != nil {
		return err
	}
	doc, err := s.move(ctx, tx, doc, deactivate, &how.By, func(_ model.UserStatus, u *model.User) { u.Activation, u.Reset = nil, nil })
	if err != nil {
		return err
	}
	if how.Notify {
		if err := s.mailDeactivated(ctx, tx, doc, how.By.ID); err != nil {
			return err
		}
	}
	if err := s.endSessions(ctx, tx, doc); err != nil {
		return err
	}
	if err := s.LeaveAll(ctx, tx, doc.ID); err != nil {
		return err
	}
	return s.Feed.Emit(ctx, tx, model.UserDeactivated{ID: doc.ID})
}

// endSessions ends the sessions of a user as part of another change. It writes a log entry if any were active.
func (s *Slice) endSessions(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User]) error {
	live, err := s.EndSessions(ctx, tx, user.ID)
	if err != nil || live == 0 {
		return err
	}
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.UserSessionClear, Targets: []model.LogParty{audit.User(user)}})
}

// keepAdministrator rejects changes that would leave no working administrator: the configured token belongs to the built-in administrator,
// and at least one super administrator must remain to grant roles. Both require that their users are ACTIVE.
func (s *Slice) keepAdministrator(ctx context.Context, tx *docstore.Tx, id string) error {
	org, err := s.Org(ctx, tx)
	if err != nil {
		return err
	}
	if id == org.Administrator {
		return rest.Failf(rest.CodeValidation, "The built-in administrator must stay ACTIVE.")
	}
	last, err := authz.LastSuperAdmin(ctx, tx, s.Deps, id)
	if err == nil && last {
		err = rest.Failf(rest.CodeValidation, "The last super administrator must stay ACTIVE.")
	}
	return err
}

type deleteRequest struct {
	target
	SendEmail bool   `query:"sendEmail" default:"false" doc:"Whether to email the requesting administrator after a deactivation."`
	Prefer    string `header:"Prefer" doc:"respond-async: The response is sent before the change is performed."`
}

func (s *Slice) delete(ctx context.Context, r *deleteRequest) (rest.NoContent, error) {
	err := s.change(ctx, &r.target, r.Prefer, func(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], async bool) error {
		if doc.Value.Status != model.UserDeprovisioned {
			return s.deactivate(ctx, tx, doc, async, r.SendEmail)
		}
		entry := audit.Entry{Type: audit.UserDeleteInitiated, Targets: []model.LogParty{audit.User(doc)}}
		if err := audit.Write(ctx, tx, s.Deps, entry); err != nil {
			return err
		}
		if async {
			return s.queue(ctx, tx, doc, model.UserDeprovisioned, model.Transition{Delete: true, By: audit.Caller(ctx)})
		}
		return s.remove(ctx, tx, doc, nil)
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps,
		audit.Entry{Type: audit.UserDeactivate, Targets: []model.LogParty{audit.User(r.found)}},
		err)
}

// remove deletes a DEPROVISIONED user. by is the actor, nil for the caller.
func (s *Slice) remove(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], by *model.LogParty) error {
	if _, err := s.EndSessions(ctx, tx, doc.ID); err != nil {
		return err
	}
	if err := s.Users.Delete(ctx, tx, doc.ID); err != nil {
		return err
	}
	if err := s.Attempts.Delete(ctx, tx, doc.ID); err != nil && !errors.Is(err, docstore.ErrNotFound) {
		return err
	}
	if err := s.Feed.Emit(ctx, tx, model.UserDeleted{ID: doc.ID}); err != nil {
		return err
	}
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.UserDeleteCompleted, Targets: []model.LogParty{audit.User(doc)}, Actor: by})
}
