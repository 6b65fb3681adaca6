package factors

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// manageSandbox is the scope of the operations on sandbox devices.
const manageSandbox = "svc.sandbox.manage"

// deviceRoutes lists the operations of the simulated phones, browsers and security keys of a sandbox. They complete push, web and FIDO
// factors.
func (s *Slice) deviceRoutes() []rest.Route {
	scope := []string{manageSandbox}
	return []rest.Route{
		rest.Op[deviceRequest, rest.NoContent]{
			ID: "completePushActivation", Route: "POST /sandbox/v1/push/{factorId}/device", Tag: "Sandbox", Scopes: scope,
			Summary: "Complete the enrollment of a push factor in place of the phone", Find: s.findDevice, Do: s.completePush,
		},
		rest.Op[answerRequest, rest.NoContent]{
			ID: "answerPushTransaction", Route: "POST /sandbox/v1/push/transactions/{transactionId}", Tag: "Sandbox", Scopes: scope,
			Summary: "Approve or reject a push verification in place of the user", Find: s.findAnswered, Do: s.answerPush,
		},
		rest.Op[webRequest, rest.NoContent]{
			ID: "completeWebFactor", Route: "POST /sandbox/v1/web/{factorId}/complete", Tag: "Sandbox", Scopes: scope,
			Summary: "Complete the enrollment or verification of a web factor in place of the vendor's page", Find: s.findWeb, Do: s.completeWeb,
		},
		rest.Op[deviceTarget, KeyProof]{
			ID: "attestSecurityKey", Route: "POST /sandbox/v1/fido/{factorId}/attest", Tag: "Sandbox", Scopes: scope,
			Summary:     "Answer the enrollment of a u2f or webauthn factor with a software security key",
			Description: "Send the response as the body of lifecycle/activate of the factor. The factor has one software key, which all calls use.",
			Find:        s.findKey, Do: s.attestKey,
		},
		rest.Op[deviceTarget, KeyProof]{
			ID: "assertSecurityKey", Route: "POST /sandbox/v1/fido/{factorId}/assert", Tag: "Sandbox", Scopes: scope,
			Summary: "Answer the challenge of a u2f or webauthn factor with its software security key",
			Description: "A request to verify of the factor without a body starts the verification. Then call this operation, and send its " +
				"response as the body of a second request to verify.",
			Find: s.findKey, Do: s.assertKey,
		},
	}
}

// deviceTarget is a factor in a path of the sandbox API, which does not name its user.
type deviceTarget struct {
	Factor string `path:"factorId" doc:"Id of the factor."`
}

// actOnDevice returns an act, an operation on a factor, for the factor with the id. If the factor has none of the given types, actOnDevice
// returns a not-found error.
func (s *Slice) actOnDevice(ctx context.Context, tx *docstore.Tx, id string, types ...model.FactorType) (*act, error) {
	found, err := s.findElsewhere(ctx, tx, id, types...)
	if err != nil {
		return nil, err
	}
	of := target{found: found}
	if of.user, err = s.Users.Get(ctx, tx, found.Value.User); err != nil {
		return nil, err
	}
	a := s.actOn(&of)
	a.tx = tx
	return a, nil
}

func (s *Slice) findElsewhere(
	ctx context.Context, q docstore.Reader, id string, types ...model.FactorType,
) (docstore.Doc[model.Factor], error) {
	doc, err := s.Factors.Get(ctx, q, id)
	if err == nil && !slices.Contains(types, doc.Value.Type) {
		return doc, rest.NotFound(name, id)
	}
	return doc, rest.Missing(err, name, id)
}

type deviceRequest struct {
	deviceTarget
	Body *struct {
		Name     string `json:"name" max:"100" doc:"name of the phone; default: Phone"`
		Platform string `json:"platform" max:"100" doc:"operating system of the phone; default: ANDROID"`
		Type     string `json:"deviceType" max:"100" doc:"type of the device; default: SmartPhone_Android"`
		Version  string `json:"version" max:"100" doc:"version of the operating system; default: 15"`
	} `body:"optional"`
}

func (s *Slice) findDevice(ctx context.Context, r *deviceRequest) error {
	_, err := s.findElsewhere(ctx, s.Store.Reader(), r.Factor, model.FactorPush)
	return err
}

