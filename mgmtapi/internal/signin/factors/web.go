package factors

import (
	"cmp"
	"context"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// webHost is the host of the vendor's page. The host does not exist: the sandbox performs the function of the page, see completeWeb.
const webHost = "vendor-a.example.com"

// web returns the kind of factor for VENDOR_A, whose page in a frame verifies the user.
func web() *kind {
	return &kind{
		Type: model.FactorWeb, Provider: model.FactorProviderA, Prefix: "dsf", Org: "vendor_a",
		OutOfBand: true, Enroll: enrollWeb, Pending: pendingWeb, Activate: activateWeb, Challenge: challengeWeb,
	}
}

// webState is the encrypted state of a web factor.
type webState struct {
	// Signature is the signature of the request until the enrollment is complete.
	Signature string `json:"signature,omitempty"`
	// Failed reports whether the vendor rejected the enrollment. An activation then restarts it.
	Failed bool `json:"failed,omitempty"`
}

// WebRequest holds the parameters of the vendor's page.
type WebRequest struct {
	Host      string             `json:"host"`
	Signature string             `json:"signature"`
	Result    model.FactorResult `json:"factorResult"`
	Links     rest.Links         `json:"_links"`
}

// signatureLength is the number of random characters in each of the two parts of a vendor signature.
const signatureLength = 40

// newSignature returns a signed request in the format of the vendor's page. Only the vendor can interpret it.
func newSignature() string {
	return "TX|" + model.NewSecret(signatureLength) + ":APP|" + model.NewSecret(signatureLength)
}

// request returns the request with a signature.
func (a *act) request(ctx context.Context, signature string, result model.FactorResult) WebRequest {
	complete := rest.To(rest.URL(ctx, "sandbox", "v1", "web", a.id, "complete"), http.MethodPost)
	script := rest.To("https://" + webHost + "/frame.js")
	script.Type = "text/javascript; charset=utf-8"
	return WebRequest{Host: webHost, Signature: signature, Result: result, Links: rest.Links{"complete": complete, "script": script}}
}

func enrollWeb(_ context.Context, a *act) error {
	a.factor.Profile = map[string]string{"credentialId": cmp.Or(a.profile.CredentialID, a.user.Value.Login())}
	return a.seal(webState{Signature: newSignature()})
}

func pendingWeb(ctx context.Context, a *act) (any, error) {
	var state webState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	return a.request(ctx, state.Signature, state.result()), nil
}

// result returns the state of the enrollment.
func (s *webState) result() model.FactorResult {
	if s.Failed {
		return model.FactorError
	}
	return model.FactorWaiting
}

// activateWeb returns the state of the enrollment and restarts one that the vendor rejected.
func activateWeb(ctx context.Context, a *act) (*Activation, error) {
	var state webState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	if state.Failed && !a.polling {
		state = webState{Signature: newSignature()}
		if err := a.seal(state); err != nil {
			return nil, err
		}
	}
	request := a.request(ctx, state.Signature, state.result())
	return &Activation{Result: request.Result, Host: request.Host, Signature: request.Signature, Links: request.Links}, nil
}

// challengeWeb starts a verification on the page of the vendor, with a new request that invalidates the previous one.
func challengeWeb(ctx context.Context, a *act) (*Verification, error) {
	if _, err := a.FactorTransactions.DeleteWhere(ctx, a.tx, docstore.Eq(model.FactorTransactionByFactor, a.id)); err != nil {
		return nil, err
	}
	t := model.FactorTransaction{User: a.user.ID, Factor: a.id, Result: model.FactorWaiting, Expires: a.now.Add(pushAnswerLife)}
	doc, err := a.FactorTransactions.Insert(ctx, a.tx, model.NewID(model.KindFactorTransaction), t)
	if err != nil {
		return nil, err
	}
	out := a.challenged(ctx)
	out.ExpiresAt, out.transaction = rest.TimePtr(t.Expires), doc.ID
	out.Links["poll"] = rest.To(a.url(ctx, "transactions", doc.ID), http.MethodGet)
	out.Embedded = map[string]any{"challenge": a.request(ctx, newSignature(), model.FactorWaiting)}
	return out, nil
}

type webRequest struct {
	deviceTarget
	Body struct {
		Result string `json:"result" required:"true" enum:"SUCCESS,FAILED" doc:"result that the vendor reports"`
	} `body:"required"`
}

func (s *Slice) findWeb(ctx context.Context, r *webRequest) error {
	_, err := s.findElsewhere(ctx, s.Store.Reader(), r.Factor, model.FactorWeb)
	return err
}

// completeWeb completes the enrollment or the verification that waits for the vendor.
func (s *Slice) completeWeb(ctx context.Context, r *webRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		a, err := s.actOnDevice(ctx, tx, r.Factor, model.FactorWeb)
		if err != nil {
			return err
		}
		result := model.FactorResult(r.Body.Result)
		if a.factor.Status == model.FactorPending {
			return a.completeWebEnrollment(ctx, result)
		}
		page, err := s.FactorTransactions.Query(ctx, tx, docstore.Query[model.FactorTransaction]{
			Where: docstore.Eq(model.FactorTransactionByFactor, a.id), Limit: 1,
		})
		if err != nil {
			return err
		}
		if len(page.Docs) == 0 {
			return rest.Failf(rest.CodeState, "No enrollment or verification waits for the vendor.")
		}
		return a.answer(ctx, page.Docs[0], result)
	})
}

func (a *act) completeWebEnrollment(ctx context.Context, result model.FactorResult) error {
	if err := a.mayActivate(ctx); err != nil {
		return err
	}
	var state webState
	if err := a.open(&state); err != nil {
		return err
	}
	if state.Failed {
		return rest.Failf(rest.CodeState, "No enrollment or verification waits for the vendor.")
	}
	if result == model.FactorSuccess {
		if err := a.seal(webState{}); err != nil {
			return err
		}
		return a.complete(ctx)
	}
	state.Failed = true
	if err := a.seal(state); err != nil {
		return err
	}
	if err := a.write(ctx); err != nil {
		return err
	}
	return a.log(ctx, audit.FactorActivate, "The vendor rejected the enrollment")
}
