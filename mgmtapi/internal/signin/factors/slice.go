package factors

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

// Options configure the slice.
type Options struct {
	// Secrets encrypts keys and the hashes of codes and answers.
	Secrets seal.Secrets
	// HashCost is the bcrypt cost of answers. Default: bcrypt.DefaultCost.
	HashCost int
	// Outbox receives the messages. Default: none; factors that send codes can then neither be enrolled nor verified.
	Outbox *outbox.Box
	// AnswerReplays makes a verification return a result instead of an error for a reused passcode or a passcode for another time.
	AnswerReplays bool
	// RelaxedFIDO accepts data of security keys if its client data has the challenge, without checking signature or origin.
	RelaxedFIDO bool
	// BaseURL is the public base URL of the API, to which security keys are bound. Default: that of the request, which must be a loopback
	// host.
	BaseURL string
	// Telephony delivers text messages and calls before the outbox is used. Default: none.
	Telephony Telephony
	// Logger receives errors that cannot be written to the system log. Default: none.
	Logger *slog.Logger
}

// Slice serves the factors of users.
type Slice struct {
	model.Deps
	secrets       seal.Secrets
	hasher        password.Hasher
	outbox        *outbox.Box
	answerReplays bool
	relaxedFIDO   bool
	baseURL       string
	telephony     Telephony
	logger        *slog.Logger
	kinds         []*kind
}

// New returns the slice and registers its event handler.
func New(d model.Deps, o Options) *Slice {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Slice{
		Deps: d, secrets: o.Secrets, hasher: password.Hasher{Cost: o.HashCost}, outbox: o.Outbox, answerReplays: o.AnswerReplays,
		relaxedFIDO: o.RelaxedFIDO, baseURL: o.BaseURL, telephony: o.Telephony, logger: o.Logger, kinds: kinds(),
	}
	model.On(d.Feed, s.forget)
	return s
}

const (
	tag  = "Factors"
	root = "/api/v1/users/{user}/factors"
	one  = root + "/{factorId}"
	name = "UserFactor" // name in errors
)

var (
	readScope  = []string{"svc.users.read"}
	writeScope = []string{"svc.users.manage"}
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	routes := []rest.Route{
		rest.Op[enrollRequest, Factor]{
			ID: "enrollFactor", Route: "POST " + root, Tag: tag, Scopes: writeScope,
			Summary: "Enrolls a factor", Find: lookup.In(s.Store, s.findOwner, (*enrollRequest).self), Do: s.enroll,
		},
		rest.Op[target, Factor]{
			ID: "getFactor", Route: "GET " + one, Tag: tag, Scopes: readScope,
			Summary: "Reads a factor", Find: lookup.In(s.Store, s.find, (*target).self), Do: s.get,
		},
		rest.Op[activateRequest, FactorOrActivation]{
			ID: "activateFactor", Route: "POST " + one + "/lifecycle/activate", Tag: tag, Scopes: writeScope,
			Summary: "Completes the enrollment of a factor", Find: lookup.In(s.Store, s.find, (*activateRequest).self), Do: s.activate,
		},
		rest.Op[activateRequest, FactorOrActivation]{
			ID: "pollFactorActivation", Route: "POST " + one + "/lifecycle/activate/poll", Tag: tag, Scopes: writeScope,
			Summary: "Polls the state of an enrollment that is completed on another device",
			Find:    lookup.In(s.Store, s.find, (*activateRequest).self), Do: s.pollActivation,
		},
		rest.Op[verifyRequest, Verification]{
			ID: "verifyFactor", Route: "POST " + one + "/verify", Tag: tag, Scopes: writeScope, Also: http.StatusCreated,
			Summary: "Verifies a factor, or starts the verification",
			Description: "Without a proof, the request starts a verification if the factor needs a challenge: it sends a code or returns data " +
				"to sign.",
			Find: lookup.In(s.Store, s.find, (*verifyRequest).self), Do: s.verify,
		},
		rest.Op[owner, rest.Page[Factor]]{
			ID: "listFactors", Route: "GET " + root, Tag: tag, Scopes: readScope,
			Summary: "Lists the factors of a user that are active or can be activated", Find: lookup.In(s.Store, s.findOwner, (*owner).self),
			Do: s.list,
		},
		rest.Op[owner, rest.Page[CatalogFactor]]{
			ID: "listSupportedFactors", Route: "GET " + root + "/catalog", Tag: tag, Scopes: readScope,
			Summary: "Lists the types of factors that a user can enroll", Find: lookup.In(s.Store, s.findOwner, (*owner).self), Do: s.catalog,
		},
		rest.Op[owner, rest.Page[SecurityQuestion]]{
			ID: "listSupportedSecurityQuestions", Route: "GET " + root + "/questions", Tag: tag, Scopes: readScope,
			Summary: "Lists the security questions that a user can choose",
			Find:    lookup.In(s.Store, s.findOwner, (*owner).self), Do: s.questions,
		},
		rest.Op[updateRequest, Factor]{
			ID: "replaceFactor", Route: "PUT " + one, Tag: tag, Scopes: writeScope,
			Summary: "Replaces the question and the answer of a security question",
			Find:    lookup.In(s.Store, s.find, (*updateRequest).self), Do: s.update,
		},
		rest.Op[removeRequest, rest.NoContent]{
			ID: "unenrollFactor", Route: "DELETE " + one, Tag: tag, Scopes: writeScope,
			Summary: "Unenrolls a factor of a user", Find: lookup.In(s.Store, s.find, (*removeRequest).self), Do: s.unenroll,
		},
		rest.Op[resendRequest, Factor]{
			ID: "resendEnrollFactor", Route: "POST " + one + "/resend", Tag: tag, Scopes: writeScope,
			Summary: "Resends the code of an enrollment", Find: lookup.In(s.Store, s.find, (*resendRequest).self), Do: s.resend,
		},
		rest.Op[qrRequest, rest.PNG]{
			ID: "getFactorQRCode", Route: "GET " + one + "/qr/{token}", Tag: tag, Public: true,
			Summary: "Shows the QR code of an enrollment", Find: s.findQR, Do: s.qr,
		},
		rest.Op[transactionRequest, Verification]{
			ID: "getFactorTransactionStatus", Route: "GET " + one + "/transactions/{transactionId}", Tag: tag, Scopes: readScope,
			Summary: "Polls the result of a verification that is completed on another device",
			Find:    lookup.In(s.Store, s.findTransaction, (*transactionRequest).self), Do: s.poll,
		},
		rest.Op[transactionRequest, Verification]{
			ID: "cancelFactorTransaction", Route: "DELETE " + one + "/transactions/{transactionId}", Tag: tag, Scopes: writeScope,
			Status: http.StatusOK, Summary: "Cancels a verification that is pending on another device",
			Find: lookup.In(s.Store, s.findTransaction, (*transactionRequest).self), Do: s.cancel,
		},
		s.resetRoute(),
	}
	routes = append(append(routes, s.orgRoutes()...), s.pushRoutes()...)
	if s.outbox != nil { // only a sandbox has an outbox, and only a sandbox simulates devices
		routes = append(routes, s.deviceRoutes()...)
	}
	return routes
}