// profile returns the profile of a push factor on this phone.
func (r *deviceRequest) profile(login string) map[string]string {
	p := map[string]string{"credentialId": login, "name": "Phone", "platform": "ANDROID", "deviceType": "SmartPhone_Android", "version": "15"}
	if b := r.Body; b != nil {
		for member, given := range map[string]string{"name": b.Name, "platform": b.Platform, "deviceType": b.Type, "version": b.Version} {
			p[member] = cmp.Or(given, p[member])
		}
	}
	return p
}

// completePush completes a pending push enrollment and the enrollment of the TOTP factor of the app.
func (s *Slice) completePush(ctx context.Context, r *deviceRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		a, err := s.actOnDevice(ctx, tx, r.Factor, model.FactorPush)
		if err != nil {
			return err
		}
		if a.factor.Status != model.FactorPending {
			return rest.Failf(rest.CodeState, "The factor is %s.", a.factor.Status)
		}
		if err := a.mayActivate(ctx); err != nil {
			return err
		}
		var state pushState
		if err := a.open(&state); err != nil {
			return err
		}
		if !a.now.Before(state.Expires) {
			return rest.Failf(rest.CodeState, "The enrollment can no longer be completed by a phone.")
		}
		a.factor.Profile, state.QR = r.profile(a.user.Value.Login()), ""
		if err := a.seal(state); err != nil {
			return err
		}
		if err := a.complete(ctx); err != nil {
			return err
		}
		return a.completeTOTP(ctx, &state)
	})
}

// completeTOTP completes the enrollment of the TOTP factor of the app, which now has the secret. If the factor can no longer be completed,
// or the organization has deactivated its type, completeTOTP does not modify the factor.
func (a *act) completeTOTP(ctx context.Context, state *pushState) error {
	if state.TOTP == "" {
		return nil
	}
	doc, err := model.Optional(ctx, a.tx, a.Factors, state.TOTP)
	if err != nil || doc == nil || doc.Value.Status != model.FactorPending {
		return err
	}
	second := a.forFactor(*doc)
	err = second.mayActivate(ctx)
	if _, refused := errors.AsType[*rest.Error](err); refused {
		return nil
	}
	if err != nil {
		return err
	}
	return second.complete(ctx)
}

type answerRequest struct {
	Transaction string `path:"transactionId" doc:"Id of the transaction."`
	Body        struct {
		Result string `json:"result" required:"true" enum:"APPROVE,REJECT" doc:"decision of the user"`
	} `body:"required"`
}

func (s *Slice) findAnswered(ctx context.Context, r *answerRequest) error {
	_, _, err := s.answered(ctx, s.Store.Reader(), r)
	return err
}

// answered returns the transaction of the request and its push factor.
func (s *Slice) answered(ctx context.Context, q docstore.Reader, r *answerRequest) (t docstore.Doc[model.FactorTransaction],
	f docstore.Doc[model.Factor], err error) {
	if t, err = s.FactorTransactions.Get(ctx, q, r.Transaction); err == nil {
		f, err = s.Factors.Get(ctx, q, t.Value.Factor)
	}
	if err == nil && f.Value.Type != model.FactorPush {
		return t, f, rest.NotFound(nameTransaction, r.Transaction)
	}
	return t, f, rest.Missing(err, nameTransaction, r.Transaction)
}

func (s *Slice) answerPush(ctx context.Context, r *answerRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		t, f, err := s.answered(ctx, tx, r)
		if err != nil {
			return err
		}
		a, err := s.actOnDevice(ctx, tx, f.ID, model.FactorPush)
		if err != nil {
			return err
		}
		result := model.FactorRejected
		if r.Body.Result == "APPROVE" {
			result = model.FactorSuccess
		}
		return a.answer(ctx, t, result)
	})
}

// failures are the unsuccessful results, with their reasons in the system log.
var failures = map[model.FactorResult]string{
	model.FactorRejected: "The user rejected the verification",
	model.FactorFailed:   "The verification failed",
}

// answer completes a pending transaction.
func (a *act) answer(ctx context.Context, t docstore.Doc[model.FactorTransaction], result model.FactorResult) error {
	if err := a.mayVerify(ctx, a.tx); err != nil {
		return err
	}
	if now := t.Value.ResultAt(a.now); now != model.FactorWaiting {
		return rest.Failf(rest.CodeState, "The transaction is complete: %s.", now)
	}
	t.Value.Result = result
	if _, err := a.FactorTransactions.Update(ctx, a.tx, t.ID, t.Rev, t.Value); err != nil {
		return err
	}
	return a.log(ctx, audit.FactorVerify, failures[result])
}
