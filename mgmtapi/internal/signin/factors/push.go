package factors

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// The time that a device has to complete an enrollment, and to answer a verification.
const (
	pushActivationLife = 10 * time.Minute
	pushAnswerLife     = 5 * time.Minute
)

// push returns the kind of factor for push notifications to an app on a phone. The sandbox simulates the phone, see device.go. The app also
// generates passcodes: a TOTP factor is enrolled, completed and removed together with the push factor.
func push() *kind {
	return &kind{
		Type: model.FactorPush, Provider: model.FactorProviderService, Prefix: "opf", Org: "svc_push",
		OutOfBand: true, Enroll: enrollPush, Pending: pendingPush, QR: pushURI, Activate: activatePush, Challenge: challengePush, Link: linkPush,
		Removed: removePush,
	}
}

// pushState is the encrypted state of a push factor.
type pushState struct {
	// Expires is the time until which the device can complete the enrollment. An activation after that restarts the enrollment.
	Expires time.Time `json:"expires"`
	// QR is the token of the QR code until the enrollment is complete.
	QR string `json:"qr,omitempty"`
	// TOTP is the id of the TOTP factor that was enrolled together with this factor, empty if the user already had one.
	TOTP string `json:"totp,omitempty"`
}

func enrollPush(ctx context.Context, a *act) error {
	if err := a.replacePending(ctx); err != nil { // also removes the TOTP factors that were enrolled with them
		return err
	}
	if err := a.loadFactors(ctx); err != nil {
		return err
	}
	state := pushState{Expires: a.now.Add(pushActivationLife), QR: a.newQR()}
	var err error
	if state.TOTP, err = a.enrollTOTP(ctx); err != nil {
		return err
	}
	return a.seal(state)
}

// enrollTOTP enrolls the TOTP factor of the app, unless the user already has one or the organization does not allow the type.
func (a *act) enrollTOTP(ctx context.Context) (id string, err error) {
	k := a.kindOf(model.FactorTOTP, model.FactorProviderService)
	if allowed, err := a.allowed(ctx, a.tx, k.Org); err != nil || !allowed {
		return "", err
	}
	for _, doc := range a.others {
		if doc.Value.Type == k.Type && doc.Value.Provider == k.Provider {
			return "", nil
		}
	}
	second := &act{
		Slice: a.Slice, kind: k, tx: a.tx, now: a.now, user: a.user, id: model.NewID(k.Prefix), query: defaultQuery,
		factor: model.Factor{
			User: a.user.ID, Type: k.Type, Provider: k.Provider, Vendor: string(k.Provider), Org: k.Org,
			Status: model.FactorPending, Enrolled: a.now, Changed: a.now,
		},
	}
	if err := k.Enroll(ctx, second); err != nil {
		return "", err
	}
	return second.id, second.write(ctx)
}

// pendingPush returns the embedded activation of a pending push enrollment.
func pendingPush(ctx context.Context, a *act) (any, error) {
	var state pushState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	return a.waiting(ctx, &state), nil
}

// waiting returns the state of a pending enrollment: WAITING or TIMEOUT.
func (a *act) waiting(ctx context.Context, state *pushState) *Activation {
	at := func(segments ...string) string {
		return a.url(ctx, append([]string{"lifecycle", "activate"}, segments...)...)
	}
	if !a.now.Before(state.Expires) {
		return &Activation{Result: model.FactorTimeout, ExpiresAt: rest.TimePtr(state.Expires),
			Links: rest.Links{"activate": rest.To(at(), http.MethodPost)}}
	}
	send := func(way string) rest.Link {
		link := rest.To(at(way), http.MethodPost)
		link.Name = way
		return link
	}
	return &Activation{Result: model.FactorWaiting, ExpiresAt: rest.TimePtr(state.Expires), Links: rest.Links{
		"poll":   rest.To(at("poll"), http.MethodPost),
		"qrcode": a.qrLink(ctx, state.QR),
		"send":   []rest.Link{send("email"), send("sms")},
	}}
}

// pushURI returns the URI that completes the enrollment on a phone.
func pushURI(ctx context.Context, a *act) (string, error) {
	var state pushState
	err := a.open(&state)
	return a.pushLink(ctx, &state), err
}

// pushLink returns the URI for the app, which the QR code and the messages contain.
func (a *act) pushLink(ctx context.Context, state *pushState) string {
	query := url.Values{"f": {a.id}, "t": {state.QR}, "s": {rest.URL(ctx)}}
	return "scimwright-push://activate?" + query.Encode()
}

// activatePush returns the state of the enrollment and restarts an expired one. It does not complete the enrollment: the device does that
// with its own request.
func activatePush(ctx context.Context, a *act) (*Activation, error) {
	var state pushState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	if !a.now.Before(state.Expires) && !a.polling {
		state.Expires, state.QR = a.now.Add(pushActivationLife), a.newQR()
		if err := a.seal(state); err != nil {
			return nil, err
		}
	}
	return a.waiting(ctx, &state), nil
}

// linkPush replaces the link activate by poll, because only a device can complete the enrollment.
func linkPush(ctx context.Context, id string, f *model.Factor, links rest.Links) {
	if _, pending := links["activate"]; pending {
		delete(links, "activate")
		links["poll"] = rest.To(factorURL(ctx, f.User, id, "lifecycle", "activate", "poll"), http.MethodPost)
	}
}

// challengePush starts a verification on the device. Earlier pending verifications stay pending.
func challengePush(ctx context.Context, a *act) (*Verification, error) {
	if err := a.countEvent(ctx, pushesToOne, a.id); err != nil {
		return nil, err
	}
	// Delete old transactions of this factor.
	old := docstore.All(docstore.Eq(model.FactorTransactionByFactor, a.id),
		docstore.Le(model.FactorTransactionByExpires, a.now.Add(-model.FactorPendingLife)))
	if _, err := a.FactorTransactions.DeleteWhere(ctx, a.tx, old); err != nil {
		return nil, err
	}
	t := model.FactorTransaction{User: a.user.ID, Factor: a.id, Result: model.FactorWaiting, Expires: a.now.Add(pushAnswerLife)}
	doc, err := a.FactorTransactions.Insert(ctx, a.tx, model.NewID(model.KindFactorTransaction), t)
	if err != nil {
		return nil, err
	}
	out := a.polled(ctx, doc.ID, &t)
	out.created, out.transaction = true, doc.ID
	return &out, nil
}

// removePush removes the TOTP factor that was enrolled together with the push factor.
func removePush(ctx context.Context, a *act) error {
	var state pushState
	if err := a.open(&state); err != nil || state.TOTP == "" {
		return err
	}
	doc, err := model.Optional(ctx, a.tx, a.Factors, state.TOTP)
	if err != nil || doc == nil {
		return err
	}
	if a.factor.Status == model.FactorPending && doc.Value.Status != model.FactorPending {
		return nil // the user completed the TOTP factor separately, so that it stays
	}
	second := a.forFactor(*doc)
	if err := second.remove(ctx); err != nil {
		return err
	}
	return second.log(ctx, audit.FactorDeactivate, "")
}