// owner is the user in a path.
type owner struct {
	User string `path:"user" doc:"Id, login, unambiguous part of the login before its @, or me."`

	user docstore.Doc[model.User]
}

func (t *owner) self() *owner { return t }

func (s *Slice) findOwner(ctx context.Context, q docstore.Reader, o *owner) error {
	return s.findOwnerIn(ctx, q, o, o.User)
}

func (s *Slice) findOwnerIn(ctx context.Context, q docstore.Reader, o *owner, ref string) (err error) {
	o.user, err = callers.FindUser(ctx, s.Deps, q, ref)
	return err
}

// target is the factor in a path.
type target struct {
	owner
	Factor string `path:"factorId" doc:"Id of the factor."`

	found docstore.Doc[model.Factor]
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) error {
	return s.findIn(ctx, q, t, t.User)
}

func (s *Slice) findIn(ctx context.Context, q docstore.Reader, t *target, ref string) (err error) {
	if err := s.findOwnerIn(ctx, q, &t.owner, ref); err != nil {
		return err
	}
	t.found, err = s.Factors.Get(ctx, q, t.Factor)
	if err == nil && t.found.Value.User != t.user.ID { // the factor belongs to another user
		return rest.NotFound(name, t.Factor)
	}
	return rest.Missing(err, name, t.Factor)
}

// actOn returns an act, an operation on a factor, for the factor that the path names.
func (s *Slice) actOn(t *target) *act {
	f := t.found.Value
	return &act{
		Slice: s, kind: s.kindOf(f.Type, f.Provider), now: s.Now(), user: t.user,
		id: t.found.ID, factor: f, rev: t.found.Rev, query: defaultQuery,
	}
}

// reload reads the user and the factor again in the transaction.
func (a *act) reload(ctx context.Context, tx *docstore.Tx, t *target) error {
	if err := a.findIn(ctx, tx, t, t.user.ID); err != nil {
		return err
	}
	a.tx, a.user, a.factor, a.rev = tx, t.user, t.found.Value, t.found.Rev
	return nil
}

// statusOf returns the status to show, which depends on the stored status, the time and the organization.
func (s *Slice) statusOf(ctx context.Context, q docstore.Reader, f *model.Factor) (model.FactorStatus, error) {
	if f.Status == model.FactorPending && s.Now().Sub(f.Enrolled) >= model.FactorPendingLife {
		return model.FactorExpired, nil
	}
	allowed, err := s.allowed(ctx, q, f.Org)
	if err == nil && !allowed && f.Status != model.FactorPending {
		return model.FactorInactive, nil
	}
	return f.Status, err
}

// allowed reports whether the organization allows a kind.
func (s *Slice) allowed(ctx context.Context, q docstore.Reader, org string) (bool, error) {
	doc, err := model.Optional(ctx, q, s.OrgFactors, org)
	return doc == nil || doc.Value.Status == model.Active, err
}

// mayUse returns an error if the status of the user does not allow to use or change factors.
func mayUse(u *model.User) error {
	switch u.Status {
	case model.UserDeprovisioned:
		return rest.Fail(rest.CodeStatus)
	case model.UserLockedOut:
		return rest.Fail(rest.CodeFactorLocked)
	}
	return nil
}
